"""Brax's own tasks behind the contract."""

import numpy as np
import pytest

from srb_train import soundness
from srb_train.errors import UsageError

pytest.importorskip("brax.envs")

from srb_train.envs.brax import machine

# Brax says of itself that it is no longer worked on, and uses what MuJoCo is about to drop.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Brax System:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing:DeprecationWarning"),
]

FAST = {"backend": "generalized", "max_episode_steps": 20}


def made(copies=3, **params):
    return machine.make("inverted_pendulum", copies, {**FAST, **params})


def test_a_misspelt_task_engine_or_argument_is_named():
    with pytest.raises(UsageError, match="nearest: inverted_pendulum"):
        machine.make("inverted_pendulm", 1, {})
    with pytest.raises(UsageError, match=r"env\.backend='sprang' is not one of .*nearest: spring"):
        made(backend="sprang")
    with pytest.raises(UsageError, match=r"gravitas.*env\.kwargs"):
        made(kwargs={"gravitas": 1})
    with pytest.raises(UsageError, match=r"env\.array='jax'"):
        made(array="jax")


@pytest.mark.slow
def test_a_pendulum_falls_is_cut_and_goes_on_from_its_state():
    env = made()
    obs = env.reset(0)
    assert obs.shape == (3, 4) and env.action_space.shape == (1,)
    ended = cut = 0
    for number in range(60):
        step = env.step(soundness.actions(env, number))
        ended, cut = ended + step.terminated.sum(), cut + step.truncated.sum()
        if step.final_obs is not None:
            done = step.terminated | step.truncated
            assert not np.array_equal(step.final_obs, step.obs[done])
    assert ended > 0 and env.max_episode_steps == 20
    stored = {name: np.array(part) for name, part in env.state_dict().items()}
    played = []
    for _ in range(2):
        env.load_state_dict(stored)
        played.append([env.step(soundness.actions(env, 100 + number)) for number in range(30)])
        env.reset(9)
    for one, two in zip(*played, strict=True):
        assert np.array_equal(one.obs, two.obs) and np.array_equal(one.reward, two.reward)
