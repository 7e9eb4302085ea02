"""What the plate computes and refuses before anything heavy is imported."""

import subprocess
import sys

import pytest

from srb_train import config
from srb_train.algos.sbx import PLATE
from srb_train.errors import UsageError
from tests.algos.sb3.conftest import changed, preset


def test_the_plate_imports_no_framework():
    code = (
        "import sys, srb_train.algos.sbx;"
        "print({'torch', 'numpy', 'gymnasium', 'stable_baselines3', 'jax'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_label_has_a_preset_and_every_preset_a_label():
    presets = {name for name in config.presets("agent") if name.startswith("sbx_")}
    assert presets == set(PLATE.labels)


@pytest.mark.parametrize("label", PLATE.labels)
def test_a_preset_settles_as_it_stands_and_a_second_time_the_same(label):
    once = PLATE.settle(label, preset(label), 16)
    assert PLATE.settle(label, once, 16) == once
    assert PLATE.rollout(label, once, 16) > 0


@pytest.mark.parametrize(
    ("label", "changes", "words"),
    [
        ("sbx_ppo", {"batch_size": 100}, ["64 x env.num_envs=4 = 256", "batch_size=64 or 128"]),
        ("sbx_ppo", {"policy_kwargs.net_arch": {"pi": [8], "qf": [8]}}, ["pi and vf"]),
        ("sbx_sac", {"policy_kwargs.net_arch": {"pi": [8]}}, ["pi and qf"]),
        ("sbx_sac", {"policy_kwargs.dropout_rate": 1.0}, ["dropout_rate=1.0", "less than 1"]),
        ("sbx_sac", {"policy_kwargs.activation_fn": "rleu"}, ["nearest: relu"]),
        ("sbx_sac", {"ent_coef": "automatic"}, ["agent.ent_coef"]),
        ("sbx_td3", {"learning_rate": "lin_1e-3"}, ["keeps one rate", "learning_rate=0.001"]),
        ("sbx_dqn", {"learning_rate": "lin_1e-3"}, ["keeps one rate"]),
        ("sbx_dqn", {"policy_kwargs.net_arch": [64, 32]}, ["two layers of one width"]),
        ("sbx_dqn", {"policy_kwargs.net_arch": []}, ["two layers of one width"]),
        ("sbx_tqc", {"top_quantiles_to_drop_per_net": 25}, ["n_quantiles=25"]),
        ("sbx_droq", {"gradient_steps": 0}, ["agent.gradient_steps=0", "-1"]),
    ],
)
def test_what_cannot_work_is_refused_with_the_key_and_the_way_out(label, changes, words):
    with pytest.raises(UsageError) as refusal:
        changed(label, **changes)
    assert all(word in str(refusal.value) for word in words)


def test_whole_numbers_become_what_sbx_insists_on():
    agent = changed("sbx_sac", ent_coef=1, target_entropy=-2)
    assert isinstance(agent["ent_coef"], float)
    assert isinstance(agent["target_entropy"], float)


def test_a_schedule_stays_where_sbx_follows_it():
    assert changed("sbx_sac", learning_rate="lin_1e-3")["learning_rate"] == "lin_1e-3"
    assert changed("sbx_ppo", learning_rate="lin_1e-3")["learning_rate"] == "lin_1e-3"
