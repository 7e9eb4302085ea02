"""What an action commands: four ways to fly the lander, from an autopilot's to every single engine.

attitude   throttle, roll and pitch angle, yaw rate; an attitude loop inside gives the rates
rates      throttle and three body rates; a rate loop inside gives the torques
torque     throttle and three torques
thrusters  each of five main engines and twelve attitude thrusters; below zero is off
"""

from collections.abc import Callable
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np

from srb_train.envs.tasks import lander
from srb_train.envs.tasks.arrays import Array, clip, like, rows
from srb_train.envs.tasks.lander import Axes, Engines, State, Wrench

SIZES = {"attitude": 4, "rates": 4, "torque": 4, "thrusters": 17}

TILT_COMMAND = 0.45  # rad
RATE_LIMIT = 0.35  # rad/s, of roll and pitch
YAW_COMMAND = 0.1  # rad/s: slow, or a spinning vehicle homes badly
ATTITUDE_GAIN = 1.5  # 1/s
RATE_TIME = 0.2  # s

_ATTITUDE_FLOW = 1.0 / (lander.ATTITUDE_ARM * lander.ATTITUDE_IMPULSE * lander.STANDARD_GRAVITY)

# Offset from the middle of the ring of feet in m, direction of the exhaust, thrust in N.
MAIN_ENGINES = (
    (0.0, 0.0, 0.4448, 0.0, 0.0, -1.0, 667.0),
    (-0.21766, -0.21766, 0.4448, 0.0, 0.0, -1.0, 667.0),
    (-0.21766, 0.21766, 0.4448, 0.0, 0.0, -1.0, 667.0),
    (0.21766, -0.21766, 0.4448, 0.0, 0.0, -1.0, 667.0),
    (0.21766, 0.21766, 0.4448, 0.0, 0.0, -1.0, 667.0),
)
ATTITUDE_THRUSTERS = (
    (0.0038, -0.5947, 0.569, 0.0, 0.0, -1.0, 45.0),
    (-0.09, -0.647, 0.652, -0.7, -1.0, 0.0, 45.0),
    (0.0942, -0.651, 0.6524, 0.7, -1.0, 0.0, 45.0),
    (0.0038, 0.5947, 0.569, 0.0, 0.0, -1.0, 45.0),
    (-0.09, 0.647, 0.652, -0.7, 1.0, 0.0, 45.0),
    (0.0942, 0.651, 0.6524, 0.7, 1.0, 0.0, 45.0),
    (-1.05112, -0.00187, 1.7737, 0.0, 0.0, 1.0, 45.0),
    (-1.1074, 0.088521, 1.69, -1.0, 0.7, 0.0, 45.0),
    (-1.1034, -0.095625, 1.69067, -1.0, -0.7, 0.0, 45.0),
    (1.05112, -0.00187, 1.7737, 0.0, 0.0, 1.0, 45.0),
    (1.1074, 0.088521, 1.69, 1.0, 0.7, 0.0, 45.0),
    (1.1034, -0.095625, 1.69067, 1.0, -0.7, 0.0, 45.0),
)

Control = Callable[[Any, Array, State], tuple[Engines, Array]]


def engines(control: str, xp: Any, action: Array, state: State) -> tuple[Engines, Array]:
    """Return what the engines do under an action (A, N) in [-1, 1], and the main throttle (N,)."""
    controls: dict[str, Control] = {
        "attitude": _attitude,
        "rates": _rates,
        "torque": _torque,
        "thrusters": _thrusters,
    }
    return controls[control](xp, action, state)


def attitude_rates(xp: Any, angles: Array, turned: Axes) -> Array:
    """Return the rates (2, N) in rad/s that the attitude loop asks for; (2, N) rad wanted."""
    error = angles - rows(xp, [turned.up_y, -turned.up_x])
    return clip(xp, error * ATTITUDE_GAIN, *_limits(RATE_LIMIT))


def rate_torques(xp: Any, wanted: Array, state: State) -> Array:
    """Return the torques (3, N) in N m that the rate loop asks for, within the actuators' limits.

    `wanted` is (3, N) rad/s.
    """
    mass = lander.DRY_MASS + state["propellant"]
    full, gain = (like(xp, wanted, part) for part in _loop())
    return clip(xp, (wanted - state["rate"]) * gain * mass, *_limits(1.0)) * full


