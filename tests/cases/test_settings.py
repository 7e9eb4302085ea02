"""Settings that are wrong, odd or changed on the way."""

import json

import pytest
import yaml

from tests.cases.conftest import TOY, is_clean, runs

PPO = ("--algo", "sb3_ppo", "--env", "cartpole")


def test_s03_short_scientific_notation_is_a_number(srb, logs, tmp_path):
    (tmp_path / "mine" / "agent").mkdir(parents=True)
    (tmp_path / "mine" / "agent" / "sb3_ppo.yaml").write_text(
        "learning_rate: 1e-4\nent_coef: 5e-3\n"
    )
    srb(
        "agent", "train", *PPO, "--config-dir", "mine", "env.num_envs=4", "agent.n_steps=32",
        "run.steps=500", "--logdir", logs, check=True,
    )  # fmt: skip
    (run,) = runs(logs)
    spec = json.loads((run.path / "spec.json").read_text())["agent_params"]
    assert (spec["learning_rate"], spec["ent_coef"]) == (0.0001, 0.005)
    params = yaml.safe_load((run.path / "params" / "agent.yaml").read_text())
    assert (params["learning_rate"], params["ent_coef"]) == (0.0001, 0.005)
    rates = [
        json.loads(line)["value"]
        for line in run.metrics_path.read_text().splitlines()
        if "train/learning_rate" in line
    ]
    assert rates
    assert set(rates) == {0.0001}


@pytest.mark.parametrize("word", ["agent.gama=0.9", "+agent.gama=0.9", "++agent.gama=0.9"])
def test_s04_a_misspelt_key_is_an_error_with_the_nearest_one(srb, logs, word):
    done = srb("agent", "train", *PPO, word, "--logdir", logs)
    is_clean(done, "agent.gama", "agent.gamma")
    assert not logs.exists()


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("run.nan_guard=yes", ("run.nan_guard", "yes")),
        ("agent.n_epochs=2.5", ("agent.n_epochs", "2.5")),
        ("agent.gamma=high", ("agent.gamma", "high")),
        ("run.steps=1e-3", ("run.steps",)),
        ("agent.n_steps=16,32", ("agent.n_steps",)),
        ("~agent.gamma", ("agent.gamma",)),
    ],
)
def test_a_value_of_another_type_is_an_error_that_names_it(srb, logs, word, parts):
    is_clean(srb("agent", "train", *PPO, word, "--logdir", logs), *parts)
    assert not logs.exists()


def test_s18_sizes_that_do_not_fit_are_shown_with_the_nearest_that_do(srb, logs):
    done = srb(
        "agent", "train", *PPO, "env.num_envs=7", "agent.n_steps=33", "agent.batch_size=100",
        "--logdir", logs,
    )  # fmt: skip
    is_clean(done, "231", "agent.batch_size", "env.num_envs")
    assert not logs.exists()


def test_s24_a_change_on_resume_is_applied_and_recorded(srb, logs):
    size = ("env.num_envs=4", "agent.n_steps=32", "run.seed=1")
    srb("agent", "train", *PPO, *size, "run.steps=256", "--logdir", logs, check=True)
    srb(
        "agent", "train", *PPO, "--continue", "agent.learning_rate=2e-4", "run.steps=512",
        "--logdir", logs, check=True,
    )  # fmt: skip
    (run,) = runs(logs)
    changes = run.record()["segments"][1]["changes"]
    assert changes["agent.learning_rate"][1] == 0.0002
    assert json.loads((run.path / "spec.json").read_text())["agent_params"]["learning_rate"] == 2e-4
    last = [line for line in run.metrics_path.read_text().splitlines() if "learning_rate" in line]
    assert json.loads(last[-1])["value"] == 0.0002


def test_s24_a_structural_change_on_resume_is_refused_with_both_values(srb, logs):
    size = ("env.num_envs=4", "agent.n_steps=32", "run.seed=1")
    srb("agent", "train", *PPO, *size, "run.steps=256", "--logdir", logs, check=True)
    done = srb(
        "agent", "train", *PPO, "--continue", "agent.policy_kwargs.net_arch=[8]", "--logdir", logs
    )
    is_clean(done, "agent.policy_kwargs.net_arch", "[64, 64]", "[8]")
    assert len(runs(logs)[0].record()["segments"]) == 1


def test_an_unknown_option_label_or_task_is_one_line_with_the_nearest(srb, logs):
    is_clean(srb("agent", "train", *TOY, "--hide-iu"), "--hide_ui")
    is_clean(srb("agent", "train", "--algo", "sb3_pppo", "--env", "landing"), "sb3_ppo")
    is_clean(srb("agent", "train", "--algo", "sb3_ppo", "--env", "landin"), "landing")
    is_clean(srb("agent", "train", *TOY, "--continue", "--model", "x"), "--continue", "--model")


def test_secrets_are_refused_in_settings_and_never_said_back(srb, logs):
    secret = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"
    task = ("--algo", "toy_cem", "--env", "gymnasium/CartPole-v1")
    words = ("agent", "train", *task, f"env.kwargs.api_key={secret}", "--logdir", logs)
    done = srb(*words)
    is_clean(done, "api_key", "env:")
    assert secret not in done.stdout + done.stderr
    assert not logs.exists()


def test_computed_values_are_recorded_and_follow_a_change(srb, logs):
    size = ("env.num_envs=4", "agent.n_steps=32", "run.seed=1")
    srb("agent", "train", *PPO, *size, "run.steps=128", "--logdir", logs, check=True)
    (run,) = runs(logs)
    params = run.path / "params"
    assert yaml.safe_load((params / "agent.yaml").read_text())["batch_size"] == 16
    assert yaml.safe_load((params / "run.yaml").read_text())["checkpoint_every"] == 128
    srb(
        "agent", "train", *PPO, "--continue", "agent.batch_size=64", "run.steps=256",
        "--logdir", logs, check=True,
    )  # fmt: skip
    assert yaml.safe_load((params / "agent.yaml").read_text())["batch_size"] == 64
    assert yaml.safe_load((params / "run.yaml").read_text())["steps"] == 256
    assert "from step 128 (exact)" in run.log_path.read_text()
