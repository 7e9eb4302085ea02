"""Gymnasium spaces as a learner wants them: float32 vectors, one-hot choices, scaled actions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.errors import UnsupportedError

Convert = Callable[[np.ndarray], np.ndarray]
Path = tuple[str | int, ...]

_ENDLESS = 1e30
"""The largest float stands for infinity in many environments, so bounds from here on are none."""


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One array of an observation: where it lies, its space for the learner, and the way there."""

    path: Path
    space: spaces.Space
    convert: Convert
    """(N, *raw) -> (N, *space.shape), always a fresh array."""

    @property
    def key(self) -> str:
        """The name in a flat dict observation; nested keys are joined by a slash."""
        return "/".join(str(part) for part in self.path)


@dataclass(frozen=True, kw_only=True)
class ObservationReader:
    """Turns what Gymnasium returns for N rows into one array, or into a flat dict of arrays."""

    leaves: Sequence[Leaf]

    @property
    def space(self) -> spaces.Space:
        """The space of one row's observation."""
        if self._single:
            return self.leaves[0].space
        return spaces.Dict({leaf.key: leaf.space for leaf in self.leaves})

    @property
    def _single(self) -> bool:
        return self.leaves[0].path == ()

    def batch(self, values: Any) -> Any:
        """Read N observations that lie in batched arrays."""
        if self._single:
            return self.leaves[0].convert(values)
        return {leaf.key: leaf.convert(_pick(values, leaf.path)) for leaf in self.leaves}

    def rows(self, values: Sequence[Any]) -> Any:
        """Read K observations that lie one by one in a sequence."""
        read = {
            leaf.key: leaf.convert(np.stack([_pick(value, leaf.path) for value in values]))
            for leaf in self.leaves
        }
        return read[""] if self._single else read


def observation_reader(space: spaces.Space) -> ObservationReader:
    """Plan the reading of observations; a space without fixed arrays is an `UnsupportedError`."""
    leaves = _leaves(space, ())
    if not leaves:
        raise UnsupportedError(f"the observation space {space} is empty")
    return ObservationReader(leaves=leaves)


def action_writer(space: spaces.Space, *, rescale: bool) -> tuple[spaces.Space, Convert]:
    """Return the learner's action space and the way from its actions to the environment's.

    Box actions are clipped into their bounds; with `rescale`, a bounded Box is seen as [-1, 1].
    Choices count from 0, whatever the environment counts from. Every result is a fresh array.
    """
    if isinstance(space, spaces.Box):
        return _box_writer(space, rescale)
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return spaces.Discrete(int(space.n)), lambda batch: batch.astype(np.int64) + start
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        starts = space.start.astype(np.int64)
        return spaces.MultiDiscrete(space.nvec), lambda batch: batch.astype(np.int64) + starts
    if isinstance(space, spaces.MultiBinary):
        return space, lambda batch: batch.astype(np.int8)
    raise UnsupportedError(
        f"no algorithm can act in {space}; wrap the environment so that it takes Box, Discrete, "
        "MultiDiscrete or MultiBinary actions"
    )


def _pick(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _leaves(space: spaces.Space, path: Path) -> list[Leaf]:
    children: Mapping[str, spaces.Space] | Mapping[int, spaces.Space] | None = None
    if isinstance(space, spaces.Dict):
        children = space.spaces
    elif isinstance(space, spaces.Tuple):
        children = dict(enumerate(space.spaces))
    if children is None:
        seen, convert = _leaf(space)
        return [Leaf(path=path, space=seen, convert=convert)]
    return [leaf for key, child in children.items() for leaf in _leaves(child, (*path, key))]


def _leaf(space: spaces.Space) -> tuple[spaces.Space, Convert]:
    if isinstance(space, spaces.Box):
        return _box_leaf(space)
    if isinstance(space, spaces.Discrete):
        return _one_hot(np.array([space.n]), np.array([space.start]))
    if isinstance(space, spaces.MultiDiscrete):
        return _one_hot(space.nvec.ravel(), space.start.ravel())
    if isinstance(space, spaces.MultiBinary):
        return spaces.Box(0.0, 1.0, space.shape, np.float32), lambda b: b.astype(np.float32)
    raise UnsupportedError(
        f"observations of {space} have no fixed shape; wrap the environment so that it gives "
        "Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple observations"
    )


def _box_leaf(space: spaces.Box) -> tuple[spaces.Space, Convert]:
    """Pixels stay uint8, everything else is float32; a single number is a vector of one."""
    if space.dtype == np.uint8 and len(space.shape) > 1:
        return space, lambda batch: batch.copy()
    if space.shape:
        return _float32_box(space), lambda batch: batch.astype(np.float32)
    return _float32_box(space), lambda batch: batch.astype(np.float32).reshape(-1, 1)


def _one_hot(counts: np.ndarray, starts: np.ndarray) -> tuple[spaces.Space, Convert]:
    """One float for each choice; several choices lie one after the other."""
    owner = np.repeat(np.arange(len(counts)), counts)
    choice = np.concatenate([np.arange(count) for count in counts]) + starts[owner]

    def convert(batch: np.ndarray) -> np.ndarray:
        flat = batch.reshape(len(batch), -1)
        hot: np.ndarray = flat[:, owner] == choice
        return hot.astype(np.float32)

    return spaces.Box(0.0, 1.0, (len(owner),), np.float32), convert


def _box_writer(space: spaces.Box, rescale: bool) -> tuple[spaces.Space, Convert]:
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    whole = np.dtype(space.dtype).kind in "iu"

    def fit(wanted: np.ndarray) -> np.ndarray:
        inside = _between(wanted, low, high)
        exact: np.ndarray = (np.rint(inside) if whole else inside).astype(space.dtype)
        # The cast may leave the bounds by half a unit in the last place.
        return exact if whole else _between(exact, space.low, space.high)

    if rescale and max(np.abs(low).max(), np.abs(high).max()) < _ENDLESS:
        half, middle = 0.5 * (high - low), 0.5 * (high + low)

        def scaled(batch: np.ndarray) -> np.ndarray:
            return fit(batch.reshape(-1, *space.shape) * half + middle)

        return spaces.Box(-1.0, 1.0, space.shape or (1,), np.float32), scaled
    return _float32_box(space), lambda batch: fit(batch.reshape(-1, *space.shape))


def _between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    # Two ufuncs take half the time of np.clip on arrays of this size.
    inside: np.ndarray = np.minimum(np.maximum(values, low), high)
    return inside


def _float32_box(space: spaces.Box) -> spaces.Box:
    """Return the same bounds in float32, with at least one dimension."""
    shape = space.shape or (1,)
    # Bounds beyond float32 are infinite for every practical purpose.
    with np.errstate(over="ignore"):
        low, high = (bound.astype(np.float32).reshape(shape) for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=np.float32)
