"""Landing: bring a lunar lander down onto its pad, slowly, upright, and before the tank is dry.

An episode starts tens of metres up (see `STARTS`) and ends when a foot touches the ground, or when
the lander strays or tips over. It is a success if the touchdown was soft and near the pad: at most
2 m/s down, 1.2 m/s sideways, 10 degrees of tilt and 0.5 rad/s, as in the Apollo lunar module's
specification (10 ft/s, 4 ft/s). The physics are those of `lander`, whatever the difficulty.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tasks import lander, lander_controls, landing_view, settings
from srb_train.envs.tasks.arrays import Array, like, rows
from srb_train.envs.tasks.batch import Outcome, Scene, State
from srb_train.errors import UsageError

LOST_DISTANCE = 250.0  # m from the pad
LOST_HEIGHT = 400.0  # m
LOST_UPRIGHT = -0.2  # cosine of the tilt

OBSERVATION_SIZE = 17
DRAWS = 15


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where episodes begin: uniform ranges, symmetric about zero where one number is given."""

    offset: float
    """m from the pad along x and y, both ways."""
    height: tuple[float, float]
    """m of the centre of mass."""
    side_speed: float
    """m/s along x and y, both ways."""
    sink_speed: tuple[float, float]
    """m/s downwards."""
    tilt: float
    """Degrees of roll and of pitch, both ways; the heading is any."""
    rate: float
    """Degrees a second about each axis, both ways."""
    propellant: tuple[float, float]
    """kg."""


def starts() -> dict[str, Start]:
    """Return the start ranges of each difficulty."""
    return {
        "easy": Start(
            offset=30.0,
            height=(40.0, 70.0),
            side_speed=3.0,
            sink_speed=(3.0, 7.0),
            tilt=15.0,
            rate=8.0,
            propellant=(30.0, 45.0),
        ),
        "full": Start(
            offset=40.0,
            height=(80.0, 150.0),
            side_speed=4.0,
            sink_speed=(4.0, 10.0),
            tilt=20.0,
            rate=10.0,
            propellant=(30.0, 45.0),
        ),
    }


def build(params: Mapping[str, Any]) -> "Landing":
    """Return the task for the keys of its preset."""
    ranges = {
        name: settings.build(Start, start, f"env.starts.{name}")
        for name, start in params.get("starts", {}).items()
    }
    return settings.build(Landing, {**params, "starts": {**starts(), **ranges}})


