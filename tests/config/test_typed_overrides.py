"""What may be typed after the options, and what each refusal says."""

import pytest

from srb_train import config
from srb_train.errors import UsageError

PENDULUM = config.Selected.of("gymnasium/Pendulum-v1", "gymnasium")
UNIONS = {
    "learning_rate": ("float", "str"),
    "batch_size": ("int",),
    "target_kl": ("float", "null"),
    "policy_kwargs.net_arch": ("mapping",),
}


def composed(*typed: str) -> config.Composed:
    return config.compose("sb3_ppo", PENDULUM, typed, config_dir=None, unions=UNIONS)


def refusal(*typed: str) -> str:
    with pytest.raises(UsageError) as caught:
        composed(*typed)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("typed", "section", "key", "value"),
    [
        ("run.steps=1e6", "run", "steps", 1_000_000),
        ("run.steps=2_000", "run", "steps", 2000),
        ("run.seed=7", "run", "seed", 7),
        ("run.save_replay=false", "run", "save_replay", False),
        ("env.num_envs=512", "env", "num_envs", 512),
        ("agent.gamma=1", "agent", "gamma", 1.0),
        ("agent.learning_rate=1e-4", "agent", "learning_rate", 0.0001),
        ("agent.learning_rate='1e-4'", "agent", "learning_rate", 0.0001),
        ("agent.learning_rate=lin_1e-3", "agent", "learning_rate", "lin_1e-3"),
        ("agent.batch_size=null", "agent", "batch_size", None),
        ("agent.target_kl=0.02", "agent", "target_kl", 0.02),
        ("env.num_envs=${run.threads}", "env", "num_envs", 1),
    ],
)
def test_a_typed_value_arrives_in_the_type_of_its_key(typed, section, key, value):
    found = getattr(composed(typed), section)[key]
    assert found == value
    assert type(found) is type(value)


def test_the_last_of_two_overrides_of_a_key_wins_and_both_are_recorded():
    found = composed("agent.gamma=0.9", "agent.gamma=0.8")
    assert found.agent["gamma"] == 0.8
    assert found.overrides == ["agent.gamma=0.9", "agent.gamma=0.8"]


def test_a_typed_value_says_that_it_came_from_the_command_line():
    origins = composed("agent.gamma=0.9").origins
    assert origins["agent.gamma"] == "command line"
    assert origins["agent.gae_lambda"] == "configs/agent/base/sb3_on_policy.yaml"
    assert origins["agent.clip_range"] == "configs/agent/sb3_ppo.yaml"
    assert origins["run.steps"] == "configs/train.yaml"
    assert origins["env.num_envs"] == "configs/env/gymnasium.yaml"
    assert origins["env.id"] == "--env"


def test_a_list_and_a_mapping_replace_the_networks_layers():
    assert composed("agent.policy_kwargs.net_arch=[8]").agent["policy_kwargs"]["net_arch"] == [8]
    sizes = composed("agent.policy_kwargs={net_arch:{pi:[8],vf:[4]}}").agent["policy_kwargs"]
    assert sizes["net_arch"] == {"pi": [8], "vf": [4]}
    assert sizes["activation_fn"] == "tanh"


def test_text_with_an_equals_sign_is_quoted_as_documented():
    assert composed('run.device="a=b"').run["device"] == "a=b"


def test_an_open_mapping_takes_keys_of_its_own():
    found = composed("env.kwargs.gravity=9.81", "env.kwargs.name='123'")
    assert found.env["kwargs"] == {"gravity": 9.81, "name": "123"}
    assert found.origins["env.kwargs.gravity"] == "command line"


