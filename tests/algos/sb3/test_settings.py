"""What the plate computes and refuses before anything heavy is imported."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train import config
from srb_train.algos.sb3 import PLATE, settings
from srb_train.errors import UsageError
from tests.algos.sb3.conftest import changed, preset


def test_the_plate_imports_no_framework():
    code = (
        "import sys, srb_train.algos.sb3;"
        "print({'torch', 'numpy', 'gymnasium', 'stable_baselines3'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_label_has_a_preset_and_every_preset_a_label():
    presets = {name for name in config.presets("agent") if name.startswith("sb3_")}
    assert presets == set(PLATE.labels)


@pytest.mark.parametrize("label", PLATE.labels)
def test_a_preset_settles_as_it_stands_and_a_second_time_the_same(label):
    once = PLATE.settle(label, preset(label), 16)
    assert PLATE.settle(label, once, 16) == once
    assert None not in (once.get("batch_size", 1), PLATE.rollout(label, once, 16))


def test_a_null_batch_size_makes_eight_equal_minibatches():
    assert changed("sb3_ppo", 16, n_steps=64)["batch_size"] == 128
    assert changed("sb3_trpo", 2, n_steps=6)["batch_size"] == 2
    assert changed("sb3_ppo", 1, n_steps=7)["batch_size"] == 7


@given(n_steps=st.integers(1, 300), num_envs=st.integers(1, 300))
def test_a_computed_batch_size_always_divides_the_rollout(n_steps, num_envs):
    if n_steps * num_envs < 2:
        return
    batch = changed("sb3_ppo", num_envs, n_steps=n_steps)["batch_size"]
    assert batch > 1
    assert n_steps * num_envs % batch == 0


def test_an_indivisible_rollout_is_told_with_its_arithmetic_and_the_nearest_values():
    with pytest.raises(UsageError) as refusal:
        changed("sb3_ppo", 16, n_steps=64, batch_size=100)
    text = str(refusal.value)
    assert "64 x env.num_envs=16 = 1,024 transitions = 10 x 100 + 24" in text
    assert "agent.batch_size=64 or 128" in text
    assert "agent.n_steps=50 or 75" in text
    assert "env.num_envs=25" in text
    assert len(text.splitlines()) <= 15


@given(n_steps=st.integers(1, 60), num_envs=st.integers(1, 60), batch=st.integers(1, 200))
def test_every_nearest_value_that_is_told_does_fit(n_steps, num_envs, batch):
    if n_steps * num_envs < 2:
        return
    try:
        changed("sb3_ppo", num_envs, n_steps=n_steps, batch_size=batch)
    except UsageError as refusal:
        told = [line.split("=") for line in str(refusal).splitlines() if line.startswith("  ")]
        fits = {key.strip(): text.split(",")[0].split(" or ") for key, text in told[-3:]}
        for key, values in fits.items():
            for value in (int(each) for each in values):
                sizes = {"agent.n_steps": n_steps, "env.num_envs": num_envs}
                sizes["agent.batch_size"] = batch
                sizes[key] = value
                assert (
                    sizes["agent.n_steps"] * sizes["env.num_envs"] % sizes["agent.batch_size"] == 0
                )
                assert sizes["agent.batch_size"] > 1


@pytest.mark.parametrize(
    ("label", "changes", "words"),
    [
        ("sb3_ppo", {"batch_size": 1}, ["at least 2"]),
        ("sb3_ppo", {"n_epochs": 0}, ["agent.n_epochs=0", "at least 1"]),
        ("sb3_ppo", {"learning_rate": "linear"}, ["agent.learning_rate='linear'", "lin_"]),
        ("sb3_ppo", {"clip_range": "lin_x"}, ["agent.clip_range"]),
        ("sb3_sac", {"policy_kwargs.activation_fn": "rleu"}, ["nearest: relu"]),
        ("sb3_td3", {"action_noise": "gaussian"}, ["normal, ornstein_uhlenbeck"]),
        ("sb3_td3", {"action_noise": "orstein"}, ["nearest: ornstein_uhlenbeck"]),
        ("sb3_sac", {"ent_coef": "automatic"}, ["agent.ent_coef"]),
        ("sb3_sac", {"buffer_size": 3}, ["buffer_size=3", "at least 4"]),
        ("sb3_dqn", {"n_steps": 5, "buffer_size": 19}, ["at least 20"]),
        ("sb3_sac", {"gradient_steps": 0}, ["agent.gradient_steps=0", "-1"]),
        ("sb3_ars", {"n_top": 9}, ["agent.n_delta=8"]),
        ("sb3_ppo_lstm", {"policy_kwargs.shared_lstm": True}, ["enable_critic_lstm=false"]),
    ],
)
def test_what_cannot_work_is_refused_with_the_key_and_the_way_out(label, changes, words):
    with pytest.raises(UsageError) as refusal:
        changed(label, **changes)
    assert all(word in str(refusal.value) for word in words)


def test_numbers_read_as_text_become_numbers_and_schedules_stay():
    agent = changed("sb3_ppo", learning_rate="1e-4", clip_range="lin_0.2", clip_range_vf=None)
    assert agent["learning_rate"] == 0.0001
    assert agent["clip_range"] == "lin_0.2"
    assert agent["clip_range_vf"] is None
    assert settings.linear_start("lin_3e-4") == 0.0003


def test_rollouts_are_counted_in_transitions_of_all_copies():
    assert PLATE.rollout("sb3_ppo", changed("sb3_ppo", 16, n_steps=32), 16) == 512
    assert PLATE.rollout("sb3_sac", changed("sb3_sac", 16, train_freq=2), 16) == 32
    assert PLATE.rollout("sb3_ars", preset("sb3_ars"), 16) == 16
