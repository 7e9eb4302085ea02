"""Rendezvous: bring a small satellite to the docking port of another one, and touch it slowly.

Both fly on a circular orbit round the Earth, with the relative motion of `rendezvous_orbit`: what
is ahead on the track and left alone does not stay there. The target holds its attitude in Hill's
frame, and its port looks along the track. The chaser's attitude is held by its wheels, so its
thrusters push along the frame's axes. Its position is that of its docking probe. See
`rendezvous_satellites` for what they are.

Over 512 episodes doing nothing returns -30.9 (easy) and -33.4 (full), acting at random -42.2 and
-44.3, and neither docks; `rendezvous_pilot` returns 20.3 and 22.4 and always docks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tasks import rendezvous_orbit, rendezvous_view, settings
from srb_train.envs.tasks import rendezvous_satellites as satellites
from srb_train.envs.tasks.arrays import Array, clip, like
from srb_train.envs.tasks.batch import Outcome, Scene, State
from srb_train.envs.tasks.closest import length, nearest
from srb_train.errors import UsageError

CONTACT_PACE = 0.02  # m/s, of the approach that the reward asks for
SLOWED = 0.3  # m from the port, where it has come down to that pace
BRAKING = 0.005  # m/s^2, an eighth of what the thrusters give
FASTEST = 0.5  # m/s

OBSERVATION_SIZE = 11
DRAWS = 9

_POINTS = np.array([[[0.0], [0.0]], [[satellites.PORT], [0.0]], [[0.0], [0.0]]], dtype=np.float32)
_ONE = np.array(1.0, dtype=np.float32)
_WORST = np.array(10.0, dtype=np.float32)
_PACES = (np.array(CONTACT_PACE**2, dtype=np.float32), np.array(FASTEST**2, dtype=np.float32))
_PACE_AT_PORT = CONTACT_PACE**2 - 2.0 * BRAKING * SLOWED
_TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where episodes begin: uniform ranges, symmetric about zero where one number is given."""

    side: float
    """m from the port's axis, radially and across the track, both ways."""
    ahead: tuple[float, float]
    """m ahead of the target's centre."""
    side_speed: float
    """m/s radially and across the track, both ways."""
    ahead_speed: float
    """m/s along the track, both ways."""
    propellant: tuple[float, float]
    """kg."""
    lost: float
    """m from the port at which an episode ends in failure."""


def starts() -> dict[str, Start]:
    """Return the start ranges of each difficulty."""
    return {
        "easy": Start(
            side=5.0,
            ahead=(12.0, 25.0),
            side_speed=0.05,
            ahead_speed=0.1,
            propellant=(0.08, 0.12),
            lost=60.0,
        ),
        "full": Start(
            side=15.0,
            ahead=(25.0, 60.0),
            side_speed=0.1,
            ahead_speed=0.15,
            propellant=(0.08, 0.12),
            lost=150.0,
        ),
    }


def build(params: Mapping[str, Any]) -> "Rendezvous":
    """Return the task for the keys of its preset."""
    given = params.get("starts", {}).items()
    ranges = {name: settings.build(Start, start, f"env.starts.{name}") for name, start in given}
    return settings.build(Rendezvous, {**params, "starts": {**starts(), **ranges}})


