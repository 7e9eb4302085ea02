"""What holds for every embedded task: determinism, restarts, exact continuation, honest ends."""

import numpy as np
import pytest

from srb_train.envs.tasks import machine
from srb_train.envs.tasks.batch import Batch
from srb_train.errors import IntegrityError, UsageError

TASKS = {
    "landing": ("landing", {"time_limit": 8.0}),
    "landing with errors": ("landing", {"thrust_error": 0.05, "impulse_error": 0.03}),
    "landing by thrusters": ("landing", {"control": "thrusters", "time_limit": 6.0}),
    "cartpole": ("cartpole", {"time_limit": 0.6}),
    "cartpole of two actions": ("cartpole", {"discrete": True}),
    "rendezvous": ("rendezvous", {"time_limit": 60.0, "thrust_error": 0.05}),
    "orbital evasion": ("orbital_evasion", {"difficulty": "full"}),
}
STEPS = 250


@pytest.fixture(params=TASKS)
def make(request):
    name, params = TASKS[request.param]
    return lambda num_envs: machine.make(name, num_envs, params)


def actions(env, steps, seed=5):
    """Actions that a row keeps whatever the number of rows."""
    space = env.action_space
    rows = [np.random.default_rng([seed, row]) for row in range(env.num_envs)]
    for _ in range(steps):
        if space.shape:
            yield np.stack([row.uniform(-1.2, 1.2, space.shape) for row in rows]).astype("f4")
        else:
            yield np.array([row.integers(space.n) for row in rows])


def roll(env, steps=STEPS, first=0):
    """Step through the row's actions and return all that came back."""
    told = []
    for index, action in enumerate(actions(env, first + steps)):
        if index >= first:
            told.append(env.step(action))
    return told


def same(one, other, rows=slice(None)):
    """Tell whether two steps agree bitwise on the given rows."""
    parts = zip(one[:4], other[:4], strict=True)
    return all(np.array_equal(a[rows], b[rows]) for a, b in parts)


def test_two_runs_are_bitwise_equal(make):
    first, second = make(16), make(16)
    assert np.array_equal(first.reset(3), second.reset(3))
    for one, other in zip(roll(first), roll(second), strict=True):
        assert same(one, other)
        assert (one.final_obs is None) == (other.final_obs is None)
        if one.final_obs is not None:
            assert np.array_equal(one.final_obs, other.final_obs)


@pytest.mark.parametrize("count", [1, 3, 17])
def test_a_row_lives_the_same_life_whatever_the_number_of_rows(make, count):
    few, many = make(count), make(64)
    assert np.array_equal(few.reset(9), many.reset(9)[:count])
    ends = 0
    for one, other in zip(roll(few), roll(many), strict=True):
        assert same(one, other, slice(count))
        ends += int((one.terminated | one.truncated).sum())
    assert ends


def test_row_i_is_seeded_with_seed_plus_i(make):
    assert np.array_equal(make(4).reset(100)[3], make(1).reset(103)[0])
    assert not np.array_equal(make(1).reset(1), make(1).reset(2))


def test_a_stored_state_goes_on_bitwise_in_another_object(make):
    env = make(16)
    env.reset(21)
    roll(env, 120)
    stored = env.state_dict()
    kept = {name: values.copy() for name, values in stored.items()}
    going_on = roll(env, STEPS, first=120)
    other = make(16)
    other.reset(4)
    roll(other, 30)
    other.load_state_dict(stored)
    for one, two in zip(going_on, roll(other, STEPS, first=120), strict=True):
        assert same(one, two)
        assert (one.final_obs is None) == (two.final_obs is None)
        for name in one.info:
            assert np.array_equal(one.info[name], two.info[name])
    assert all(np.array_equal(stored[name], kept[name]) for name in kept), "stepping wrote into it"
    assert any(step.final_obs is not None for step in going_on)


def test_a_state_is_arrays_only(make, tmp_path):
    env = make(4)
    np.savez(tmp_path / "state.npz", **env.state_dict())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as read:
        env.load_state_dict(dict(read))


def test_a_state_of_another_number_of_rows_or_task_is_refused(make):
    env = make(4)
    with pytest.raises(IntegrityError, match=r"env\.num_envs"):
        env.load_state_dict(make(5).state_dict())
    with pytest.raises(IntegrityError, match="another task"):
        env.load_state_dict({"somebody": np.zeros(4)})


