"""How the arrays of a step lie in the memory that both sides share, worked out from the spaces."""

import math
import mmap
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.errors import UnsupportedError

ACTION, REWARD, TERMINATED, TRUNCATED = "action", "reward", "terminated", "truncated"
OBS, FINAL = "obs", "final"
"""Prefixes of observations: `obs/` is that of a plain space, `obs/critic` a part of a dict."""
_LINE = 64
"""Bytes that arrays are aligned to: those of a cache line."""


@dataclass(frozen=True)
class Place:
    """Where one array of N rows lies."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def view(self, memory: mmap.mmap) -> np.ndarray:
        """Return the array over the shared memory."""
        return np.ndarray(self.shape, self.dtype, buffer=memory, offset=self.offset)


def places(observation: spaces.Space, action: spaces.Space, num_envs: int) -> dict[str, Place]:
    """Return where every array of a step lies, by name."""
    rows: list[tuple[str, tuple[int, ...], Any]] = [
        (ACTION, _shape(action), action.dtype),
        (REWARD, (), np.float32),
        (TERMINATED, (), np.bool_),
        (TRUNCATED, (), np.bool_),
    ]
    for key, part in parts(observation).items():
        rows += [(f"{place}/{key}", _shape(part), part.dtype) for place in (OBS, FINAL)]
    found: dict[str, Place] = {}
    offset = 0
    for name, shape, dtype in rows:
        place = Place(offset, (num_envs, *shape), np.dtype(dtype))
        found[name] = place
        size = place.dtype.itemsize * math.prod(place.shape)
        offset += -(-size // _LINE) * _LINE
    return found


def size(found: Mapping[str, Place]) -> int:
    """Return how many bytes all the arrays take."""
    last = list(found.values())[-1]
    return last.offset + max(last.dtype.itemsize * math.prod(last.shape), 1)


def parts(space: spaces.Space) -> dict[str, spaces.Space]:
    """Return the spaces of an observation's arrays by key; a plain one has the empty key."""
    return dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}


def joined(space: spaces.Space, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return an observation from its arrays by key."""
    return dict(arrays) if isinstance(space, spaces.Dict) else arrays[""]


def told(space: spaces.Space, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Put a space into plain data and arrays, whose names begin with `name`."""
    if isinstance(space, spaces.Dict):
        inner = {key: told(part, f"{name}/{key}") for key, part in space.spaces.items()}
        arrays = {key: value for _, found in inner.values() for key, value in found.items()}
        return {"dict": {key: fact for key, (fact, _) in inner.items()}}, arrays
    if isinstance(space, spaces.Box):
        return {"box": None}, {f"{name}:low": space.low, f"{name}:high": space.high}
    if isinstance(space, spaces.Discrete):
        return {"discrete": [int(space.n), int(space.start)]}, {}
    if isinstance(space, spaces.MultiDiscrete):
        return {"choices": None}, {f"{name}:counts": space.nvec, f"{name}:starts": space.start}
    if isinstance(space, spaces.MultiBinary):
        return {"binary": list(_shape(space))}, {}
    raise UnsupportedError(f"{space} cannot be passed on from another interpreter")


def space_of(fact: Mapping[str, Any], name: str, arrays: Mapping[str, np.ndarray]) -> spaces.Space:
    """Return the space that `told` has put into words."""
    ((kind, value),) = fact.items()
    if kind == "dict":
        inner = {key: space_of(part, f"{name}/{key}", arrays) for key, part in value.items()}
        # A plain dict would be put into the order of its keys.
        return spaces.Dict(OrderedDict(inner))
    if kind == "box":
        low = arrays[f"{name}:low"]
        return spaces.Box(low, arrays[f"{name}:high"], dtype=low.dtype.type)
    if kind == "discrete":
        return spaces.Discrete(value[0], start=value[1])
    if kind == "choices":
        counts = arrays[f"{name}:counts"]
        return spaces.MultiDiscrete(counts, counts.dtype.type, start=arrays[f"{name}:starts"])
    return spaces.MultiBinary(value)


def keyed(observation: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of an observation by key."""
    if isinstance(observation, Mapping):
        yield from observation.items()
    else:
        yield "", observation


def _shape(space: spaces.Space) -> tuple[int, ...]:
    if space.shape is None:
        raise UnsupportedError(f"{space} has no fixed shape")
    return tuple(space.shape)
