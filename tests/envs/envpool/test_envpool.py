"""EnvPool's tasks behind the contract."""

from contextlib import closing

import gymnasium
import numpy as np
import pytest

from srb_train import soundness
from srb_train.errors import UnsupportedError, UsageError

pytest.importorskip("envpool")

from srb_train.envs.envpool import machine

# Gymnasium says that bounds of EnvPool's own spaces lose digits in float32.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
def test_every_check_of_the_contract_passes(task):
    found = soundness.sound(lambda copies: machine.make(task, copies, {"threads": 1}))
    assert [(each.name, each.value) for each in found if each.state == "fail"] == []
    warned = {each.name for each in found if each.state == "warn"}
    assert warned <= {"state", "picture"}


def test_a_row_steps_as_gymnasium_does_between_two_ends():
    bare = gymnasium.make("CartPole-v1").unwrapped
    with closing(machine.make("CartPole-v1", 5, {"threads": 1})) as env:
        before = env.reset(2)
        bare.reset(seed=0)
        for number in range(60):
            action = soundness.actions(env, number)
            step = env.step(action)
            done = step.terminated | step.truncated
            shown = step.obs.copy()
            if step.final_obs is not None:
                shown[done] = step.final_obs
                assert (np.abs(step.obs[done]) <= 0.05).all()
            for row in range(5):
                bare.state, bare.steps_beyond_terminated = before[row].astype(np.float64), None
                obs, _, ended, _, _ = bare.step(int(action[row]))
                assert np.allclose(shown[row], obs, atol=1e-5)
                assert step.terminated[row] == ended
            before = step.obs
    bare.close()


def test_a_time_limit_truncates_and_actions_are_rescaled():
    params = {"threads": 1, "max_episode_steps": 5}
    with closing(machine.make("Pendulum-v1", 2, params)) as env:
        assert env.action_space.low.tolist() == [-1.0] and env.max_episode_steps == 5
        env.reset(0)
        for number in range(1, 16):
            step = env.step(soundness.actions(env, number))
            assert not step.terminated.any()
            assert (step.truncated == (number % 5 == 0)).all()


def test_what_cannot_be_is_said():
    with pytest.raises(UsageError, match="nearest: CartPole-v1"):
        machine.make("CartPol-v1", 1, {})
    with pytest.raises(UsageError, match=r"gravitas.*env\.kwargs"):
        machine.make("CartPole-v1", 1, {"kwargs": {"gravitas": 1}})
    with (
        closing(machine.make("CartPole-v1", 1, {})) as env,
        pytest.raises(UnsupportedError, match="cannot be restored"),
    ):
        env.load_state_dict({})
