"""The user's own directory: laid over the presets file by file, never in their place."""

from pathlib import Path

import pytest

from srb_train import config
from srb_train.errors import UsageError

PENDULUM = config.Selected.of("gymnasium/Pendulum-v1", "gymnasium")
UNIONS = {"learning_rate": ("float", "str"), "ent_coef": ("float", "str")}


def written(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def composed(root: Path, *typed: str, algo: str = "sb3_ppo") -> config.Composed:
    return config.compose(algo, PENDULUM, typed, config_dir=root, unions=UNIONS)


def refusal(root: Path, *typed: str, algo: str = "sb3_ppo") -> str:
    with pytest.raises(UsageError) as caught:
        composed(root, *typed, algo=algo)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_short_scientific_notation_in_a_file_is_a_number(tmp_path):
    text = "learning_rate: 1e-4\nent_coef: 5e-3\nn_steps: 1e2\n"
    found = composed(written(tmp_path, agent__sb3_ppo=text))
    assert found.agent["learning_rate"] == 0.0001
    assert found.agent["ent_coef"] == 0.005
    assert found.agent["n_steps"] == 100
    assert "learning_rate: 0.0001\n" in found.as_yaml("agent")
    assert "ent_coef: 0.005\n" in found.as_yaml("agent")


def test_a_file_changes_what_it_names_and_keeps_the_rest_of_the_preset(tmp_path):
    found = composed(written(tmp_path, agent__sb3_ppo="policy_kwargs:\n  net_arch: [8]\n"))
    plain = config.compose("sb3_ppo", PENDULUM, [], config_dir=None, unions=UNIONS)
    assert found.agent["policy_kwargs"] == {**plain.agent["policy_kwargs"], "net_arch": [8]}
    assert {**found.agent, "policy_kwargs": None} == {**plain.agent, "policy_kwargs": None}


def test_the_layers_win_in_the_order_train_env_agent_tuned_command_line(tmp_path):
    root = written(
        tmp_path,
        train="run: {threads: 2, steps: 10}\nenv: {num_envs: 2}\nagent: {gamma: 0.2, n_steps: 2}\n",
        env__gymnasium="num_envs: 3\nmax_episode_steps: 3\n",
        agent__sb3_ppo="gamma: 0.4\nn_steps: 4\nn_epochs: 4\n",
        **{"tuned__gymnasium__Pendulum-v1__sb3_ppo": "agent: {n_steps: 5, n_epochs: 5}\n"},
    )
    found = composed(root, "agent.n_epochs=6")
    tuned = f"{root}/tuned/gymnasium/Pendulum-v1/sb3_ppo.yaml"
    expected = {
        "run.threads": (2, f"{root}/train.yaml"),
        "env.num_envs": (3, f"{root}/env/gymnasium.yaml"),
        "agent.gamma": (0.4, f"{root}/agent/sb3_ppo.yaml"),
        "agent.n_steps": (5, tuned),
        "agent.n_epochs": (6, "command line"),
    }
    for key, (value, origin) in expected.items():
        section, name = key.split(".")
        assert getattr(found, section)[name] == value
        assert found.origins[key] == origin


def test_a_value_may_point_at_another_key(tmp_path):
    found = composed(written(tmp_path, agent__sb3_ppo="n_steps: ${env.num_envs}\n"))
    assert found.agent["n_steps"] == found.env["num_envs"]


def test_a_tuned_file_may_carry_hydras_package_line(tmp_path):
    text = "# @package _global_\nagent:\n  gamma: 0.5\n"
    root = written(tmp_path, **{"tuned__gymnasium__Pendulum-v1__sb3_ppo": text})
    assert composed(root).agent["gamma"] == 0.5


def test_a_label_that_is_not_shipped_may_bring_its_own_preset(tmp_path):
    text = "defaults:\n  - base/sb3_on_policy@_here_\n  - _self_\nbravery: 0.5\ngamma: 0.7\n"
    root = written(tmp_path / "it's = mine", agent__mine_ppo=text)
    found = composed(root, "agent.bravery=1", algo="mine_ppo")
    assert found.agent["bravery"] == 1.0
    assert found.agent["gamma"] == 0.7
    assert found.agent["gae_lambda"] == 0.95
    assert found.origins["agent.gamma"] == f"{root}/agent/mine_ppo.yaml"
    assert found.origins["agent.gae_lambda"] == "configs/agent/base/sb3_on_policy.yaml"


@pytest.mark.parametrize(
    ("files", "must_say"),
    [
        ({"agent__sb3_ppo": "gama: 0.9\n"}, ["agent/sb3_ppo.yaml: agent.gama=0.9", "agent.gamma"]),
        ({"agent__sb3_ppo": "n_epochs: many\n"}, ["sb3_ppo.yaml: agent.n_epochs='many'", "int"]),
        ({"agent__sb3_ppo": "- a\n- b\n"}, ["agent/sb3_ppo.yaml", "not a list"]),
        ({"agent__sb3_ppo": "gamma: 0.9\ngamma: 0.8\n"}, ["line", "duplicate key gamma"]),
        ({"agent__sb3_ppo": "gamma: [0.9\n"}, ["agent/sb3_ppo.yaml", "not YAML"]),
        ({"agent__sb3_ppo": "gamma: ${env\n"}, ["agent/sb3_ppo.yaml", "cannot be read"]),
        ({"agent__sb3_ppo": "defaults: [sb3_sac]\n"}, ["agent/sb3_ppo.yaml", "defaults"]),
        ({"agent__sb3_ppo": "policy_kwargs:\n"}, ["agent.policy_kwargs=null", "section"]),
        ({"agent__sb3_ppo": "policy: ${oc.env:HOME}\n"}, ["agent.policy", "only other keys"]),
        ({"train": "steps: 5\n"}, ["train.yaml: steps=5", "run.steps"]),
        ({"env__gymnasium": "id: CartPole-v1\n"}, ["env.id='CartPole-v1'", "--env", "Pendulum"]),
        ({"agent__sb3_sac": "gamma: 0.5\n"}, ["none of train.yaml", "agent/sb3_ppo.yaml"]),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it(tmp_path, files, must_say):
    said = refusal(written(tmp_path, **files))
    for part in must_say:
        assert part in said


def test_a_secret_in_a_file_is_refused_without_repeating_it(tmp_path):
    root = written(tmp_path, env__gymnasium="kwargs:\n  password: hunter2hunter2\n")
    said = refusal(root)
    assert "env.kwargs.password" in said
    assert "env:NAME" in said
    assert "hunter2" not in said


def test_a_directory_that_is_not_there_is_named(tmp_path):
    assert str(tmp_path / "no") in refusal(tmp_path / "no")


def test_a_file_in_another_encoding_is_one_line(tmp_path):
    root = written(tmp_path, agent__sb3_ppo="")
    (root / "agent/sb3_ppo.yaml").write_bytes(b"policy: \xff\xfe\n")
    assert "agent/sb3_ppo.yaml cannot be read" in refusal(root)


def test_an_unknown_label_or_preset_names_the_nearest(tmp_path):
    with pytest.raises(UsageError, match=r"sb3_ppoo.*nearest: sb3_ppo"):
        config.compose("sb3_ppoo", PENDULUM, [], config_dir=None, unions={})
    with pytest.raises(UsageError, match=r"gymnasum.*nearest: gymnasium"):
        config.compose("sb3_ppo", config.Selected.of("gymnasum"), [], config_dir=None, unions={})


def test_a_name_cannot_climb_out_of_the_tree(tmp_path):
    away = config.Selected.of("gymnasium/../../x", "gymnasium")
    with pytest.raises(UsageError, match=r"\.\."):
        config.compose("sb3_ppo", away, [], config_dir=None, unions={})


def test_a_task_without_an_agent_takes_the_users_env_file_and_what_is_typed(tmp_path):
    root = written(tmp_path, env__gymnasium="num_envs: 3\nmax_episode_steps: 7\n")
    found = config.compose_env(PENDULUM, ["env.num_envs=2"], config_dir=root)
    assert found.agent == {}
    assert found.env["id"] == "Pendulum-v1"
    assert found.env["num_envs"] == 2
    assert found.env["max_episode_steps"] == 7
    with pytest.raises(UsageError, match=r"agent\.gamma"):
        config.compose_env(PENDULUM, ["agent.gamma=0.5"], config_dir=None)
