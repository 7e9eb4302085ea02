"""Rows of observations, be these arrays or a dict of them: what rooms do with them alike."""

from collections.abc import Mapping
from typing import Any

from srb_train.contracts import Array


def cut(seen: Array, count: int) -> tuple[Array, Array]:
    """Return the first `count` rows of observations, and the others."""
    if isinstance(seen, Mapping):
        head = {key: part[:count] for key, part in seen.items()}
        return head, {key: part[count:] for key, part in seen.items()}
    return seen[:count], seen[count:]


def put(obs: Any, rows: Array, fresh: Any) -> None:
    """Write observations (K, *obs) into the K rows of others (N, *obs), in place."""
    if isinstance(obs, Mapping):
        for key, part in obs.items():
            part[rows] = fresh[key]
    else:
        obs[rows] = fresh
