"""mjlab behind the contract, for real, in the interpreter that SRB_MJLAB_PYTHON names."""

import os
from contextlib import closing

import numpy as np
import pytest

from srb_train import apart
from srb_train.errors import UsageError

PYTHON = os.environ.get("SRB_MJLAB_PYTHON")
TASK = "mjlab/Mjlab-Cartpole-Balance"
PARAMS = {"device": "cpu", "groups": ["actor"], "action_limit": 1.0, "cfg": {}, "pictures": False}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(PYTHON is None, reason="SRB_MJLAB_PYTHON names no interpreter with mjlab"),
]


def test_cut_rows_show_what_they_saw_last():
    params = {**PARAMS, "cfg": {"episode_length_s": 0.1}, "python": PYTHON}
    with closing(apart.make_env(TASK, 4, params)) as env:
        limit = env.max_episode_steps
        seen = env.reset(3)
        again = env.reset(3)
        assert np.array_equal(seen, again)
        for number in range(1, 2 * limit + 1):
            step = env.step(np.full((4, *env.action_space.shape), 0.3, np.float32))
            assert step.obs.dtype == np.float32 and np.isfinite(step.obs).all()
            if number % limit:
                assert step.final_obs is None
                continue
            assert step.truncated.all() and not step.terminated.any()
            assert step.final_obs.shape == step.obs.shape
            assert not np.array_equal(step.final_obs, step.obs)


def test_a_misspelt_task_and_a_misspelt_setting_are_told():
    with pytest.raises(UsageError, match=r"nearest: .*Mjlab-Cartpole-Balance"):
        apart.make_env("mjlab/Mjlab-Cartpole-Balanse", 2, {**PARAMS, "python": PYTHON})
    with pytest.raises(UsageError, match="nearest: episode_length_s"):
        params = {**PARAMS, "cfg": {"episode_length": 1.0}, "python": PYTHON}
        apart.make_env(TASK, 2, params)
