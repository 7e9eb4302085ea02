"""Orbital evasion: cross a field of drifting rocks without touching one, and stop behind it.

Frame: x runs from the start to the goal, 50 m away; y and z are across. The craft is a ball
of 0.3 m that holds its attitude and pushes along the frame's axes, at up to 0.5 m/s^2 each, until
its velocity change is spent. All bodies fly straight but for the craft's thrust: the tide, 2e-4
m/s^2 at 50 m in a low orbit (3 n^2 x), is left out; it would be a third of a metre in a minute.
Rocks pass through each other. Where they lie is drawn by `orbital_evasion_field`.

Over 512 episodes doing nothing returns -12.0 (easy) and -12.1 (full), acting at random -24.5 and
-23.1, and neither arrives; flying straight at the goal, blind, arrives in 62 and 35 % of them, and
`orbital_evasion_pilot` in 100 and 98 %, with returns of 22.8 and 21.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tasks import orbital_evasion_field, orbital_evasion_view, settings
from srb_train.envs.tasks.arrays import Array, clip, like
from srb_train.envs.tasks.batch import Outcome, Scene, State
from srb_train.envs.tasks.closest import dot, length, nearest
from srb_train.envs.tasks.orbital_evasion_field import (
    ACCELERATION,
    CRAFT,
    GOAL,
    GOAL_REACH,
    GOAL_SPEED,
    SAFE,
)
from srb_train.errors import UsageError

LOST_DISTANCE = 100.0  # m from the goal
FASTEST = 2.0  # m/s, of the flight that the reward asks for
BRAKING = 0.2  # m/s^2

SEEN = 6
"""Rocks in the observation: those of the least clearance, in that order."""
OBSERVATION_SIZE = 9 + 4 * SEEN
BOXES = 1024
"""Layouts of rocks; mirrored three ways, eight times as many."""

_NONE, _ONE = np.array(0.0, dtype=np.float32), np.array(1.0, dtype=np.float32)
_FASTEST_SQUARE = np.array(FASTEST**2, dtype=np.float32)
_GOAL = np.array([[GOAL], [0.0], [0.0]], dtype=np.float32)
_TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Field:
    """What lies in the way: uniform ranges, symmetric about zero where one number is given."""

    rocks: int
    radius: tuple[float, float]
    """m."""
    spacing: float
    """m between two centres at the start, at least."""
    along: tuple[float, float]
    """m from the start, along the way, between which the centres lie."""
    across: float
    """m of the centres off the way, both ways along y and z."""
    drift: float
    """m/s of a rock along each axis, both ways."""
    start: float
    """m of the craft off the origin along each axis, both ways."""
    velocity_change: tuple[float, float]
    """m/s that the propellant gives, added up over the axes."""


def fields() -> dict[str, Field]:
    """Return the field of each difficulty."""
    return {
        "easy": Field(
            rocks=12,
            radius=(1.5, 2.5),
            spacing=7.0,
            along=(8.0, 42.0),
            across=10.0,
            drift=0.1,
            start=2.0,
            velocity_change=(25.0, 30.0),
        ),
        "full": Field(
            rocks=16,
            radius=(1.5, 3.5),
            spacing=7.0,
            along=(7.0, 43.0),
            across=10.0,
            drift=0.1,
            start=2.0,
            velocity_change=(15.0, 25.0),
        ),
    }


def build(params: Mapping[str, Any]) -> "OrbitalEvasion":
    """Return the task for the keys of its preset."""
    given = params.get("fields", {}).items()
    told = {name: settings.build(Field, one, f"env.fields.{name}") for name, one in given}
    return settings.build(OrbitalEvasion, {**params, "fields": {**fields(), **told}})


@dataclass(frozen=True, kw_only=True)
class OrbitalEvasion:
    """The task's settings, checked, and its physics as pure functions (see `batch.Task`)."""

    difficulty: str = "easy"
    control_hz: float = 2.5
    time_limit: float = 60.0
    fields: Mapping[str, Field] = field(default_factory=fields)

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be flown."""
        if self.difficulty not in self.fields:
            known = ", ".join(self.fields)
            raise UsageError(f"env.difficulty={self.difficulty}: one of {known}")
        if self.control_hz <= 0:
            raise UsageError(f"env.control_hz={self.control_hz:g}: actions a second, as 2.5")
        if self._field.rocks < SEEN:
            where = f"env.fields.{self.difficulty}.rocks"
            raise UsageError(f"{where}={self._field.rocks}: at least {SEEN}, which are seen")
        if self.max_episode_steps < 1:
            raise UsageError(f"env.time_limit={self.time_limit:g} is shorter than a control step")

    @property
    def _field(self) -> Field:
        """The field of the chosen difficulty."""
        return self.fields[self.difficulty]

    @cached_property
    def draws(self) -> int:
        """A box, three mirrors, the start, the propellant; drift and radius of each rock."""
        return 8 + 4 * self._field.rocks

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
        """Thirty-three unbounded numbers, of order one."""
        return spaces.Box(-np.inf, np.inf, (OBSERVATION_SIZE,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Acceleration along x, y and z, 1 being 0.5 m/s^2."""
        return spaces.Box(-1.0, 1.0, (3,), np.float32)

    @cached_property
    def _boxes(self) -> np.ndarray:
        """(3, rocks, BOXES) centres of rocks about the middle of the field."""
        told = self._field
        low, high = told.along
        half = np.array([0.5 * (high - low), told.across, told.across])
        return orbital_evasion_field.throw(BOXES, told.rocks, told.spacing, half)

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest value and the width, (draws - 4, 1) each, of what is drawn from a range."""
        told = self._field
        bounds = [
            *[(-told.start, told.start)] * 3,
            told.velocity_change,
            *[(-told.drift, told.drift)] * (3 * told.rocks),
            *[told.radius] * told.rocks,
        ]
        low, high = np.array(bounds, dtype=np.float32).T[:, :, None]
        return low, high - low

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes, at rest."""
        rocks = self._field.rocks
        low, width = (like(xp, uniform, part) for part in self._range)
        drawn = low + width * uniform[4:]
        return {
            "position": drawn[0:3],
            "velocity": drawn[0:3] * 0.0,
            "velocity_left": drawn[3],
            "rocks": self._layout(xp, uniform[:4]),
            "drift": drawn[4 : 4 + 3 * rocks].reshape(3, rocks, -1),
            "radius": drawn[4 + 3 * rocks :],
            "firing": drawn[0:3] * 0.0,
        }

    def _layout(self, xp: Any, uniform: Array) -> Array:
        """Return (3, rocks, N) centres: the box that the first number picks, mirrored."""
        index = xp.asarray(uniform[0] * BOXES, dtype=xp.int32)
        sides = 2.0 * xp.asarray(uniform[1:, None] < 0.5, dtype=xp.float32) - 1.0
        places = like(xp, uniform, self._boxes)[:, :, index] * sides
        low, high = self._field.along
        middle = like(xp, uniform, np.array([[[0.5 * (low + high)]], [[0.0]], [[0.0]]], "f4"))
        return places + middle

    def observe(self, xp: Any, state: State) -> Array:
        """Return (N, 33).

        0-2 way to the goal / 50 m; 3-5 velocity / 2.5 m/s; 6 d / (d + 5 m) of the distance to the
        goal; 7 speed / 2.5 m/s; 8 velocity change left / 10 m/s; then for each of the six rocks of
        the least clearance c its direction times 1 / (1 + c / 5 m), and c / (c + 5 m).
        """
        way = like(xp, state["position"], _GOAL) - state["position"]
        distance, speed = length(xp, way), length(xp, state["velocity"])
        own = [distance / (distance + 5.0), speed * 0.4, state["velocity_left"] * 0.1]
        seen = _seen(xp, state)
        return xp.concatenate([way * 0.02, state["velocity"] * 0.4, xp.stack(own), seen]).T

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Do one control step; `action` is (3, N) in [-1, 1]."""
        after = self._fly(xp, state, action)
        judged = _judge(xp, state, after)
        reward = self._reward(xp, after, judged)
        facts = {
            "success": judged["arrived"],
            "clearance": judged["clearance"],
            "miss_distance": judged["distance"],
            "velocity_left": after["velocity_left"],
        }
        ended = judged["struck"] | judged["arrived"] | judged["lost"]
        return Outcome(after, reward, ended, facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene."""
        return orbital_evasion_view.draw(scenes)

    def _fly(self, xp: Any, state: State, action: Array) -> State:
        """Move the craft, with what the propellant still gives, and the rocks; both exactly."""
        dt, left = self.control_dt, state["velocity_left"]
        x, y, z = abs(action)
        wanted = (x + y + z) * (ACCELERATION * dt)
        spent = xp.minimum(wanted, left)
        firing = action * (spent / (wanted + _TINY))
        gained = firing * (ACCELERATION * dt)
        return {
            **state,
            "position": state["position"] + (state["velocity"] + 0.5 * gained) * dt,
            "velocity": state["velocity"] + gained,
            "velocity_left": left - spent,
            "rocks": state["rocks"] + state["drift"] * dt,
            "firing": firing,
        }

    def _reward(self, xp: Any, after: State, judged: dict[str, Array]) -> Array:
        """Progress to the goal, less thrust, closeness to rocks and idling; then the end.

        0.3 a metre nearer the goal; a second costs 0.03 |a|^2 (1 being full thrust along an axis),
        0.25 (1 - c / 2 m) at a clearance c below 2 m, and `strain`; arrived: 10; struck or lost:
        -10.
        """
        near = clip(xp, judged["clearance"] * (-1.0 / SAFE) + 1.0, _NONE, _ONE)
        cost = 0.25 * near + 0.03 * dot(after["firing"], after["firing"])
        cost = cost + strain(xp, after, judged["way"], judged["distance"])
        gain = 0.3 * (judged["distance_before"] - judged["distance"]) - self.control_dt * cost
        gain = xp.where(judged["arrived"], gain + 10.0, gain)
        return xp.where(judged["struck"] | judged["lost"], gain - 10.0, gain)


