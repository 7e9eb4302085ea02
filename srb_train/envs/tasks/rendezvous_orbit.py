"""Relative motion of two satellites on nearly the same circular orbit, N rows at once.

Hill's frame: the origin is the target, x points away from the Earth, y along the track, z across
it. For distances that are small against the orbit's radius, Clohessy and Wiltshire ("Terminal
guidance system for satellite rendezvous", J. Aerospace Sciences 27, 1960) have

    x'' = 3 n^2 x + 2 n y' + a_x      y'' = -2 n x' + a_y      z'' = -n^2 z + a_z

with the orbit's mean motion n. The equations are linear, so a step with constant acceleration has
a closed form and no integration error. SI units; the last axis of every array is the row.
"""

import math
from typing import Any

import numpy as np

from srb_train.envs.tasks.arrays import Array, like

EARTH_MU = 3.986004418e14  # m^3/s^2, WGS 84
EARTH_RADIUS = 6378.137e3  # m, WGS 84, at the equator


def mean_motion(altitude: float) -> float:
    """Return the angular rate in rad/s of a circular orbit `altitude` m above the equator."""
    return math.sqrt(EARTH_MU / (EARTH_RADIUS + altitude) ** 3)


def changes(rate: float, dt: float) -> np.ndarray:
    """Return (8, 6, 1): what x, z, the velocity and the acceleration add to the six in `dt`.

    It is the transition matrix less the identity: in float32 the gravity gradient of one second,
    2e-6 of x, is lost beside a one, but not when it is added to x by itself.
    """
    sin, turned = math.sin(rate * dt), rate * dt
    drop = 2.0 * math.sin(0.5 * turned) ** 2  # 1 - cos
    lag = turned - sin
    n, square = rate, rate * rate
    drift, pull = (4.0 * sin - 3.0 * turned) / n, 4.0 * drop / square - 1.5 * dt * dt
    table = [
        [3.0 * drop, -6.0 * lag, 0.0, 3.0 * n * sin, -6.0 * n * drop, 0.0],
        [0.0, 0.0, -drop, 0.0, 0.0, -n * sin],
        [sin / n, -2.0 * drop / n, 0.0, -drop, -2.0 * sin, 0.0],
        [2.0 * drop / n, drift, 0.0, 2.0 * sin, -4.0 * drop, 0.0],
        [0.0, 0.0, sin / n, 0.0, 0.0, -drop],
        [drop / square, -2.0 * lag / square, 0.0, sin / n, -2.0 * drop / n, 0.0],
        [2.0 * lag / square, pull, 0.0, 2.0 * drop / n, drift, 0.0],
        [0.0, 0.0, drop / square, 0.0, 0.0, sin / n],
    ]
    return np.array(table)[:, :, None]


def move(
    xp: Any, position: Array, velocity: Array, push: Array, table: np.ndarray
) -> tuple[Array, Array]:
    """Return position and velocity, (3, N) each, after a step of constant acceleration `push`.

    `table` is that of `changes`. The eight parts are added pairwise, so a row's bits do not
    depend on N, as those of a matrix product would.
    """
    parts = xp.concatenate([position[::2], velocity, push])
    eight = like(xp, position, table) * parts[:, None]
    four = eight[:4] + eight[4:]
    two = four[:2] + four[2:]
    gained = two[0] + two[1]
    return position + gained[:3], velocity + gained[3:]


def tide(xp: Any, position: Array, velocity: Array, rate: float) -> Array:
    """Return the (3, N) acceleration in m/s^2 that a free satellite has in Hill's frame."""
    x, _, z = position
    v_x, v_y, _ = velocity
    square = rate * rate
    return xp.stack([3.0 * square * x + 2.0 * rate * v_y, -2.0 * rate * v_x, -square * z])