@pytest.mark.parametrize(
    ("typed", "must_say"),
    [
        ("agent.gama=0.9", ["agent.gama=0.9", "no such key", "agent.gamma", "float", "0.99"]),
        ("+agent.gama=0.9", ["agent.gama=0.9", "no such key", "agent.gamma"]),
        ("++agent.gamma=0.9", ["agent.gamma=0.9", "without +"]),
        ("~agent.gamma", ["agent.gamma", "cannot be taken away"]),
        ("steps=5", ["steps=5", "run.steps", "int"]),
        ("agnet.gamma=0.5", ["agnet.gamma", "agent.gamma"]),
        ("agent.zzz=1", ["agent.zzz=1", "agent.policy", "more"]),
        ("zzz=1", ["zzz=1", "run.*", "env.*", "agent.*"]),
        ("agent/base=x", ["agent/base", "no such key"]),
        ("hydra.run.dir=x", ["hydra.run.dir", "no such key"]),
        ("agent.gamma=0.9,0.8", ["agent.gamma", "0.9,0.8", "several values", "[1,2]"]),
        ("agent.gamma=range(1,3)", ["agent.gamma", "several values"]),
        ("agent=sb3_sac", ["agent", "--algo"]),
        ("env=landing", ["env", "--env"]),
        ("env.id=CartPole-v1", ["env.id", "--env"]),
        ("run.nan_guard=yes", ["run.nan_guard", "'yes'", "str", "bool", "true", "train.yaml"]),
        ("run.steps=1.5", ["run.steps=1.5", "whole number", "int", "1000000"]),
        ("run.steps=1e30", ["run.steps", "64 bits"]),
        ("run.seed=abc", ["run.seed='abc'", "int"]),
        ("run.seed=-1", ["run.seed=-1", "from 0 to"]),
        ("run.threads=0", ["run.threads=0", "at least 1"]),
        ("env.num_envs=0", ["env.num_envs=0", "at least 1"]),
        ("agent.n_epochs=true", ["agent.n_epochs=true", "bool", "int", "5"]),
        ("agent.n_epochs=null", ["agent.n_epochs=null", "cannot be null", "int"]),
        ("agent.gamma='0.9'", ["agent.gamma='0.9'", "str", "float"]),
        ("agent.gamma=", ["agent.gamma=''", "str", "float"]),
        ("agent.gamma=nan", ["agent.gamma=.nan", "not finite"]),
        ("agent.batch_size=big", ["agent.batch_size='big'", "null or int"]),
        ("agent.policy_kwargs=3", ["agent.policy_kwargs=3", "section", "net_arch"]),
        ("agent.policy_kwargs.net_arc=[8]", ["net_arc=[8]", "agent.policy_kwargs.net_arch"]),
        ("agent.policy_kwargs.net_arch=[8,x]", ["[8, x]", "element", "str", "int"]),
        ("agent.policy_kwargs.net_arch.pi=[8]", ["agent.policy_kwargs.net_arch as a whole"]),
        ("env.kwargs.bad-name=1", ["env.kwargs.bad-name", "letters"]),
        ("run.device=a=b", ["run.device", "a=b", "'run.device=\"a=b\"'"]),
        ("env.num_envs=${run.thread}", ["env.num_envs", "run.thread", "points nowhere"]),
        ("run.device=${oc.env:HOME}", ["run.device", "only other keys", "env:NAME"]),
        ("run.device='${${agent.policy}:HOME}'", ["run.device", "only other keys"]),
        ("env.num_envs=${agent.policy}", ["env.num_envs='auto'", "str", "int"]),
    ],
)
def test_a_refusal_names_the_key_the_value_and_the_way_out(typed, must_say):
    said = refusal(typed)
    for part in must_say:
        assert part in said


@pytest.mark.parametrize(
    "typed",
    ["env.kwargs.api_key=hunter2hunter2", "agent.logger.api_key=hunter2hunter2=="],
)
def test_a_secret_is_refused_and_its_value_is_not_repeated(typed):
    said = refusal(typed)
    assert "api_key" in said
    assert "hunter2" not in said


def test_a_secret_may_be_named_by_its_environment_variable():
    kwargs = composed("env.kwargs.api_key=env:WANDB_API_KEY").env["kwargs"]
    assert kwargs == {"api_key": "env:WANDB_API_KEY"}


@pytest.mark.parametrize(
    ("token", "is_one"),
    [
        ("agent.gamma=0.9", True),
        ("steps=3", True),
        ("+agent.x=1", True),
        ("++agent.x=1", True),
        ("~agent.gamma", True),
        ("agent.learning-rate=1", True),
        ("agent.x=", True),
        ("my-epoch=3-step=900.zip", False),
        ("runs/epoch=3.zip", False),
        ("/abs/epoch=3.zip", False),
        ("https://host/x?sig=1", False),
        ("--algo=sb3_ppo", False),
        ("~/models", False),
        ("=3", False),
        ("landing", False),
    ],
)
def test_a_token_is_an_override_only_if_its_left_side_looks_like_a_key(token, is_one):
    assert config.is_override(token) is is_one
