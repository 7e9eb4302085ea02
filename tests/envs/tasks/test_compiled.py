"""The compiled batch is the same task: same starts bit for bit, same flights within rounding."""

import numpy as np
import pytest

from srb_train import soundness
from srb_train.envs.tasks import machine
from srb_train.errors import IntegrityError, UsageError

jax = pytest.importorskip("jax")

TASKS = {
    "landing": {"time_limit": 8.0},
    "cartpole": {"time_limit": 0.6},
    "rendezvous": {"time_limit": 30.0},
    "orbital_evasion": {"time_limit": 12.0},
    "waypoint_navigation": {"time_limit": 5.0},
    "velocity_tracking": {"time_limit": 4.0},
}


def pair(name, num_envs=6):
    """Return the same rows in NumPy and compiled."""
    return [
        machine.make(name, num_envs, {**TASKS[name], "engine": engine})
        for engine in ("numpy", "jax")
    ]


def action(env, index):
    draws = np.random.default_rng([7, index]).uniform(-1.0, 1.0, (env.num_envs, 17))
    return draws[:, : env.action_space.shape[0]].astype(np.float32)


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_begins_bit_for_bit_as_in_numpy_and_goes_the_same_way(name):
    plain, compiled = pair(name)
    first, second = plain.reset(11), compiled.reset(11)
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)
    for key in ("seed", "episode", "elapsed"):
        assert np.array_equal(plain.state_dict()[key], compiled.state_dict()[key])
    ended = 0
    for index in range(plain.task.max_episode_steps + 2):
        one, other = (env.step(action(env, index)) for env in (plain, compiled))
        np.testing.assert_allclose(one.obs, other.obs, rtol=1e-3, atol=2e-3)
        np.testing.assert_allclose(one.reward, other.reward, rtol=1e-3, atol=2e-3)
        assert np.array_equal(one.terminated, other.terminated)
        assert np.array_equal(one.truncated, other.truncated)
        assert set(one.info) == set(other.info)
        if one.final_obs is not None:
            ended += len(one.final_obs)
            np.testing.assert_allclose(one.final_obs, other.final_obs, rtol=1e-3, atol=2e-3)
    assert ended >= plain.num_envs


@pytest.mark.parametrize("name", TASKS)
def test_going_on_from_a_state_is_bitwise_the_same(name):
    _, env = pair(name)
    env.reset(3)
    for index in range(7):
        env.step(action(env, index))
    state = env.state_dict()
    first = [env.step(action(env, index)) for index in range(7, 40)]
    _, fresh = pair(name)
    fresh.load_state_dict(state)
    for index, one in zip(range(7, 40), first, strict=True):
        other = fresh.step(action(fresh, index))
        assert all(np.array_equal(a, b) for a, b in zip(one[:4], other[:4], strict=True))


def test_a_step_is_compiled_once_whatever_happens_in_it():
    _, env = pair("cartpole")
    env.reset(0)
    for index in range(80):
        env.step(action(env, index))
    env.load_state_dict(env.state_dict())
    env.step(action(env, 0))
    env.reset(5)
    env.step(action(env, 1))
    assert env._advance._cache_size() == 1 == env._restart._cache_size()


def test_arrays_are_the_callers_to_write_into():
    _, env = pair("landing")
    obs = env.reset(0)
    step = env.step(action(env, 0))
    for array in (obs, step.obs, step.reward, step.terminated):
        assert array.flags.writeable
    before = env.state_dict()
    step.obs[:] = 9.0
    assert all(np.array_equal(before[key], each) for key, each in env.state_dict().items())


def test_discrete_actions_and_dicts_of_observations_are_compiled_too():
    env = machine.make("cartpole", 4, {"discrete": True, "engine": "jax"})
    env.reset(0)
    step = env.step(np.array([0, 1, 1, 0]))
    assert step.obs[1, 1] > 0.0 > step.obs[0, 1]
    rover = machine.make("sample_collection", 3, {"observe": "dict", "engine": "jax"})
    twin = machine.make("sample_collection", 3, {"observe": "dict"})
    for key, part in rover.reset(4).items():
        np.testing.assert_allclose(part, twin.reset(4)[key], rtol=1e-4, atol=1e-5)


def test_the_end_of_an_episode_is_drawn():
    _, env = pair("cartpole", 2)
    env.reset(0)
    for index in range(30):
        picture = env.render(0)
        step = env.step(action(env, index))
        if step.final_obs is not None:
            break
    ending = env.render(int(np.flatnonzero(step.terminated | step.truncated)[0]))
    assert ending.shape == picture.shape and not np.array_equal(ending, picture)


def test_the_contract_of_training_is_kept():
    found = soundness.sound(lambda num_envs: pair("landing", num_envs)[1])
    assert [one for one in found if one.state == "fail"] == []


def test_a_state_of_other_rows_and_an_engine_that_is_not_there_are_refused():
    _, few = pair("landing", 2)
    _, many = pair("landing", 3)
    with pytest.raises(IntegrityError, match="2 rows"):
        few.load_state_dict(many.state_dict())
    with pytest.raises(UsageError, match=r"env\.engine='jaks'.*nearest: jax"):
        machine.make("landing", 2, {"engine": "jaks"})
