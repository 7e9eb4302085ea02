"""How observations and actions of any Gymnasium space reach a learner."""

import numpy as np
import pytest
from gymnasium import spaces as gs
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from hypothesis import given
from hypothesis import strategies as st

from srb_train.envs.gymnasium import spaces
from srb_train.errors import UnsupportedError

OBSERVATIONS = {
    "float64": gs.Box(-np.inf, np.inf, (3,), np.float64),
    "one number": gs.Box(-1.0, 1.0, (), np.float32),
    "whole numbers": gs.Box(-5, 5, (2, 2), np.int64),
    "pixels": gs.Box(0, 255, (4, 5, 3), np.uint8),
    "memory": gs.Box(0, 255, (16,), np.uint8),
    "choice": gs.Discrete(5, start=-2),
    "choices": gs.MultiDiscrete([2, 3], start=[1, 4]),
    "bits": gs.MultiBinary((2, 3)),
    "pair": gs.Tuple((gs.Discrete(3), gs.Box(0.0, 1.0, (2,), np.float32))),
    "nest": gs.Dict(b=gs.Dict(c=gs.Discrete(2), d=gs.MultiBinary(2)), a=gs.Box(0, 1, (1,))),
}


def batched(space, samples):
    return concatenate(space, samples, create_empty_array(space, n=len(samples)))


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_batches_and_rows_read_alike_and_lie_in_the_space(name):
    space = OBSERVATIONS[name]
    space.seed(0)
    samples = [space.sample() for _ in range(4)]
    reader = spaces.observation_reader(space)
    batch, one_by_one = reader.batch(batched(space, samples)), reader.rows(samples)
    parts = batch.items() if isinstance(batch, dict) else [("", batch)]
    for key, value in parts:
        other = one_by_one[key] if isinstance(batch, dict) else one_by_one
        assert value.dtype == other.dtype and np.array_equal(value, other)
        part = reader.space[key] if isinstance(batch, dict) else reader.space
        assert all(part.contains(row) for row in value)


def test_choices_are_one_hot():
    one = spaces.observation_reader(gs.Discrete(3, start=5))
    assert one.batch(np.array([5, 7])).tolist() == [[1, 0, 0], [0, 0, 1]]
    two = spaces.observation_reader(gs.MultiDiscrete([2, 3]))
    assert two.batch(np.array([[1, 0]])).tolist() == [[0, 1, 1, 0, 0]]
    assert two.space.shape == (5,)


def test_only_pixels_stay_bytes():
    assert spaces.observation_reader(OBSERVATIONS["pixels"]).space.dtype == np.uint8
    assert spaces.observation_reader(OBSERVATIONS["memory"]).space.dtype == np.float32


def test_bounds_beyond_float32_are_infinite():
    wide = spaces.observation_reader(gs.Box(-1e300, 1.0, (2,), np.float64)).space
    assert wide.low.tolist() == [-np.inf, -np.inf] and wide.high.tolist() == [1.0, 1.0]


def test_a_batch_is_always_copied():
    for name in ("pixels", "float64", "bits"):
        space = OBSERVATIONS[name]
        batch = batched(space, [space.sample()])
        assert not np.shares_memory(spaces.observation_reader(space).batch(batch), batch)


@pytest.mark.parametrize(
    "space", [gs.Text(3), gs.Sequence(gs.Discrete(2)), gs.Dict(a=gs.Text(3)), gs.Dict()]
)
def test_observations_without_a_fixed_shape_are_refused(space):
    with pytest.raises(UnsupportedError):
        spaces.observation_reader(space)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(-3.0, 3.0))
def test_scaled_actions_stay_in_bounds_and_reach_both(low, width, action):
    box = gs.Box(np.float32(low), np.float32(low + width), (2,), np.float32)
    seen, write = spaces.action_writer(box, rescale=True)
    assert (seen.low == -1).all() and (seen.high == 1).all()
    written = write(np.full((1, 2), action, np.float32))
    assert box.contains(written[0])
    assert np.allclose(write(np.array([[-1.0, 1.0]]))[0], [box.low[0], box.high[1]], rtol=1e-6)


def test_a_box_between_minus_one_and_one_is_left_exactly_alone():
    write = spaces.action_writer(gs.Box(-1.0, 1.0, (3,), np.float32), rescale=True)[1]
    batch = np.random.default_rng(0).uniform(-1, 1, (50, 3)).astype(np.float32)
    assert np.array_equal(write(batch), batch)
    assert not np.shares_memory(write(batch), batch)


def test_without_scaling_actions_keep_their_units_and_are_clipped():
    box = gs.Box(np.array([-2.0, 0.0]), np.array([2.0, np.inf]), dtype=np.float64)
    for rescale in (True, False):
        seen, write = spaces.action_writer(box, rescale=rescale)
        assert seen.high.tolist() == [2.0, np.inf] and seen.dtype == np.float32
        assert write(np.array([[-5.0, 7.0]], np.float32)).tolist() == [[-2.0, 7.0]]
        assert write(np.array([[-5.0, 7.0]], np.float32)).dtype == np.float64


def test_a_bound_as_large_as_floats_go_is_no_bound():
    most = np.finfo(np.float32).max
    seen, write = spaces.action_writer(gs.Box(-most, most, (1,), np.float32), rescale=True)
    assert seen.high[0] == most
    assert write(np.array([[3.5]], np.float32)).tolist() == [[3.5]]


def test_whole_numbers_are_rounded_and_a_single_number_is_a_vector():
    write = spaces.action_writer(gs.Box(0, 255, (1,), np.uint8), rescale=True)[1]
    assert write(np.array([[-1.0], [0.0], [1.0]])).ravel().tolist() == [0, 128, 255]
    seen, write = spaces.action_writer(gs.Box(-2.0, 2.0, (), np.float32), rescale=True)
    assert seen.shape == (1,)
    assert write(np.array([[0.5], [-1.0]], np.float32)).tolist() == [1.0, -2.0]


def test_choices_count_from_zero_for_the_learner():
    seen, write = spaces.action_writer(gs.Discrete(3, start=10), rescale=True)
    assert seen == gs.Discrete(3)
    assert write(np.array([0, 2])).tolist() == [10, 12]
    seen, write = spaces.action_writer(gs.MultiDiscrete([2, 4], start=[1, 5]), rescale=True)
    assert seen == gs.MultiDiscrete([2, 4])
    assert write(np.array([[0, 3]])).tolist() == [[1, 8]]
    bits = gs.MultiBinary(3)
    seen, write = spaces.action_writer(bits, rescale=True)
    assert seen == bits and bits.contains(write(np.array([[0.0, 1.0, 1.0]]))[0])


def test_every_written_batch_suits_gymnasium():
    for space in (gs.Box(-3.0, 1.0, (2,), np.float64), gs.Discrete(4), gs.MultiDiscrete([2, 2])):
        seen, write = spaces.action_writer(space, rescale=True)
        seen.seed(0)
        assert batch_space(space, 3).contains(write(np.stack([seen.sample() for _ in range(3)])))


def test_composite_actions_are_refused_with_a_way_out():
    with pytest.raises(UnsupportedError, match="wrap the environment"):
        spaces.action_writer(gs.Dict(a=gs.Discrete(2)), rescale=True)