def pace(xp: Any, distance: Array) -> Array:
    """Return the speed (m/s) of a flight to the goal that brakes at 0.2 m/s^2 from 2 m/s."""
    return xp.sqrt(clip(xp, distance * (2.0 * BRAKING), _NONE, _FASTEST_SQUARE))


def strain(xp: Any, state: State, way: Array, distance: Array) -> Array:
    """Return the cost a second, below 0.3, of flying otherwise than straight to the goal at `pace`.

    It is small beside a strike, so that it pays to go round a rock and not to wait before it.
    """
    pull = pace(xp, distance) / (distance + _TINY)
    error = length(xp, way * pull - state["velocity"])
    return error / (error + 1.0) * 0.3


def clearances(xp: Any, state: State) -> tuple[Array, Array]:
    """Return the (3, rocks, N) ways to the rocks, and the (rocks, N) room to each."""
    ways = state["rocks"] - state["position"][:, None]
    return ways, length(xp, ways) - state["radius"] - CRAFT


def _seen(xp: Any, state: State) -> Array:
    """Return the (24, N) part of the observation that tells of the nearest rocks."""
    ways, room = clearances(xp, state)
    order = xp.argsort(room, 0)[:SEEN]
    near = _gathered(xp, xp.concatenate([ways, room[None]]), order)
    ways, room = near[:3], near[3:]
    share = 1.0 / (abs(room) + 5.0)
    return xp.concatenate([ways * (5.0 * share / length(xp, ways)), room * share]).reshape(
        4 * SEEN, -1
    )


