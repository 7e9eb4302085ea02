"""What the plate computes and refuses before anything heavy is imported."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train import config
from srb_train.algos.skrl import PLATE, settings
from srb_train.errors import UnsupportedError, UsageError
from tests.algos.skrl.scene import changed, motions, preset

PLAIN = [label for label in PLATE.labels if label != "skrl_amp"]


def test_the_plate_imports_no_framework():
    code = (
        "import sys, srb_train.algos.skrl;"
        "print({'torch', 'numpy', 'gymnasium', 'skrl'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_label_has_a_preset_and_every_preset_a_label():
    presets = {name for name in config.presets("agent") if name.startswith("skrl_")}
    assert presets == set(PLATE.labels)


@pytest.mark.parametrize("label", PLAIN)
def test_a_preset_settles_as_it_stands_and_a_second_time_the_same(label):
    once = PLATE.settle(label, preset(label), 16)
    assert PLATE.settle(label, once, 16) == once


def test_truth_values_become_names_and_arguments_are_filled_in():
    agent = changed("skrl_ppo", observation_preprocessor=True, value_preprocessor=False)
    assert agent["observation_preprocessor"] == "RunningStandardScaler"
    assert agent["observation_preprocessor_kwargs"] == {"epsilon": 1e-8, "clip_threshold": 5.0}
    assert agent["value_preprocessor"] is None
    assert agent["value_preprocessor_kwargs"] == {}
    td3 = changed("skrl_td3", **{"exploration_noise_kwargs.std": 0.3})
    assert td3["exploration_noise_kwargs"] == {"mean": 0.0, "std": 0.3}
    assert td3["smooth_regularization_noise_kwargs"] == {"mean": 0.0, "std": 0.2}


@pytest.mark.parametrize(
    ("label", "changes", "words"),
    [
        ("skrl_ppo", {"learning_epochs": 0}, ["agent.learning_epochs=0", "at least 1"]),
        ("skrl_ppo", {"learning_rate_scheduler": "KLAdaptive"}, ["nearest: KLAdaptiveLR"]),
        ("skrl_trpo", {"learning_rate_scheduler": "KLAdaptiveLR"}, ["LinearLR"]),
        ("skrl_ppo", {"learning_rate": [1e-3, 1e-3]}, ["skrl_ppo takes a number"]),
        ("skrl_sac", {"learning_rate": [1e-3]}, ["a list of 3 numbers"]),
        ("skrl_ppo", {"observation_preprocessor": "StandardScaler"}, ["RunningStandardScaler"]),
        (
            "skrl_ppo",
            {"observation_preprocessor_kwargs.clip": 3.0},
            ["observation_preprocessor_kwargs", "clip_threshold"],
        ),
        (
            "skrl_ppo",
            {"observation_preprocessor_kwargs.epsilon": "__import__('os')"},
            ["must be a number"],
        ),
        ("skrl_td3", {"exploration_noise": "gaussian"}, ["nearest: GaussianNoise"]),
        ("skrl_ppo", {"models.policy.activation": "rleu"}, ["models.policy", "nearest: relu"]),
        ("skrl_ppo", {"models.value.layers": [64, 0]}, ["models.value.layers=[64, 0]"]),
        ("skrl_sac", {"memory_size": 3}, ["use agent.memory_size=64 or more"]),
        ("skrl_sac", {"polyak": 1.5}, ["agent.polyak=1.5", "between 0 and 1"]),
        ("skrl_dqn", {"exploration.fraction": -1.0}, ["agent.exploration.fraction"]),
        ("skrl_ppo_rnn", {"models.sequence_length": 12}, ["nearest that do: 8 or 16"]),
        ("skrl_ppo_rnn", {"mini_batches": 5}, ["agent.mini_batches=4 or 8"]),
        ("skrl_amp", {}, ["agent.motions=null", "docs/families/skrl.md"]),
        ("skrl_amp", {"motions": "nowhere.npz"}, ["nowhere.npz: no such file"]),
    ],
)
def test_what_cannot_work_is_refused_with_the_key_and_the_way_out(label, changes, words):
    with pytest.raises(UsageError) as refusal:
        changed(label, **changes)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


def test_an_indivisible_rollout_is_told_with_its_arithmetic_and_the_nearest_values():
    with pytest.raises(UsageError) as refusal:
        changed("skrl_ppo", 16, rollouts=25, mini_batches=7)
    text = str(refusal.value)
    assert "agent.rollouts=25 x env.num_envs=16 = 400 transitions" in text
    assert "agent.mini_batches=5 or 8" in text


@given(rollouts=st.integers(1, 40), num_envs=st.integers(1, 40), parts=st.integers(1, 60))
def test_every_nearest_value_that_is_told_does_fit(rollouts, num_envs, parts):
    try:
        changed("skrl_ppo", num_envs, rollouts=rollouts, mini_batches=parts)
    except UsageError as refusal:
        _, found, told = str(refusal).partition("agent.mini_batches=")[2].partition("fit: ")
        for value in told.removeprefix("agent.mini_batches=").split(" or ") if found else []:
            changed("skrl_ppo", num_envs, rollouts=rollouts, mini_batches=int(value))
    else:
        assert rollouts * num_envs % parts == 0


def test_memories_of_an_imitation_are_rounded_up_to_whole_additions(tmp_path):
    path = motions(tmp_path / "motions.npz")
    agent = changed("skrl_amp", 4, motions=path, rollouts=48, amp_batch_size=300, mini_batches=2)
    assert agent["motions"] == path
    assert agent["motion_dataset"]["memory_size"] == 20_100
    assert agent["reply_buffer"]["memory_size"] == 100_032
    assert PLATE.settle("skrl_amp", agent, 4) == agent


def test_rollouts_are_counted_in_transitions_of_all_copies():
    assert PLATE.rollout("skrl_ppo", changed("skrl_ppo", 16, rollouts=32), 16) == 512
    assert PLATE.rollout("skrl_sac", preset("skrl_sac"), 16) == 16


def test_a_process_group_is_refused_before_skrl_would_join_it():
    with pytest.raises(UnsupportedError, match="WORLD_SIZE=2"):
        settings.refuse_process_group({"WORLD_SIZE": "2"})
    assert settings.refuse_process_group({}) == 1
    done = subprocess.run(
        [sys.executable, "-c", "import srb_train.algos.skrl.machine"],
        env={**os.environ, "WORLD_SIZE": "2"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "unset WORLD_SIZE" in done.stderr
    assert "NCCL" not in done.stderr


def test_every_smoke_value_is_the_key_of_some_label():
    keys = set().union(*(preset(label) for label in PLATE.labels))
    assert set(settings.SMOKE) <= keys
    assert np.all([key in keys for key in settings.STRUCTURAL])
