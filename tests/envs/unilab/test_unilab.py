"""UniLab behind the contract, for real, in the interpreter that SRB_UNILAB_PYTHON names."""

import os
from contextlib import closing

import numpy as np
import pytest

from srb_train import apart
from srb_train.errors import UsageError

PYTHON = os.environ.get("SRB_UNILAB_PYTHON")
TASK = "unilab/go2_joystick_flat"
PARAMS = {
    "sim": "mujoco",
    "device": "cpu",
    "groups": ["obs", "critic"],
    "action_limit": 1.0,
    "cfg": {"max_episode_seconds": 0.2},
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(PYTHON is None, reason="SRB_UNILAB_PYTHON names no interpreter with UniLab"),
]


def test_cut_rows_show_what_they_saw_last():
    with closing(apart.make_env(TASK, 4, {**PARAMS, "python": PYTHON})) as env:
        assert set(env.observation_space) == {"state", "critic"}
        first = env.reset(3)
        assert all(np.array_equal(part, env.reset(3)[key]) for key, part in first.items())
        cut = 0
        for _ in range(25):
            step = env.step(np.zeros((4, *env.action_space.shape), np.float32))
            done = step.terminated | step.truncated
            if not done.any():
                assert step.final_obs is None
                continue
            cut += int(step.truncated.sum())
            assert step.final_obs["state"].shape[0] == done.sum()
            assert not np.array_equal(step.final_obs["critic"], step.obs["critic"][done])
        assert cut >= 4


def test_a_misspelt_task_and_a_physics_that_is_not_there_are_told():
    with pytest.raises(UsageError, match="nearest: go2_joystick_flat"):
        apart.make_env("unilab/go2_joystik_flat", 2, {**PARAMS, "python": PYTHON})
    with pytest.raises(UsageError, match=r"env\.sim='bullet': .*mujoco"):
        apart.make_env(TASK, 2, {**PARAMS, "sim": "bullet", "python": PYTHON})