def _gathered(xp: Any, block: Array, order: Array) -> Array:
    """Return (4, SEEN, N) of (4, rocks, N), row by row: a fifth of `take_along_axis` in time."""
    if xp.__name__ == "torch":
        return xp.take_along_dim(block, order[None], 1)
    count = block.shape[-1]
    return xp.take(block.reshape(4, -1), order * count + xp.arange(count), 1)


def _judge(xp: Any, before: State, after: State) -> dict[str, Array]:
    """Return what a step amounts to: the way (3, N) to the goal, distances, what has happened.

    The clearance is the least of the whole step, by straight ways; the craft's own is bent by
    a dt^2 / 8, 2 cm at 2.5 control steps a second.
    """
    old = before["rocks"] - before["position"][:, None]
    new = after["rocks"] - after["position"][:, None]
    room = xp.amin(nearest(xp, old, new) - after["radius"], 0) - CRAFT
    goal = like(xp, after["position"], _GOAL)
    way = goal - after["position"]
    distance = length(xp, way)
    struck = room < 0.0
    there = (distance < GOAL_REACH) & (length(xp, after["velocity"]) < GOAL_SPEED)
    return {
        "distance_before": length(xp, goal - before["position"]),
        "distance": distance,
        "way": way,
        "clearance": room,
        "struck": struck,
        "arrived": there & ~struck,
        "lost": distance > LOST_DISTANCE,
    }