@dataclass(frozen=True, kw_only=True)
class Rendezvous:
    """The task's settings, checked, and its physics as pure functions (see `batch.Task`)."""

    difficulty: str = "easy"
    altitude: float = 500.0
    """km of the orbit above the equator."""
    control_hz: float = 1.0
    time_limit: float = 300.0
    thrust_error: float = 0.0
    """Half width of the thrusters' relative thrust, drawn once an episode."""
    impulse_error: float = 0.0
    """Half width of their relative specific impulse."""
    starts: Mapping[str, Start] = field(default_factory=starts)

    draws = DRAWS

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be flown."""
        if self.difficulty not in self.starts:
            known = ", ".join(self.starts)
            raise UsageError(f"env.difficulty={self.difficulty}: one of {known}")
        if self.control_hz <= 0:
            raise UsageError(f"env.control_hz={self.control_hz:g}: actions a second, as 1")
        if self.max_episode_steps < 1:
            raise UsageError(f"env.time_limit={self.time_limit:g} is shorter than a control step")
        if self.altitude <= 0:
            raise UsageError(f"env.altitude={self.altitude:g}: km above the ground, as 500")

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
        """Eleven unbounded numbers, of order one."""
        return spaces.Box(-np.inf, np.inf, (OBSERVATION_SIZE,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Thrust along x (up), y (along the track) and z (across), 1 being 0.5 N."""
        return spaces.Box(-1.0, 1.0, (3,), np.float32)

    @cached_property
    def mean_motion(self) -> float:
        """The orbit's angular rate in rad/s."""
        return rendezvous_orbit.mean_motion(1000.0 * self.altitude)

    @cached_property
    def _changes(self) -> np.ndarray:
        return rendezvous_orbit.changes(self.mean_motion, self.control_dt).astype(np.float32)

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest value and the width, (DRAWS, 1) each, of what an episode draws."""
        start = self.starts[self.difficulty]
        across = (-start.side_speed, start.side_speed)
        side = (-start.side, start.side)
        bounds = [
            *(side, start.ahead, side),
            *(across, (-start.ahead_speed, start.ahead_speed), across),
            start.propellant,
            (1.0 - self.thrust_error, 1.0 + self.thrust_error),
            (1.0 - self.impulse_error, 1.0 + self.impulse_error),
        ]
        low, high = np.array(bounds, dtype=np.float32).T[:, :, None]
        return low, high - low

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes."""
        low, width = (like(xp, uniform, part) for part in self._range)
        drawn = low + width * uniform
        return {
            "position": drawn[0:3],
            "velocity": drawn[3:6],
            "propellant": drawn[6],
            "thrust": drawn[7] * satellites.THRUST,
            "flow": drawn[7]
            / drawn[8]
            * (satellites.THRUST / (satellites.IMPULSE * satellites.STANDARD_GRAVITY)),
            "firing": drawn[3:6] * 0.0,
        }

    def observe(self, xp: Any, state: State) -> Array:
        """Return (N, 11), in Hill's frame.

        0-2 way to the port / 50 m; 3-5 its hyperbolic tangents, of metres; 6-8 velocity / (1/3
        m/s); 9 propellant / 0.1 kg; 10 d / (d + 2 m) of the distance to the port.
        """
        way = -_from_port(xp, state["position"])
        distance = length(xp, way)
        last = [state["propellant"][None] * 10.0, (distance / (distance + 2.0))[None]]
        return xp.concatenate([way * 0.02, xp.tanh(way), state["velocity"] * 3.0, *last]).T

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Do one control step; `action` is (3, N) in [-1, 1]."""
        after = self._fly(xp, state, action)
        judged = _judge(xp, state, after, self.starts[self.difficulty].lost)
        reward = self._reward(xp, state, after, judged)
        facts = {
            "success": judged["docked"],
            "contact_speed": judged["speed"],
            "miss_distance": judged["distance"],
            "propellant_left": after["propellant"],
        }
        return Outcome(after, reward, judged["contact"] | judged["lost"], facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene."""
        return rendezvous_view.draw(scenes)

    def _fly(self, xp: Any, state: State, action: Array) -> State:
        """Burn what the tank still holds, at the mean mass, and move for one control step."""
        x, y, z = abs(action)
        wanted = (x + y + z) * state["flow"] * self.control_dt
        burnt = xp.minimum(wanted, state["propellant"])
        share = burnt / (wanted + _TINY)
        mass = state["propellant"] - 0.5 * burnt + satellites.DRY_MASS
        firing = action * share
        push = firing * (state["thrust"] / mass)
        position, velocity = rendezvous_orbit.move(
            xp, state["position"], state["velocity"], push, self._changes
        )
        return {
            **state,
            "position": position,
            "velocity": velocity,
            "propellant": state["propellant"] - burnt,
            "firing": firing,
        }

    def _reward(self, xp: Any, before: State, after: State, judged: dict[str, Array]) -> Array:
        """Progress to the port, less propellant and the distance from a reachable approach.

        0.1 a metre nearer the port, -10 a kg, -`strain` a second; docked: 20; touched faster or
        elsewhere: -(1 + 5 |v|), not below -10, so that a nearly soft touch is cheap to try; lost:
        -15, which is worse than to stay away. No end is worth so much that it drowns the rest.
        """
        burnt = before["propellant"] - after["propellant"]
        gain = 0.1 * (judged["distance_before"] - judged["distance"]) - 10.0 * burnt
        gain = gain - self.control_dt * strain(xp, after, judged["distance"])
        speed = judged["speed"]
        hard = xp.minimum(speed * 5.0 + 1.0, like(xp, speed, _WORST))
        ending = xp.where(judged["docked"], 20.0, -hard)
        ending = xp.where(judged["lost"], -15.0, ending)
        return gain + (judged["contact"] | judged["lost"]) * ending


def closing(xp: Any, distance: Array) -> Array:
    """Return the speed (m/s) of an approach that brakes at 5 mm/s^2 and touches at 20 mm/s."""
    return xp.sqrt(clip(xp, distance * (2.0 * BRAKING) + _PACE_AT_PORT, *_PACES))


def strain(xp: Any, state: State, distance: Array) -> Array:
    """Return the cost a second, below 0.15, of flying otherwise than `closing` at the port.

    The velocity error e counts twice: e / (e + 0.1 m/s) for precision, min(e / 1 m/s, 1) so that a
    large error still has a slope.
    """
    pull = closing(xp, distance) / (distance + _TINY)
    error = length(xp, state["velocity"] + _from_port(xp, state["position"]) * pull)
    return error / (error + 0.1) * 0.09 + xp.minimum(error, like(xp, error, _ONE)) * 0.06


def _from_port(xp: Any, position: Array) -> Array:
    return position - like(xp, position, _POINTS[:, 0])


def _judge(xp: Any, before: State, after: State, lost: float) -> dict[str, Array]:
    """Return what a step amounts to: distances and the speed (N,), and what has happened.

    Contact is anywhere on the straight way of the step; its speed is that of the step's end.
    """
    points = like(xp, after["position"], _POINTS)
    old, new = before["position"][:, None] - points, after["position"][:, None] - points
    port, centre = nearest(xp, old, new)
    touched, struck = port < satellites.CAPTURE_REACH, centre < satellites.HULL
    speed, distance = length(xp, after["velocity"]), length(xp, new[:, 0])
    return {
        "distance_before": length(xp, old[:, 0]),
        "distance": distance,
        "speed": speed,
        "contact": touched | struck,
        "docked": touched & ~struck & (speed < satellites.CAPTURE_SPEED),
        "lost": distance > lost,
    }