@dataclass(frozen=True, kw_only=True)
class Landing:
    """The task's settings, checked, and its physics as pure functions (see `batch.Task`)."""

    difficulty: str = "easy"
    control: str = "attitude"
    control_hz: float = 5.0
    physics_hz: float = 20.0
    time_limit: float = 60.0
    thrust_error: float = 0.0
    """Half width of the main engines' relative thrust, drawn once an episode."""
    impulse_error: float = 0.0
    """Half width of their relative specific impulse."""
    starts: Mapping[str, Start] = field(default_factory=starts)

    draws = DRAWS

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be flown."""
        _choice("difficulty", self.difficulty, self.starts)
        _choice("control", self.control, lander_controls.SIZES)
        steps = self.physics_hz / self.control_hz
        if steps < 1 or steps != round(steps):
            raise UsageError(
                f"env.physics_hz={self.physics_hz:g} is no multiple of "
                f"env.control_hz={self.control_hz:g}: a control step is whole physics steps"
            )
        if self.max_episode_steps < 1:
            raise UsageError(f"env.time_limit={self.time_limit:g} is shorter than a control step")

    @property
    def control_dt(self) -> float:
        """Seconds of one control step."""
        return 1.0 / self.control_hz

    @cached_property
    def max_episode_steps(self) -> int:
        """Control steps until the time limit."""
        return round(self.time_limit * self.control_hz)

    @cached_property
    def observation_space(self) -> spaces.Box:
        """Seventeen unbounded numbers, of order one."""
        return spaces.Box(-np.inf, np.inf, (OBSERVATION_SIZE,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Commands in [-1, 1]; see `lander_controls` for their meaning."""
        return spaces.Box(-1.0, 1.0, (lander_controls.SIZES[self.control],), np.float32)

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest value and the width, (DRAWS, 1) each, of what an episode draws."""
        start, engine = self.starts[self.difficulty], (self.thrust_error, self.impulse_error)
        tilt, rate = math.radians(start.tilt), math.radians(start.rate)
        low_sink, high_sink = start.sink_speed
        bounds = [
            *[(-start.offset, start.offset)] * 2,
            start.height,
            *[(-start.side_speed, start.side_speed)] * 2,
            (-high_sink, -low_sink),
            *[(-tilt, tilt)] * 2,
            (-math.pi, math.pi),
            *[(-rate, rate)] * 3,
            start.propellant,
            *[(1.0 - error, 1.0 + error) for error in engine],
        ]
        low, high = np.array(bounds, dtype=np.float32).T[:, :, None]
        return low, high - low

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes."""
        low, width = (like(xp, uniform, part) for part in self._range)
        drawn = low + width * uniform
        flow = lander.THRUST / (lander.MAIN_IMPULSE * lander.STANDARD_GRAVITY)
        return {
            "position": drawn[0:3],
            "velocity": drawn[3:6],
            "attitude": _quaternion(xp, drawn[6], drawn[7], drawn[8]),
            "rate": drawn[9:12],
            "propellant": drawn[12],
            "main_thrust": drawn[13] * lander.THRUST,
            "main_flow": drawn[13] / drawn[14] * flow,
            "throttle": drawn[12] * 0.0,
        }

    def observe(self, xp: Any, state: State) -> Array:
        """Return (N, 17), the same whichever way the lander is headed; body axes unless said.

        0:3 pad from the lander, m/50     3:6 velocity, m/s/10     6:9 world's up
        9:12 angular rate, rad/s          12 height of the feet's plane, m/50     13 h/(h + 5 m)
        14 d/(d + 5 m), d the horizontal distance to the pad
        15 vertical speed, m/s/5          16 propellant/45 kg
        """
        x, y, z = state["position"]
        velocity, (p, q, r) = state["velocity"], state["rate"]
        height = z - lander.FOOT_DEPTH
        distance = xp.sqrt(x * x + y * y)
        matrix = rotation(state["attitude"])
        pad_x, pad_y, pad_z = _to_body(matrix, state["position"] * -0.02)
        v_x, v_y, v_z = _to_body(matrix, velocity * 0.1)
        up_x, up_y, up_z = matrix[2]
        columns = [pad_x, pad_y, pad_z, v_x, v_y, v_z, up_x, up_y, up_z, p, q, r]
        columns += [height * 0.02, height / (abs(height) + 5.0), distance / (distance + 5.0)]
        columns += [velocity[2] * 0.2, state["propellant"] * (1.0 / lander.FULL_TANK)]
        return rows(xp, columns).T

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Fly for one control step and judge it."""
        engines, throttle = lander_controls.engines(self.control, xp, action, state)
        steps = round(self.physics_hz / self.control_hz)
        after, turned = lander.fly(xp, state, engines, 1.0 / self.physics_hz, steps)
        after["throttle"] = throttle
        judged = _judge(xp, after, turned)
        reward = self._reward(xp, state, after, judged)
        facts = {
            "success": judged["success"],
            "touchdown_speed": judged["speed"],
            "miss_distance": judged["distance"],
            "propellant_left": after["propellant"],
        }
        return Outcome(after, reward, judged["down"] | judged["lost"], facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene."""
        return landing_view.draw(scenes)

    def _reward(self, xp: Any, before: State, after: State, judged: dict[str, Array]) -> Array:
        """Progress to the pad, less the distance from a reachable descent; then the touchdown.

        0.4 a metre nearer the pad, -0.05 a kg, -`strain` a second; soft touchdown: 5 + 15 / (1 +
        d / 5 m) at distance d; hard one: -(1 + (|v| + 4 tilt + 2 |w|) / 2), not below -30, so that
        a harder one is always worse and a nearly soft one cheap; lost: -30.
        """
        x, y, _ = before["position"]
        distance, speed = judged["distance"], judged["speed"]
        gain = 0.4 * (xp.sqrt(x * x + y * y) - distance)
        gain = gain - 0.05 * (before["propellant"] - after["propellant"])
        gain = gain - self.control_dt * strain(xp, after, judged)
        hard = xp.clip(1.0 + 0.5 * (speed + 4.0 * judged["tilt"] + 2.0 * judged["rate"]), 0.0, 30.0)
        ending = xp.where(judged["soft"], 5.0 + 15.0 / (1.0 + distance * 0.2), -hard)
        ending = xp.where(judged["lost"], -30.0, ending)
        return gain + (judged["down"] | judged["lost"]) * ending


