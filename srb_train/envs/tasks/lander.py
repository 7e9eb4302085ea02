"""Flight mechanics of a lunar lander: one rigid body, six degrees of freedom, N rows at once.

World axes: z up, origin on the ground at the centre of the pad. Body axes: z along the main thrust,
origin at the centre of mass. SI units. `attitude` is the unit quaternion (w, x, y, z) from body to
world, `rate` the body's angular velocity in body axes; the last axis of every array is the row.

Vehicle: Astrobotic's Peregrine: 1283 kg at launch of which 450 kg propellant, five main engines of
667 N and twelve attitude thrusters of 45 N. Specific impulses are assumed (MON-25/MMH class), and
so is the inertia: a cylinder of 1.25 m radius and 1.9 m height with 870 kg.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from srb_train.envs.tasks.arrays import Array, like, rows

State = dict[str, Array]

GRAVITY = 1.62  # m/s^2, the Moon's
STANDARD_GRAVITY = 9.80665  # m/s^2, the one in specific impulse
DRY_MASS = 833.0  # kg
THRUST = 3335.0  # N, all five main engines
MAIN_IMPULSE = 310.0  # s
ATTITUDE_IMPULSE = 280.0  # s
ATTITUDE_ARM = 1.0  # m, of the couples that attitude thrusters make
TORQUE_LIMITS = (200.0, 200.0, 60.0)  # N m: differential main throttle and attitude couples
INERTIA = (600.0, 600.0, 680.0)  # kg m^2 at INERTIA_MASS; it grows with the mass
INERTIA_MASS = 870.0  # kg
FOOT_RADIUS = 1.0  # m: feet at (+-1, +-1, -1) m from the centre of mass
FOOT_DEPTH = 1.0  # m
FULL_TANK = 45.0  # kg of propellant that count as a full tank

SOFT_DOWN = 2.0  # m/s, what the legs take
SOFT_SIDE = 1.2  # m/s
SOFT_TILT = math.radians(10.0)
SOFT_RATE = 0.5  # rad/s
PAD_RADIUS = 10.0  # m; a success is within it

_WOBBLE = (INERTIA[0] - INERTIA[2]) / INERTIA[0]
_TINY = 1e-9


class Wrench(NamedTuple):
    """What the engines do to the body, in body axes."""

    force: tuple[Array | None, Array | None, Array]
    """N along x, y and z, (N,) each; x and y are None where there is none by design."""
    torque: Array
    """(3, N) N m about x, y and z."""
    flow: Array
    """(N,) kg/s of propellant."""


Engines = Callable[[Any, State, "Axes"], Wrench]
"""(xp, state, axes) -> wrench; asked anew at every physics step, as the inner loops are."""


class Axes(NamedTuple):
    """The entries of the body-to-world rotation that flight needs, (N,) each."""

    thrust_x: Array
    thrust_y: Array
    thrust_z: Array
    """The body's z axis in the world; the last is the cosine of the tilt."""
    up_x: Array
    up_y: Array
    """The world's z axis in the body, without its third component, which is `thrust_z`."""


def axes(xp: Any, attitude: Array) -> Axes:
    """Return the third column and row of the rotation matrix of unit quaternions (4, N)."""
    w, x, y, z = attitude * (2.0**0.5)
    wx, wy, xz, yz = w * x, w * y, x * z, y * z
    return Axes(xz + wy, yz - wx, 1.0 - (x * x + y * y), xz - wy, yz + wx)


def clearance(height: Array, turned: Axes) -> Array:
    """Return the height in m of the lowest foot for that of the centre of mass."""
    reach = FOOT_RADIUS * (abs(turned.up_x) + abs(turned.up_y)) + FOOT_DEPTH * turned.thrust_z
    return height - reach


def fly(xp: Any, state: State, engines: Engines, dt: float, steps: int) -> tuple[State, Axes]:
    """Fly for `steps` physics steps of `dt` seconds, each row until a foot touches the ground.

    From touchdown on a row's clock stands still, so its state is that of the first physics step
    with a foot in the ground. Second order in dt: thrust along the mean of the old and the new
    axis over the mean mass, exact rotation by the mean rate.
    """
    turned = axes(xp, state["attitude"])
    clock = state["propellant"] * 0.0 + dt
    for step in range(steps):
        if step:
            clock = clock * (clearance(state["position"][2], turned) > 0.0)
        state, turned = _step(xp, state, turned, engines(xp, state, turned), clock)
    attitude = state["attitude"]
    w, x, y, z = attitude
    length = xp.sqrt(w * w + x * x + y * y + z * z)
    return {**state, "attitude": attitude / length}, turned