@cache
def _loop() -> tuple[np.ndarray, np.ndarray]:
    """Return the torque limits (3, 1) and the rate loop's gains as shares of them, a kilogram."""
    full = np.array([[limit] for limit in lander.TORQUE_LIMITS])
    gain = np.array([[inertia / RATE_TIME / lander.INERTIA_MASS] for inertia in lander.INERTIA])
    return full.astype(np.float32), (gain / full).astype(np.float32)


@cache
def _limits(limit: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array(-limit, dtype=np.float32), np.array(limit, dtype=np.float32)


def _wrench(throttle: Array, torque: Array, state: State) -> Wrench:
    x, y, z = abs(torque)
    flow = throttle * state["main_flow"] + (x + y + z) * _ATTITUDE_FLOW
    return Wrench((None, None, throttle * state["main_thrust"]), torque, flow)


def _throttle(action: Array) -> Array:
    return 0.5 * action[0] + 0.5


def _attitude(xp: Any, action: Array, state: State) -> tuple[Engines, Array]:
    throttle, angles, yaw = _throttle(action), action[1:3] * TILT_COMMAND, action[3] * YAW_COMMAND

    def run(xp: Any, state: State, turned: Axes) -> Wrench:
        wanted = rows(xp, [*attitude_rates(xp, angles, turned), yaw])
        return _wrench(throttle, rate_torques(xp, wanted, state), state)

    return run, throttle


def _rates(xp: Any, action: Array, state: State) -> tuple[Engines, Array]:
    throttle = _throttle(action)
    wanted = rows(xp, [action[1] * RATE_LIMIT, action[2] * RATE_LIMIT, action[3] * YAW_COMMAND])
    return lambda xp, state, turned: _wrench(
        throttle, rate_torques(xp, wanted, state), state
    ), throttle


def _torque(xp: Any, action: Array, state: State) -> tuple[Engines, Array]:
    throttle = _throttle(action)
    torque = action[1:4] * like(xp, action, _loop()[0])
    return lambda xp, state, turned: _wrench(throttle, torque, state), throttle


def _thrusters(xp: Any, action: Array, state: State) -> tuple[Engines, Array]:
    opened = xp.clip(action, 0.0, 1.0)
    mains, small = len(MAIN_ENGINES), len(ATTITUDE_THRUSTERS)
    thrust_gain = state["main_thrust"] * (1.0 / lander.THRUST)
    valves = [opened[place] * thrust_gain for place in range(mains)]
    valves += [opened[mains + place] for place in range(small)]
    throttle = reduce(add, [opened[place] for place in range(mains)]) * (1.0 / mains)
    newtons = reduce(add, valves[mains:]) * ATTITUDE_THRUSTERS[0][-1]
    flow = throttle * state["main_flow"] + newtons * (
        1.0 / (lander.ATTITUDE_IMPULSE * lander.STANDARD_GRAVITY)
    )
    fx, fy, fz, tx, ty, tz = (
        reduce(add, [part * valve for part, valve in zip(row, valves, strict=True) if part])
        for row in thruster_matrix()
    )
    wrench = Wrench((fx, fy, fz), rows(xp, [tx, ty, tz]), flow)
    return lambda xp, state, turned: wrench, throttle


@cache
def thruster_matrix() -> tuple[tuple[float, ...], ...]:
    """Return 6 x 17: force (N) and torque (N m) about the centre of mass of each open engine."""
    columns = [_column(*row) for row in MAIN_ENGINES + ATTITUDE_THRUSTERS]
    return tuple(zip(*columns, strict=True))


def _column(*engine: float) -> tuple[float, ...]:
    x, y, z, *exhaust, newtons = engine
    z -= lander.FOOT_DEPTH
    length = sum(part * part for part in exhaust) ** 0.5
    fx, fy, fz = (-newtons * part / length for part in exhaust)
    return fx, fy, fz, y * fz - z * fy, z * fx - x * fz, x * fy - y * fx
