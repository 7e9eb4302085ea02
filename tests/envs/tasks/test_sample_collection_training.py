"""Families train on what sample collection shows, pictures or parts of a dict, and go on."""

import signal
from pathlib import Path

import numpy as np
import pytest

from srb_train import operations
from srb_train.operations import EvalRequest
from tests.families.bench import Bench, contents, differences
from tests.families.sizes import COPIES, shrink

TASK = ("env.image_size=36", "env.time_limit=3.0", f"env.num_envs={COPIES}", "run.seed=7")


def bench(root: Path, algo: str, observe: str) -> Bench:
    every = (*TASK, *shrink(algo), f"env.observe={observe}")
    unit = max(64, Bench(root, algo, "sample_collection", every).plan().rollout)
    steps = (f"run.steps={4 * unit}", f"run.checkpoint_every={unit}")
    return Bench(root, algo, "sample_collection", (*every, *steps))


def newest(run) -> Path:
    return run.checkpoints().latest().path


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("algo", "observe"),
    [
        ("sb3_ppo", "camera"),
        pytest.param("sb3_sac", "camera", marks=SLOW),
        pytest.param("rsl_rl_ppo", "camera", marks=SLOW),
        ("rsl_rl_ppo", "dict"),
        pytest.param("skrl_ppo", "dict", marks=SLOW),
        pytest.param("sb3_ppo", "dict", marks=SLOW),
    ],
)
def test_going_on_after_kill_9_gives_the_same_run_bit_for_bit(algo, observe, tmp_path):
    whole = bench(tmp_path / "whole", algo, observe).train()
    cut = bench(tmp_path / "cut", algo, observe)
    plan = cut.plan()
    step = plan.spec.steps // 2 + plan.rollout // 2
    cut.train(blow=(step, signal.SIGKILL), code=-signal.SIGKILL)
    resumed = cut.train(continue_training=True)
    assert newest(resumed).name == newest(whole).name
    assert differences(newest(whole), newest(resumed)) == []
    request = EvalRequest(run=str(resumed.path), logdir=cut.root, episodes=2, num_envs=2)
    assert operations.evaluate(request)["complete"], "acting takes no critic"
    for array in contents(newest(whole)).values():
        assert array.dtype.kind != "f" or np.isfinite(array).all()
