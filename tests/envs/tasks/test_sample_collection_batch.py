"""Sample collection in a batch, whatever it shows: determinism, exact continuation, pictures."""

import numpy as np
import pytest

from srb_train.envs.tasks import machine
from srb_train.envs.tasks.sample_collection_pilot import scripted

NAME = "sample_collection"
STEPS = 40


@pytest.fixture(params=["state", "dict", "camera"])
def make(request):
    params = {"observe": request.param, "time_limit": 5.0, "image_size": 36}
    return lambda num_envs: machine.make(NAME, num_envs, params)


def actions(env, steps, seed=5):
    """Actions that a row keeps whatever the number of rows."""
    rows = [np.random.default_rng([seed, row]) for row in range(env.num_envs)]
    return [
        np.stack([row.uniform(-1.2, 1.2, 2) for row in rows]).astype("f4") for _ in range(steps)
    ]


def parts(obs):
    return obs if isinstance(obs, dict) else {"": obs}


def alike(one, other, rows=slice(None)):
    """Tell whether observations agree bitwise on the given rows."""
    return all(
        np.array_equal(part[rows], parts(other)[key][rows]) for key, part in parts(one).items()
    )


def same(one, other, rows=slice(None)):
    """Tell whether two steps agree bitwise on the given rows."""
    facts = all(np.array_equal(a[rows], b[rows]) for a, b in zip(one[1:4], other[1:4], strict=True))
    return facts and alike(one.obs, other.obs, rows)


@pytest.mark.parametrize("count", [1, 3, 17])
def test_a_row_lives_the_same_life_whatever_the_number_of_rows(make, count):
    few, many = make(count), make(40)
    assert alike(few.reset(9), many.reset(9), slice(count))
    ends = 0
    for action, more in zip(actions(few, STEPS), actions(many, STEPS), strict=True):
        one, other = few.step(action), many.step(more)
        assert same(one, other, slice(count))
        ends += int((one.terminated | one.truncated).sum())
    assert ends


def test_a_state_stored_at_any_step_goes_on_bitwise(make):
    env, other = make(5), make(5)
    env.reset(21), other.reset(4)
    for action in actions(env, STEPS):
        other.load_state_dict(env.state_dict())
        one, two = env.step(action), other.step(action)
        assert same(one, two)
        assert set(one.info) == set(two.info)
        if one.final_obs is not None:
            assert alike(one.final_obs, two.final_obs)


def test_the_final_observation_is_the_true_last_one(make):
    env = make(9)
    env.reset(2)
    met = 0
    for action in actions(env, STEPS):
        outcome = env.task.advance(np, env.state, env._bounded(action))
        true = parts(env.task.observe(np, outcome.state))
        step = env.step(action)
        ended = np.flatnonzero(step.terminated | step.truncated)
        assert (step.final_obs is None) == (ended.size == 0)
        going = np.setdiff1d(np.arange(9), ended)
        for key, part in parts(step.obs).items():
            assert np.array_equal(part[going], true[key][going])
            if ended.size:
                assert np.array_equal(parts(step.final_obs)[key], true[key][ended])
                met += 1
    assert met


def test_shapes_types_and_facts_are_those_of_the_contract(make):
    env = make(5)
    space = env.observation_space
    seen = env.reset(0)
    kept = {key: part.copy() for key, part in parts(seen).items()}
    for action in actions(env, STEPS):
        step = env.step(action)
        for key, part in parts(step.obs).items():
            own = space[key] if key else space
            assert part.shape == (5, *own.shape)
            assert part.dtype == own.dtype
            assert part.flags.c_contiguous
            assert all(own.contains(row) for row in part)
        assert step.reward.dtype == np.float32
        assert step.terminated.dtype == step.truncated.dtype == bool
        for name, values in step.info.items():
            assert values.dtype == (bool if name == "success" else np.float32)
    assert alike(seen, kept), "what was returned was written again"
    assert all(values.dtype in (np.float32, np.int64) for values in env.state.values())


def test_a_frame_shows_the_arena_and_the_camera_and_changes_nothing():
    env, other = machine.make(NAME, 2, {}), machine.make(NAME, 2, {})
    env.reset(1), other.reset(1)
    first = env.render(0)
    for _ in range(10):
        env.render(1)[:] = 0
        one, two = (each.step(np.full((2, 2), 0.4, dtype="f4")) for each in (env, other))
        assert same(one, two)
    frame = env.render(0)
    assert frame.shape == (480, 640, 3)
    assert frame.dtype == np.uint8
    assert len(np.unique(frame[::4, ::4].reshape(-1, 3), axis=0)) > 200
    camera = (slice(318, 456), slice(490, 628))
    assert (first[camera] != frame[camera]).any(-1).mean() > 0.2
    assert not np.array_equal(frame, env.render(1))


def test_the_way_leaves_a_trail_and_ends_with_a_verdict():
    env = machine.make(NAME, 1, {})
    obs = env.reset(3)
    for age in range(env.max_episode_steps):
        if age % 20 == 0:
            frame = env.render(0)
        step = env.step(scripted(obs))
        obs = step.obs
        if step.terminated[0] or step.truncated[0]:
            break
    last = env.render(0)
    assert env.scenes.drawn[0][-1].verdict is bool(step.info["success"][0]) is True
    banner = (slice(20, 56), slice(160, 316))
    assert (last[banner] != frame[banner]).any(-1).mean() > 0.5, "no banner"


def test_extreme_states_can_be_drawn():
    env = machine.make(NAME, 1, {})
    for x, y, heading in ((24.0, -19.0, 40.0), (0.0, 900.0, -7.0)):
        told = {"x": x, "y": y, "heading": heading, "speed": -2.0, "turn": 4.0, "spinning": 9.0}
        for name, value in told.items():
            env.state[name][:] = value
        assert env.render(0).any()