def test_the_final_observation_is_the_true_last_one(make):
    env = make(16)
    env.reset(2)
    met = 0
    for action in actions(env, STEPS):
        own = env._bounded(action)
        outcome = env.task.advance(np, env.state, own)
        true = env.task.observe(np, outcome.state)
        step = env.step(action)
        ended = np.flatnonzero(step.terminated | step.truncated)
        assert (step.final_obs is None) == (ended.size == 0)
        if ended.size:
            assert np.array_equal(step.final_obs, true[ended])
            assert not np.array_equal(step.obs[ended], true[ended])
            met += 1
        going = np.setdiff1d(np.arange(16), ended)
        assert np.array_equal(step.obs[going], true[going])
    assert met


def test_a_restarted_row_begins_the_episode_that_its_counter_names(make):
    env, again = make(8), make(8)
    env.reset(40)
    for action in actions(env, STEPS):
        step = env.step(action)
        ended = np.flatnonzero(step.terminated | step.truncated)
        if ended.size:
            again._seed, again._episode = env._seed, env._episode
            fresh = env.task.observe(np, again._fresh(ended))
            assert np.array_equal(step.obs[ended], fresh)


def test_an_end_is_terminated_or_truncated_and_never_both(make):
    env = make(32)
    ages = np.zeros(32, dtype=int)
    env.reset(6)
    for step in roll(env):
        ages += 1
        assert not (step.terminated & step.truncated).any()
        assert (ages[step.truncated] == env.max_episode_steps).all()
        assert (ages <= env.max_episode_steps).all()
        ages[step.terminated | step.truncated] = 0


def test_facts_are_of_the_ended_rows(make):
    env = make(32)
    env.reset(6)
    for step in roll(env):
        count = int((step.terminated | step.truncated).sum())
        assert bool(step.info) == (count > 0)
        for name, values in step.info.items():
            assert values.shape == (count,)
            assert values.dtype == (bool if name == "success" else np.float32)


def test_what_was_returned_is_never_written_again_nor_the_action_touched(make):
    env = make(8)
    before = env.reset(1)
    kept = before.copy()
    given = list(actions(env, 40))
    copies = [action.copy() for action in given]
    steps = [env.step(action) for action in given]
    seen = [tuple(part.copy() for part in step[:4]) for step in steps]
    roll(env, 40)
    assert np.array_equal(before, kept)
    assert all(np.array_equal(a, b) for a, b in zip(given, copies, strict=True))
    for step, old in zip(steps, seen, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(step[:4], old, strict=True))


def test_shapes_and_types_are_those_of_the_contract(make):
    env = make(5)
    obs = env.reset(0)
    assert all(env.observation_space.contains(row) for row in obs)
    step = env.step(next(actions(env, 1)))
    assert step.obs.shape == (5, *env.observation_space.shape)
    assert step.obs.dtype == np.float32
    assert step.obs.flags.c_contiguous
    assert step.reward.shape == step.terminated.shape == step.truncated.shape == (5,)
    assert step.reward.dtype == np.float32
    assert step.terminated.dtype == step.truncated.dtype == bool
    assert (env.array, env.device) == ("numpy", "cpu")


@pytest.mark.parametrize("name", ["landing", "cartpole"])
def test_actions_beyond_the_bounds_count_as_the_bounds(name):
    near, far = machine.make(name, 6, {}), machine.make(name, 6, {})
    near.reset(0), far.reset(0)
    signs = np.sign(next(actions(near, 1)))
    for _ in range(5):
        assert same(near.step(signs), far.step(40.0 * signs))


def test_an_unknown_setting_is_named_with_the_nearest_one():
    with pytest.raises(UsageError, match=r"env\.dificulty: .*difficulty"):
        machine.make("landing", 2, {"dificulty": "easy"})
    with pytest.raises(UsageError, match=r"env\.starts\.easy\.hight: .*height"):
        machine.make("landing", 2, {"starts": {"easy": {"hight": [1, 2]}}})
    with pytest.raises(UsageError, match="moonwalk"):
        machine.make("moonwalk", 2, {})
    with pytest.raises(UsageError, match=r"env\.num_envs=0"):
        machine.make("cartpole", 0, {})


def test_a_batch_says_how_fast_its_pictures_run():
    assert machine.make("landing", 1, {}).render_fps == 5
    assert machine.make("cartpole", 1, {}).render_fps == 50
    assert isinstance(machine.make("cartpole", 1, {}), Batch)
