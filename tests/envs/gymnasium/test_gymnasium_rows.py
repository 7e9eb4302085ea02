"""The exact state of a row: restored elsewhere, it goes on bit for bit."""

import importlib.util
from contextlib import closing

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import ClipReward
from hypothesis import given, settings
from hypothesis import strategies as st

from srb_train.envs.gymnasium import machine, rows

CLASSIC = [
    "Acrobot-v1",
    "CartPole-v0",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
]
OWN = ["faults:ConstantReward-v0", "faults:DictObs-v0"]
MUJOCO = [
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
]
needs_mujoco = pytest.mark.skipif(
    importlib.util.find_spec("mujoco") is None, reason="mujoco is not installed"
)


def play(env, count, seed):
    env.action_space.seed(seed)
    results = []
    for _ in range(count):
        action = np.stack([env.action_space.sample() for _ in range(env.num_envs)])
        results.append(env.step(action))
    return results


def assert_same(left, right):
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_same(left[key], right[key])
    elif left is None:
        assert right is None
    else:
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def assert_goes_on(name, tmp_path, before, after, limit=None):
    """Restore into an object that did something else, through a file, and compare each step."""
    params = {} if limit is None else {"max_episode_steps": limit}
    with (
        closing(machine.make(name, 3, params)) as env,
        closing(machine.make(name, 3, params)) as other,
    ):
        env.reset(11)
        play(env, before, seed=0)
        np.savez(tmp_path / "state.npz", **env.state_dict())
        expected = play(env, after, seed=1)
        other.reset(500)
        play(other, 7, seed=2)
        with np.load(tmp_path / "state.npz", allow_pickle=False) as stored:
            other.load_state_dict(dict(stored))
        ended = 0
        for left, right in zip(expected, play(other, after, seed=1), strict=True):
            for part, twin in zip(left, right, strict=True):
                assert_same(part, twin)
            ended += 0 if left.final_obs is None else len(left.final_obs)
        assert ended, "no episode ended, so neither limits nor generators were tested"


@pytest.mark.parametrize("before", [0, 1, 13, 40])
@pytest.mark.parametrize("name", CLASSIC + OWN)
def test_a_restored_task_goes_on_bit_for_bit(name, before, tmp_path):
    assert_goes_on(name, tmp_path, before, after=60, limit=25)


@needs_mujoco
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MUJOCO)
def test_a_restored_mujoco_task_goes_on_bit_for_bit(name, tmp_path):
    assert_goes_on(name, tmp_path, before=37, after=45, limit=30)


def test_a_state_can_be_loaded_into_rows_that_were_never_reset():
    with (
        closing(machine.make("CartPole-v1", 2, {})) as env,
        closing(machine.make("CartPole-v1", 2, {})) as fresh,
    ):
        env.reset(0)
        play(env, 5, seed=0)
        fresh.load_state_dict(env.state_dict())
        for left, right in zip(play(env, 40, seed=1), play(fresh, 40, seed=1), strict=True):
            assert_same(left.obs, right.obs)


# Importing Box2D dies where its deprecation warning is an error.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["LunarLander-v3", "FrozenLake-v1"])
def test_a_task_whose_state_is_not_known_says_so(name):
    with closing(machine.make(name, 2, {})) as env:
        env.reset(0)
        assert env.state_dict() is None


def test_a_subclass_or_an_unknown_wrapper_may_hold_more_so_its_state_is_not_known():
    class Heavier(gymnasium.envs.classic_control.CartPoleEnv):
        """A pole with a secret."""

    heavier = Heavier()
    heavier.reset(seed=0)
    assert rows.capture(heavier) is None
    wrapped = ClipReward(gymnasium.make("CartPole-v1"), 0.0, 1.0)
    wrapped.reset(seed=0)
    assert rows.capture(wrapped) is None
    assert rows.capture(wrapped.env) is not None


def test_a_generator_of_another_kind_is_not_restored():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    env.unwrapped.np_random = np.random.Generator(np.random.MT19937(0))
    assert rows.capture(env) is None


def test_a_generator_in_the_middle_of_a_word_is_restored():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    env.unwrapped.np_random.integers(0, 10, dtype=np.uint32)
    state = rows.capture(env)
    expected = env.unwrapped.np_random.integers(0, 1000, 20, dtype=np.uint32)
    rows.restore(env, state)
    assert np.array_equal(env.unwrapped.np_random.integers(0, 1000, 20, dtype=np.uint32), expected)


arrays = st.one_of(st.floats(width=32).map(np.float32), st.floats().map(np.float64), st.just(None))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(arrays, arrays), min_size=1, max_size=6))
def test_splitting_gives_back_what_was_joined(values):
    before = [
        {key: np.array(value) for key, value in zip("ab", pair, strict=True) if value is not None}
        for pair in values
    ]
    joined = rows.stacked(before)
    after = rows.unstacked(joined, len(before))
    for left, right in zip(before, after, strict=True):
        assert_same(left, right)


def test_rows_of_different_shapes_have_no_joint_state():
    assert rows.stacked([{"a": np.zeros(2)}, {"a": np.zeros(3)}]) is None