def braking(xp: Any, height: Array) -> Array:
    """Return the vertical velocity (m/s) of a descent that brakes at 0.4 m/s^2 from 8 m/s."""
    return -xp.clip(xp.sqrt(abs(height) * 0.8 + 0.25), 0.0, 8.0)


def homing(xp: Any, distance: Array) -> Array:
    """Return the speed (m/s) to the pad per metre of distance, of a flight at 0.3 m/s^2."""
    speed = 0.6 * distance / xp.sqrt(0.6 * distance + 1.0)
    return xp.clip(speed, 0.0, 6.0) / (distance + 1e-3)


def strain(xp: Any, state: State, judged: dict[str, Array]) -> Array:
    """Return how far a state is from a reachable descent, in [0, 1) a second.

    The velocity error counts twice: e / (e + 1.5) for precision, min(e / 10, 1) so that a large
    error still has a slope; else hovering far up is as good as anything near it.
    """
    position, velocity = state["position"], state["velocity"]
    distance = judged["distance"]
    pull = homing(xp, distance)
    side_x = velocity[0] + pull * position[0]
    side_y = velocity[1] + pull * position[1]
    side = xp.sqrt(side_x * side_x + side_y * side_y)
    down = abs(velocity[2] - braking(xp, position[2] - lander.FOOT_DEPTH))
    error = side / (side + 1.5) + down / (down + 1.5)
    far = xp.clip(side * 0.1, 0.0, 1.0) + xp.clip(down * 0.1, 0.0, 1.0)
    tilt, rate = judged["tilt"], judged["rate"]
    return 0.2 * (error + far) + 0.1 * (tilt / (tilt + 0.5) + rate / (rate + 0.3))


def _judge(xp: Any, state: State, turned: lander.Axes) -> dict[str, Array]:
    """Return what a state amounts to: distances and speeds (N,), and what has happened."""
    (x, y, z), (v_x, v_y, v_z), (p, q, r) = (
        state[name] for name in ("position", "velocity", "rate")
    )
    side = v_x * v_x + v_y * v_y
    distance = xp.sqrt(x * x + y * y)
    rate = xp.sqrt(p * p + q * q + r * r)
    tilt = xp.arccos(xp.clip(turned.thrust_z, -1.0, 1.0))
    down = lander.clearance(z, turned) <= 0.0
    soft = down & (abs(v_z) <= lander.SOFT_DOWN) & (side <= lander.SOFT_SIDE**2)
    soft = soft & (tilt <= lander.SOFT_TILT) & (rate <= lander.SOFT_RATE)
    lost = (distance > LOST_DISTANCE) | (z > LOST_HEIGHT) | (turned.thrust_z < LOST_UPRIGHT)
    return {
        "distance": distance,
        "speed": xp.sqrt(side + v_z * v_z),
        "tilt": tilt,
        "rate": rate,
        "down": down,
        "soft": soft,
        "lost": lost,
        "success": soft & (distance <= lander.PAD_RADIUS),
    }


def _quaternion(xp: Any, roll: Array, pitch: Array, yaw: Array) -> Array:
    """Return (4, N) unit quaternions of roll, then pitch, then yaw, about fixed axes."""
    cr, sr = xp.cos(0.5 * roll), xp.sin(0.5 * roll)
    cp, sp = xp.cos(0.5 * pitch), xp.sin(0.5 * pitch)
    cy, sy = xp.cos(0.5 * yaw), xp.sin(0.5 * yaw)
    return rows(
        xp,
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
    )


def rotation(attitude: Array) -> tuple[tuple[Array, Array, Array], ...]:
    """Return the rows of the body-to-world rotation."""
    w, x, y, z = attitude * (2.0**0.5)
    wx, wy, wz = w * x, w * y, w * z
    xx, xy, xz = x * x, x * y, x * z
    yy, yz, zz = y * y, y * z, z * z
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def _to_body(
    matrix: tuple[tuple[Array, Array, Array], ...], world: Array
) -> tuple[Array, Array, Array]:
    x, y, z = world
    first, second, third = matrix
    a, b, c = (first[i] * x + second[i] * y + third[i] * z for i in range(3))
    return a, b, c


def _choice(key: str, value: str, known: Mapping[str, Any]) -> None:
    if value not in known:
        raise UsageError(f"env.{key}={value}: one of {', '.join(known)}")
