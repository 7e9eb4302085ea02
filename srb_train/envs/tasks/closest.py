"""How near two moving points come to each other within one control step.

A step that is judged at its end only lets a fast craft pass through what it should hit.
"""

from typing import Any

import numpy as np

from srb_train.envs.tasks.arrays import Array, clip

_LEAST, _MOST = np.array(-1.0, dtype=np.float32), np.array(0.0, dtype=np.float32)
_TINY = 1e-12


def dot(one: Array, other: Array) -> Array:
    """Return the (...) scalar products of vectors (3, ...), added in one order."""
    x, y, z = one * other
    return x + y + z


def length(xp: Any, vector: Array) -> Array:
    """Return the (...) lengths of vectors (3, ...)."""
    return xp.sqrt(dot(vector, vector))


def nearest(xp: Any, before: Array, after: Array) -> Array:
    """Return the (...) least distance to the origin on straight ways between points (3, ...)."""
    way = after - before
    share = dot(before, way) / (dot(way, way) + _TINY)
    return length(xp, before - clip(xp, share, _LEAST, _MOST) * way)
