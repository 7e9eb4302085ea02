"""What holds for both of the rover's tasks: determinism, exact continuation, and their pictures."""

import numpy as np
import pytest

from srb_train.envs.tasks import machine, velocity_tracking, waypoint_navigation

TASKS = {
    "waypoints": ("waypoint_navigation", {"time_limit": 5.0}),
    "poses on a slope": (
        "waypoint_navigation",
        {"difficulty": "steep", "goal": "pose", "waypoints": 2, "time_limit": 4.0},
    ),
    "velocities": ("velocity_tracking", {"time_limit": 4.0}),
    "velocities on a slope": ("velocity_tracking", {"difficulty": "steep", "time_limit": 3.0}),
}
STEPS = 130


@pytest.fixture(params=TASKS)
def make(request):
    name, params = TASKS[request.param]
    return lambda num_envs: machine.make(name, num_envs, params)


def actions(env, steps, seed=5):
    """Actions that a row keeps whatever the number of rows."""
    rows = [np.random.default_rng([seed, row]) for row in range(env.num_envs)]
    return [
        np.stack([row.uniform(-1.2, 1.2, 2) for row in rows]).astype("f4") for _ in range(steps)
    ]


def same(one, other, rows=slice(None)):
    """Tell whether two steps agree bitwise on the given rows."""
    return all(np.array_equal(a[rows], b[rows]) for a, b in zip(one[:4], other[:4], strict=True))


@pytest.mark.parametrize("count", [1, 3, 17])
def test_a_row_lives_the_same_life_whatever_the_number_of_rows(make, count):
    few, many = make(count), make(64)
    assert np.array_equal(few.reset(9), many.reset(9)[:count])
    ends = 0
    for action, more in zip(actions(few, STEPS), actions(many, STEPS), strict=True):
        one, other = few.step(action), many.step(more)
        assert same(one, other, slice(count))
        ends += int((one.terminated | one.truncated).sum())
    assert ends


def test_a_state_stored_at_any_step_goes_on_bitwise(make):
    env, other = make(9), make(9)
    env.reset(21), other.reset(4)
    for action in actions(env, STEPS):
        other.load_state_dict(env.state_dict())
        one, two = env.step(action), other.step(action)
        assert same(one, two)
        assert set(one.info) == set(two.info)
        assert all(np.array_equal(one.info[name], two.info[name]) for name in one.info)
        mine, theirs = env.state_dict(), other.state_dict()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_what_is_stored_is_not_written_again_by_stepping(make):
    env = make(9)
    env.reset(2)
    stored = env.state_dict()
    kept = {name: values.copy() for name, values in stored.items()}
    for action in actions(env, STEPS):
        env.step(action)
    assert all(np.array_equal(stored[name], kept[name]) for name in kept)


def test_shapes_types_and_facts_are_those_of_the_contract(make):
    env = make(5)
    obs = env.reset(0)
    assert all(env.observation_space.contains(row) for row in obs)
    for action in actions(env, STEPS):
        step = env.step(action)
        assert step.obs.dtype == step.reward.dtype == np.float32
        assert step.obs.flags.c_contiguous
        assert step.terminated.dtype == step.truncated.dtype == bool
        for name, values in step.info.items():
            assert values.dtype == (bool if name == "success" else np.float32)
    assert all(values.dtype in (np.float32, np.int64) for values in env.state.values())


def test_a_frame_is_a_picture_that_differs_from_row_to_row_and_from_step_to_step(make):
    env = make(2)
    env.reset(1)
    frames = [env.render(0), env.render(1)]
    for action in actions(env, 8):
        env.step(np.abs(action))
    frames.append(env.render(0))
    for frame in frames:
        assert frame.shape == (480, 640, 3)
        assert frame.dtype == np.uint8
        assert len(np.unique(frame[::4, ::4].reshape(-1, 3), axis=0)) > 200
    assert not np.array_equal(frames[0], frames[1])
    assert (frames[0] != frames[2]).any(-1).mean() > 0.005


def test_drawing_changes_nothing(make):
    env, other = make(2), make(2)
    env.reset(0), other.reset(0)
    env.render(0)[:] = 0
    for action in actions(env, 3):
        assert same(env.step(action), other.step(action))
        env.render(1)


DRIVERS = {
    "waypoint_navigation": waypoint_navigation.scripted,
    "velocity_tracking": velocity_tracking.scripted,
}


@pytest.mark.parametrize("name", DRIVERS)
def test_the_way_leaves_a_trail_and_ends_with_a_verdict(name):
    driver = DRIVERS[name]
    params = {"time_limit": 2.0} if name == "velocity_tracking" else {"waypoints": 1}
    env = machine.make(name, 1, params)
    obs = env.reset(3)
    for age in range(env.max_episode_steps):
        if age % 10 == 0:
            frame = env.render(0)
        step = env.step(driver(obs))
        obs = step.obs
        if step.terminated[0] or step.truncated[0]:
            break
    drawn = len(env.scenes.drawn[0])
    last = env.render(0)
    assert len(env.scenes.drawn[0]) == drawn + 1
    assert env.scenes.drawn[0][-1].verdict is bool(step.info["success"][0])
    banner = (slice(20, 56), slice(160, 316))
    assert (last[banner] != frame[banner]).any(-1).mean() > 0.5, "no banner"
    env.step(driver(obs))
    env.render(0)
    assert len(env.scenes.drawn[0]) == 1, "the next episode's trail begins anew"


def test_extreme_states_can_be_drawn():
    far = machine.make("waypoint_navigation", 1, {"goal": "pose"})
    velocities = machine.make("velocity_tracking", 1, {"difficulty": "steep"})
    for env in (far, velocities):
        for x, y, heading in ((24.0, -19.0, 40.0), (0.0, 900.0, -7.0)):
            told = {"x": x, "y": y, "heading": heading, "speed": -2.0, "turn": 4.0, "spinning": 9.0}
            for name, value in told.items():
                env.state[name][:] = value
            assert env.render(0).any()
