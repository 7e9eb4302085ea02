"""What the plate computes and refuses before anything heavy is imported."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train import config
from srb_train.algos.rsl_rl import PLATE
from srb_train.errors import UsageError
from tests.algos.rsl_rl.scene import changed

PPO = ("rsl_rl_ppo", "rsl_rl_ppo_rnn")
STEPS, COPIES = "agent.num_steps_per_env", "env.num_envs"
PARTS = "agent.algorithm.num_mini_batches"


def python(code: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **more},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_plate_imports_no_framework():
    heavy = {"torch", "numpy", "gymnasium", "tensordict", "rsl_rl"}
    code = f"import sys, srb_train.algos.rsl_rl; print({heavy} & set(sys.modules))"
    assert python(code) == "set()"


def test_the_machine_takes_neither_trackers_nor_git_along_and_leaves_them_usable(tmp_path):
    for name in ("wandb", "neptune"):
        (tmp_path / f"{name}.py").write_text("here = True\n")
    code = (
        "import sys, srb_train.algos.rsl_rl.machine as machine;"
        "print({'wandb', 'neptune', 'git'} & set(sys.modules), machine.PPO.__module__);"
        "import wandb; print(wandb.here)"
    )
    found = python(code, PYTHONPATH=str(tmp_path), PATH="")
    assert found.splitlines() == ["set() rsl_rl.algorithms.ppo", "True"]


def test_every_label_has_a_preset_and_every_preset_a_label():
    presets = {name for name in config.presets("agent") if name.startswith("rsl_rl_")}
    assert presets == set(PLATE.labels)


@pytest.mark.parametrize("label", PPO)
def test_a_preset_settles_as_it_stands_and_a_second_time_the_same(label):
    once = changed(label, 16)
    assert once["algorithm"]["num_mini_batches"] == 4
    assert PLATE.settle(label, once, 16) == once
    assert PLATE.rollout(label, once, 16) == 64 * 16


@pytest.mark.parametrize("label", PPO)
@given(steps=st.integers(1, 40), num_envs=st.integers(2, 40))
def test_a_computed_number_of_minibatches_always_cuts_evenly(label, steps, num_envs):
    parts = changed(label, num_envs, num_steps_per_env=steps)["algorithm"]["num_mini_batches"]
    size = num_envs if label == "rsl_rl_ppo_rnn" else steps * num_envs
    assert 1 <= parts <= 4
    assert size % parts == 0
    assert size // parts >= 2


def test_a_remainder_is_told_with_its_arithmetic_and_the_nearest_values():
    with pytest.raises(UsageError) as refusal:
        changed("rsl_rl_ppo", 16, **{"num_steps_per_env": 32, "algorithm.num_mini_batches": 5})
    text = str(refusal.value)
    assert "32 x env.num_envs=16 = 512 transitions = 5 x 102 + 2" in text.replace("\n  ", " ")
    assert "agent.algorithm.num_mini_batches=4 or 8, or null" in text
    assert "env.num_envs=15 or 20" in text
    assert "agent.num_steps_per_env=30 or 35" in text


def test_a_recurrent_minibatch_is_whole_rollouts_of_at_least_two_environments():
    with pytest.raises(UsageError) as refusal:
        changed("rsl_rl_ppo_rnn", 6, **{"algorithm.num_mini_batches": 4})
    assert "env.num_envs=6 = 4 x 1 + 2" in str(refusal.value)
    assert "num_mini_batches=3" in str(refusal.value)
    assert "env.num_envs=8" in str(refusal.value)
    with pytest.raises(UsageError, match=r"4 x 1 \+ 0"):
        changed("rsl_rl_ppo_rnn", 4, **{"algorithm.num_mini_batches": 4})
    with pytest.raises(UsageError, match=r"env\.num_envs=1 is too small"):
        changed("rsl_rl_ppo_rnn", 1)


@given(steps=st.integers(1, 30), num_envs=st.integers(2, 30), parts=st.integers(1, 60))
def test_every_nearest_value_that_is_told_does_fit(steps, num_envs, parts):
    try:
        changed(
            "rsl_rl_ppo",
            num_envs,
            **{"num_steps_per_env": steps, "algorithm.num_mini_batches": parts},
        )
    except UsageError as refusal:
        told = dict(line.split("=") for line in str(refusal).splitlines()[3:])
        assert len(told) == 3
        asked = {STEPS: steps, COPIES: num_envs, PARTS: parts}
        for key, text in told.items():
            for value in (int(each) for each in text.split(",")[0].split(" or ")):
                tried = {**asked, key.strip(): value}
                size = tried[STEPS] * tried[COPIES]
                assert size % tried[PARTS] == 0
                assert size // tried[PARTS] >= 2


@pytest.mark.parametrize(
    ("label", "changes", "words"),
    [
        ("rsl_rl_ppo", {"num_steps_per_env": 0}, ["agent.num_steps_per_env=0", "at least 1"]),
        ("rsl_rl_ppo", {"actor.class_name": "MLPmodel"}, ["actor.class_name", "nearest: MLPModel"]),
        ("rsl_rl_ppo", {"actor.class_name": "os:system"}, ["'os:system'", "auto, MLPModel"]),
        ("rsl_rl_ppo", {"critic.class_name": "RNNModel"}, ["critic.class_name"]),
        ("rsl_rl_ppo_rnn", {"actor.class_name": "MLPModel"}, ["nearest: RNNModel"]),
        (
            "rsl_rl_ppo",
            {"actor.distribution_cfg.class_name": "BetaDistibution"},
            ["actor.distribution_cfg.class_name", "nearest: BetaDistribution"],
        ),
        ("rsl_rl_ppo", {"actor.distribution_cfg.std_type": "exp"}, ["scalar, log"]),
        ("rsl_rl_ppo", {"actor.distribution_cfg.init_std": 0.0}, ["above 0"]),
        ("rsl_rl_ppo", {"actor.distribution_cfg.std_range": [1.0, 0.1]}, ["smaller first"]),
        ("rsl_rl_ppo", {"critic.activation": "rleu"}, ["critic.activation='rleu'", "relu"]),
        ("rsl_rl_ppo", {"algorithm.schedule": "adaptative"}, ["nearest: adaptive"]),
        ("rsl_rl_ppo", {"algorithm.optimizer": "Adamw"}, ["nearest: adamw"]),
        ("rsl_rl_ppo", {"algorithm.gamma": 99.0}, ["agent.algorithm.gamma=99.0", "between 0 and"]),
        ("rsl_rl_ppo", {"algorithm.desired_kl": 0.0}, ["agent.algorithm.desired_kl=0.0"]),
        ("rsl_rl_ppo", {"actor.hidden_dims": []}, ["agent.actor.hidden_dims=[]"]),
        ("rsl_rl_ppo", {"actor.hidden_dims": [8, 0]}, ["agent.actor.hidden_dims=[8, 0]"]),
        ("rsl_rl_ppo", {"obs_groups.actor": []}, ["agent.obs_groups.actor=[]", "null"]),
        ("rsl_rl_ppo_rnn", {"actor.rnn_type": "ltsm"}, ["nearest: lstm"]),
        ("rsl_rl_ppo_rnn", {"critic.rnn_hidden_dim": 0}, ["at least 1"]),
        ("rsl_rl_distillation", {}, ["agent.teacher=", "rsl_rl_ppo"]),
        ("rsl_rl_distillation", {"teacher": "/nowhere"}, ["agent.teacher=/nowhere", "no such"]),
        ("rsl_rl_distillation", {"algorithm.loss_type": "mea"}, ["nearest: mse"]),
        (
            "rsl_rl_distillation",
            {"num_steps_per_env": 15, "algorithm.gradient_length": 4},
            ["does not divide", "= 30 steps", "3 or 5"],
        ),
    ],
)
def test_what_cannot_work_is_refused_with_the_key_and_the_way_out(label, changes, words):
    with pytest.raises(UsageError) as refusal:
        changed(label, **changes)
    assert [word for word in words if word not in str(refusal.value)] == []
