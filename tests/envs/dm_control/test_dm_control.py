"""The DeepMind Control Suite behind the contract."""

import importlib.util
from contextlib import closing
from importlib import metadata

import numpy as np
import pytest

from srb_train import soundness
from srb_train.envs.dm_control import machine
from srb_train.errors import MissingDependency, UsageError

if importlib.util.find_spec("dm_control") is None:
    pytest.skip("dm_control is not installed", allow_module_level=True)

# dm_control 1.0.50 asks MuJoCo for what version 4 no longer has.
TOO_NEW = int(metadata.version("mujoco").partition(".")[0]) >= 4
if not TOO_NEW:
    pytest.importorskip("dm_control.suite")
works = pytest.mark.skipif(TOO_NEW, reason="dm_control does not work with this MuJoCo")

CHANGING = ("point_mass-hard", "reacher-easy", "fish-swim", "swimmer-swimmer6", "quadruped-run")
"""Tasks that change their model, or read sensors and contacts, between two steps."""


@pytest.mark.skipif(not TOO_NEW, reason="only where dm_control does not work with this MuJoCo")
def test_a_mujoco_that_is_too_new_is_told_in_one_line():
    with pytest.raises(MissingDependency, match=r'do not work together.*pip install "mujoco<4"'):
        machine.make("cartpole-balance", 1, {})


@works
def test_every_check_of_the_contract_passes():
    def make(copies):
        settings = {"kwargs": {"time_limit": 0.2}, "render": False}
        return machine.make("cartpole-swingup", copies, settings)

    found = soundness.sound(make)
    wrong = [(each.name, each.value) for each in found if each.state != "ok"]
    assert [name for name, _ in wrong] == ["picture"]


@works
@pytest.mark.parametrize("task", ["acrobot-swingup", "pendulum-swingup", *CHANGING])
def test_a_state_goes_on_bit_for_bit_across_episodes(task):
    params = {"kwargs": {"time_limit": 0.6}, "render": False}
    with (
        closing(machine.make(task, 2, params)) as env,
        closing(machine.make(task, 2, params)) as at,
    ):
        env.reset(3)
        for number in range(13):
            env.step(soundness.actions(env, number))
        stored = {name: np.array(part) for name, part in env.state_dict().items()}
        at.reset(50)
        at.load_state_dict(stored)
        for number in range(70):
            action = soundness.actions(env, 100 + number)
            one, two = env.step(action), at.step(action)
            for part, same in zip(one[:5], two[:5], strict=True):
                assert (part is None and same is None) or np.array_equal(part, same)


@works
def test_a_row_steps_as_the_suite_does():
    from dm_control import suite

    bare = suite.load("walker", "walk", task_kwargs={"random": 5})
    with closing(machine.make("walker-walk", 1, {"render": False})) as env:
        told = bare.reset()
        obs = env.reset(5)
        for number in range(30):
            wanted = np.concatenate([np.ravel(part) for part in told.observation.values()])
            assert np.array_equal(obs[0], wanted.astype(np.float32))
            action = soundness.actions(env, number)
            told = bare.step(action[0].astype(np.float64))
            step = env.step(action)
            obs = step.obs
            assert step.reward[0] == np.float32(told.reward)


@works
def test_the_tasks_own_clock_is_the_limit():
    with closing(machine.make("cartpole-balance", 1, {"render": False})) as env:
        assert (env.max_episode_steps, env.render_fps) == (1000, 100)
    longer = {"kwargs": {"time_limit": 20}, "render": False, "max_episode_steps": 1500}
    with closing(machine.make("cartpole-balance", 1, longer)) as env:
        assert env.max_episode_steps == 1500
    with pytest.raises(UsageError, match=r"ends after 1000 steps; env\.kwargs\.time_limit=20 lets"):
        machine.make("cartpole-balance", 1, {"max_episode_steps": 2000})


@works
def test_what_cannot_be_made_is_named():
    with pytest.raises(UsageError, match="nearest: cartpole-balance"):
        machine.make("cartpole-balanse", 1, {})
    with pytest.raises(UsageError, match=r"gravitas.*env\.kwargs"):
        machine.make("cartpole-balance", 1, {"kwargs": {"gravitas": 1}})