def _step(xp: Any, state: State, before: Axes, wrench: Wrench, dt: Array) -> tuple[State, Axes]:
    propellant = state["propellant"]
    wanted = wrench.flow * dt
    burnt = xp.minimum(wanted, propellant)
    share = burnt / (wanted + _TINY)
    mass = DRY_MASS + propellant - 0.5 * burnt
    impulse = dt * share / mass

    rate, mean = _spin(xp, state["rate"], wrench.torque, impulse * INERTIA_MASS, dt)
    attitude = _turn(xp, state["attitude"], mean, dt)
    after = axes(xp, attitude)
    if wrench.force[0] is None:
        gain = wrench.force[2] * impulse
        pushed = _mean_axis(xp, before, after, gain)
    else:
        pushed = _push(xp, state["attitude"] + attitude, wrench.force, impulse)
    change = rows(xp, [pushed[0], pushed[1], pushed[2] - GRAVITY * dt])
    velocity = state["velocity"]
    return {
        **state,
        "position": state["position"] + (velocity + 0.5 * change) * dt,
        "velocity": velocity + change,
        "attitude": attitude,
        "rate": rate,
        "propellant": propellant - burnt,
    }, after


def _mean_axis(xp: Any, before: Axes, after: Axes, gain: Array) -> tuple[Array, Array, Array]:
    half = 0.5 * gain
    return (
        half * (before.thrust_x + after.thrust_x),
        half * (before.thrust_y + after.thrust_y),
        half * (before.thrust_z + after.thrust_z),
    )


def _push(
    xp: Any, twice_mean: Array, force: tuple[Any, Any, Array], impulse: Array
) -> tuple[Array, Array, Array]:
    """Turn a body force into the world at the mean of two attitudes, given as their sum."""
    w, x, y, z = twice_mean
    scale = impulse / (w * w + x * x + y * y + z * z)
    f, g, h = force[0] * scale, force[1] * scale, force[2] * scale
    # v' = (w^2 - u.u) v + 2 (u.v) u + 2 w (u x v) for a quaternion (w, u) of any length
    along = 2.0 * (x * f + y * g + z * h)
    keep, cross = w * w - (x * x + y * y + z * z), 2.0 * w
    return (
        keep * f + along * x + cross * (y * h - z * g),
        keep * g + along * y + cross * (z * f - x * h),
        keep * h + along * z + cross * (x * g - y * f),
    )


def _spin(
    xp: Any, rate: Array, torque: Array, gain: Array, dt: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    """Euler's equations for a body that is symmetric about z, by the implicit midpoint rule.

    Returns the new rate (3, N) and the mean one over the step; a free spin keeps its energy.
    """
    x, y, z = rate + torque * like(xp, rate, _half_inverse_inertia()) * gain
    couple = z * dt * (0.5 * _WOBBLE)
    shrink = 1.0 / (couple * couple + 1.0)
    mean = ((x + couple * y) * shrink, (y - couple * x) * shrink, z)
    return 2.0 * rows(xp, mean) - rate, mean


@cache
def _half_inverse_inertia() -> np.ndarray:
    return np.array([[0.5 / inertia] for inertia in INERTIA], dtype=np.float32)


def _turn(xp: Any, attitude: Array, rate: tuple[Array, Array, Array], dt: Array) -> Array:
    """Rotate quaternions (4, N) by constant body rates during dt, exactly."""
    p, q, r = rate
    speed = xp.sqrt(p * p + q * q + r * r + 1e-12)
    angle = speed * (0.5 * dt)
    cos, sin = xp.cos(angle), xp.sin(angle) / speed
    p, q, r = p * sin, q * sin, r * sin
    w, x, y, z = attitude
    return rows(
        xp,
        [
            w * cos - x * p - y * q - z * r,
            x * cos + w * p + y * r - z * q,
            y * cos + w * q + z * p - x * r,
            z * cos + w * r + x * q - y * p,
        ],
    )
