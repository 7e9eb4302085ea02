"""A skid-steer rover on loose and sloping ground, seen from above, N rows at once.

SI units; the state is arrays (N,) on a plane that lies on the ground:

    x, y              m
    heading           rad from the x axis towards the y axis, any number of turns
    rolling, spinning m/s and rad/s that the wheels would give if they did not slip
    speed, turn       m/s forwards and rad/s to the left, as measured over the last step
    grip, turn_grip   what is left of a motion, forwards and turning: 1 less the slip
    rise_x, rise_y    m that the ground rises for one metre along x and along y; none where level

The wheels follow their commands with a first-order lag. Grip and slope do not change within an
episode, and are what a controller has to find out from the motion.

The track is that of a Clearpath Husky, rounded (0.555 m). Turning slip is what makes a skid-steer
vehicle turn as if its track were wider (Mandow et al., Experimental kinematics for wheeled
skid-steer mobile robots, IROS 2007): by a factor of 1.5 for Clearpath's Jackal and of 1.875 for its
Husky, in the maker's settings of the drive, which are slips of 0.33 and 0.47. Slip on a slope is
assumed proportional to its rise: 0.18 at ten degrees, and 0.5, which NASA saw of Opportunity on a
crater's wall (Photojournal PIA06835), at 27.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from srb_train.envs.tasks.arrays import Array

State = dict[str, Array]

HALF_TRACK = 0.25  # m from the middle to the wheels of a side
WHEEL_SPEED = 0.9  # m/s, the most that the rims run
LAG = 0.2  # s in which the wheels' speeds come within 37 % of a step in the command
CREEP = 1.0  # m/s downhill for each m/s of the wheels on a rise of 1


def at_rest(
    xp: Any, pose: Sequence[Array], slips: Sequence[Array], hill: Sequence[Array] | None
) -> State:
    """Return N rovers that stand still.

    `pose` is x, y (m) and heading (rad); `slips` are shares, forwards and turning; `hill` is the
    inclination of the ground and the direction in which it rises (both rad); (N,) each.
    """
    start = {name: part + 0.0 for name, part in zip(("x", "y", "heading"), pose, strict=True)}
    still = {name: 0.0 * pose[2] for name in ("rolling", "spinning", "speed", "turn")}
    state = {**start, **still, "grip": 1.0 - slips[0], "turn_grip": 1.0 - slips[1]}
    if hill is None:
        return state
    rise = xp.tan(hill[0])
    return {**state, "rise_x": rise * xp.cos(hill[1]), "rise_y": rise * xp.sin(hill[1])}


def drive(xp: Any, state: State, rolling: Array, spinning: Array, dt: float) -> State:
    """Return the state after `dt` seconds of (N,) commands to the wheels, in m/s and rad/s.

    Wheels and heading are exact. The position is that of a straight line at the mean speed and
    heading of the step: short of an arc by a share of (angle turned)^2 / 24.
    """
    kept = math.exp(-dt / LAG)
    late, fading, step, half_step = numbers(xp, (1.0 - kept) * LAG / dt, kept, dt, 0.5 * dt)
    roll_lead, spin_lead = state["rolling"] - rolling, state["spinning"] - spinning
    mean_roll, mean_spin = rolling + roll_lead * late, spinning + spin_lead * late
    turn = mean_spin * state["turn_grip"]
    half = turn * half_step
    along = state["heading"] + half
    cos, sin = xp.cos(along), xp.sin(along)
    speed = mean_roll * state["grip"]
    v_x, v_y = speed * cos, speed * sin
    if "rise_x" in state:
        sink_x, sink_y = _creep(xp, state, mean_roll, mean_spin)
        v_x, v_y = v_x - sink_x, v_y - sink_y
        speed = v_x * cos + v_y * sin
    return {
        **state,
        "x": state["x"] + v_x * step,
        "y": state["y"] + v_y * step,
        "heading": along + half,
        "rolling": rolling + roll_lead * fading,
        "spinning": spinning + spin_lead * fading,
        "speed": speed,
        "turn": turn,
    }


def _creep(xp: Any, state: State, rolling: Array, spinning: Array) -> tuple[Array, Array]:
    """Return the velocity up the slope that the wheels lose by working the soil, m/s."""
    half_track, creep = numbers(xp, HALF_TRACK, CREEP)
    # The mean of both sides' rim speeds, be they of one sign or of two.
    work = xp.maximum(abs(rolling), abs(spinning) * half_track) * creep
    return state["rise_x"] * work, state["rise_y"] * work


def rims(state: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the rim speeds of the left and of the right wheels, m/s."""
    apart = HALF_TRACK * state["spinning"]
    return state["rolling"] - apart, state["rolling"] + apart


def numbers(xp: Any, *values: float) -> tuple[Any, ...]:
    """Return constants as what they are multiplied with quickest.

    NumPy takes twice as long for a Python number as for an array without axes.
    """
    return _arrays(values) if xp is np else values


@cache
def _arrays(values: tuple[float, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(value, dtype=np.float32) for value in values)
