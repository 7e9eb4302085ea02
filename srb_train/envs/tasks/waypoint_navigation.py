"""Waypoint navigation: drive a rover that slips along a route, one waypoint after the other.

The commands are a speed and a turn rate; how much of them the ground takes away is drawn for each
episode and hidden (see `rover`). An episode is a success, and ends, when the last waypoint of its
route is reached: within 0.3 m, and for `goal: pose` headed within 15 degrees of its direction. It
ends without when the rover strays 20 m from its waypoint.

At `full`, over 512 episodes: standing still returns -3.0 and random commands -3.8, both without a
success; the scripted driver 14.0 with 99.8 %.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tasks import rover, rover_ground, settings, waypoint_navigation_view
from srb_train.envs.tasks.arrays import Array, like, rows
from srb_train.envs.tasks.batch import Outcome, Scene, State
from srb_train.errors import UsageError

SPEED = 0.6  # m/s at full command
TURN = 1.0  # rad/s at full command
REACH = 0.3  # m
FACING = math.radians(15.0)
LOST = 20.0  # m from the waypoint

TIME_COST = 0.05  # a second
EFFORT_COST = 0.02  # a second and squared command
FACING_WORTH = 0.5  # m of way that half a wrong turn at the waypoint counts for
FACING_RANGE = 0.5  # m from the waypoint within which it does

DRAWS_ONCE, DRAWS_A_WAYPOINT = 3 + rover_ground.DRAWS, 3
PILOT_GAIN = 2.0  # 1/s
PILOT_BEFORE = 0.7  # of the distance, that the way to a pose leads by
PILOT_AHEAD = 1.2  # rad: a waypoint further aside is turned to before anything else


@dataclass(frozen=True, kw_only=True)
class Terrain:
    """What episodes draw from: uniform ranges."""

    arena: float
    """m: the waypoints lie in a square of twice this side about the start."""
    slip: tuple[float, float]
    """Share of the wheels' way that is lost."""
    turn_slip: tuple[float, float]
    """Share of the wheels' turning that is lost."""
    slope: tuple[float, float]
    """Degrees of the plane's inclination, in any direction."""


def terrains() -> dict[str, Terrain]:
    """Return the ranges of each difficulty."""
    return {
        "easy": Terrain(arena=4.0, slip=(0.0, 0.2), turn_slip=(0.0, 0.3), slope=(0.0, 0.0)),
        "full": Terrain(arena=5.0, slip=(0.0, 0.3), turn_slip=(0.0, 0.4), slope=(0.0, 0.0)),
        "steep": Terrain(arena=5.0, slip=(0.0, 0.2), turn_slip=(0.0, 0.4), slope=(5.0, 15.0)),
    }


def build(params: Mapping[str, Any]) -> "WaypointNavigation":
    """Return the task for the keys of its preset."""
    given = {
        name: settings.build(Terrain, terrain, f"env.terrains.{name}")
        for name, terrain in params.get("terrains", {}).items()
    }
    return settings.build(WaypointNavigation, {**params, "terrains": {**terrains(), **given}})


@dataclass(frozen=True, kw_only=True)
class WaypointNavigation:
    """The task's settings, checked, and its physics as pure functions (see `batch.Task`)."""

    difficulty: str = "full"
    goal: str = "position"
    waypoints: int = 3
    control_hz: float = 10.0
    time_limit: float = 60.0
    terrains: Mapping[str, Terrain] = field(default_factory=terrains)

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be driven."""
        choices = {"difficulty": self.terrains, "goal": ("position", "pose")}
        for key, known in choices.items():
            if getattr(self, key) not in known:
                raise UsageError(f"env.{key}={getattr(self, key)}: one of {', '.join(known)}")
        if self.waypoints < 1:
            raise UsageError(f"env.waypoints={self.waypoints}: at least 1")
        if self.control_hz <= 0.0 or self.max_episode_steps < 1:
            raise UsageError(
                f"env.time_limit={self.time_limit:g} at env.control_hz={self.control_hz:g}: "
                "an episode is at least one control step"
            )
        rover_ground.check(f"env.terrains.{self.difficulty}", self._terrain)

    @property
    def draws(self) -> int:
        """Random numbers of an episode: start, ground and route."""
        return DRAWS_ONCE + DRAWS_A_WAYPOINT * self.waypoints

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
        """Eight unbounded numbers of order one; ten where the goal is a pose."""
        return spaces.Box(-np.inf, np.inf, (10 if self.goal == "pose" else 8,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Speed and turn rate: 1 is 0.6 m/s forwards, and 1 rad/s to the left."""
        return spaces.Box(-1.0, 1.0, (2,), np.float32)

    @property
    def _terrain(self) -> Terrain:
        return self.terrains[self.difficulty]

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest value and the width, (draws, 1) each, of what an episode draws."""
        circle = (-math.pi, math.pi)
        arena = (-self._terrain.arena, self._terrain.arena)
        bounds = [
            *[(-1.0, 1.0)] * 2,
            circle,
            *rover_ground.bounds(self._terrain),
            *[arena] * (2 * self.waypoints),
            *[circle] * self.waypoints,
        ]
        low, high = np.array(bounds, dtype=np.float32).T[:, :, None]
        return low, high - low

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes: at rest within a metre of the middle."""
        low, width = (like(xp, uniform, part) for part in self._range)
        drawn = low + width * uniform
        route = drawn[DRAWS_ONCE:].reshape(DRAWS_A_WAYPOINT, self.waypoints, -1)
        hill = None if rover_ground.level(self._terrain) else drawn[5:7]
        start = rover.at_rest(xp, drawn[0:3], drawn[3:5], hill)
        return {**start, "route": route, "reached": 0.0 * drawn[0]}

    def observe(self, xp: Any, state: State) -> Array:
        """Return (N, 8), in axes of the rover: forwards, left.

        0:2 next waypoint from the rover, m/6      2 d/(d + 1 m), d its distance
        3:5 direction to it, a unit vector         5 speed forwards, m/s/0.6
        6 turn rate, rad/s                         7 share of the route that is left

        For `goal: pose` two more: cosine and sine of the turn that is left to face as it should.
        """
        sixth, tiny, one, speed_scale, share = rover.numbers(
            xp, 1.0 / 6.0, 1e-6, 1.0, 1.0 / SPEED, -1.0 / self.waypoints
        )
        heading, route = state["heading"], state["route"]
        x, y = route[0, 0] - state["x"], route[1, 0] - state["y"]
        cos, sin = xp.cos(heading), xp.sin(heading)
        ahead, left = x * cos + y * sin, y * cos - x * sin
        distance = xp.sqrt(x * x + y * y) + tiny
        columns = [ahead * sixth, left * sixth, distance / (distance + one)]
        columns += [ahead / distance, left / distance, state["speed"] * speed_scale, state["turn"]]
        columns += [one + state["reached"] * share]
        if self.goal == "pose":
            columns += [xp.cos(route[2, 0] - heading), xp.sin(route[2, 0] - heading)]
        return rows(xp, columns).T

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Drive for one control step and judge it.

        The reward is the way that the step took off the distance to the waypoint, in m, and 1 for
        a waypoint, less 0.05 + 0.02 |action|^2 a second; `goal: pose` adds the turn made good.
        """
        dt = self.control_dt
        full_speed, full_turn, time, effort = rover.numbers(
            xp, SPEED, TURN, TIME_COST * dt, EFFORT_COST * dt
        )
        reach, straight, lost, most = rover.numbers(
            xp, REACH, math.cos(FACING), LOST, self.waypoints - 0.5
        )
        speed, turn = action[0], action[1]
        after = rover.drive(xp, state, speed * full_speed, turn * full_turn, dt)
        route = state["route"]
        left_before, _, _ = self._left(xp, state, route)
        left_after, distance, facing = self._left(xp, after, route)
        there = distance <= reach if facing is None else (distance <= reach) & (facing >= straight)
        after["reached"] = state["reached"] + there
        # The queue of what is ahead moves up, and its last waypoint stays.
        ahead = xp.concatenate([route[:, 1:], route[:, -1:]], 1)
        after["route"] = xp.where(there, ahead, route)
        finished = after["reached"] > most
        facts = {
            "success": finished,
            "waypoints_reached": after["reached"],
            "distance_left": distance,
        }
        cost = time + effort * (speed * speed + turn * turn)
        reward = left_before - left_after - cost + there
        return Outcome(after, reward, finished | (distance > lost), facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene."""
        half = self._terrain.arena
        return waypoint_navigation_view.draw(scenes, half, REACH, self.goal == "pose")

    def _left(self, xp: Any, state: State, route: Array) -> tuple[Array, Array, Array | None]:
        """Return how far the waypoint is, with and without the turn that is left; and its cosine.

        The turn counts near the waypoint only: on the way, a rover faces where it drives.
        """
        x, y = route[0, 0] - state["x"], route[1, 0] - state["y"]
        square = x * x + y * y
        distance = xp.sqrt(square)
        if self.goal == "position":
            return distance, distance, None
        worth, near = rover.numbers(xp, FACING_WORTH * FACING_RANGE**2, FACING_RANGE**2)
        facing = xp.cos(route[2, 0] - state["heading"])
        return distance + worth / (square + near) * (1.0 - facing), distance, facing


def scripted(observation: np.ndarray) -> np.ndarray:
    """Return the (N, 2) commands of a driver who turns to the waypoint and drives at it.

    It knows nothing of slips. To a pose it drives by a point before it, so that it arrives in its
    direction, and what is left to turn it turns on the spot.
    """
    x, y = 6.0 * observation[:, 0], 6.0 * observation[:, 1]
    if observation.shape[1] == 8:
        return _commands(np.arctan2(y, x), 1.0)
    distance, cos, sin = np.hypot(x, y), observation[:, 8], observation[:, 9]
    before = PILOT_BEFORE * np.minimum(distance, 2.0)
    at_goal = distance < 0.6 * REACH
    aside = np.where(at_goal, np.arctan2(sin, cos), np.arctan2(y - before * sin, x - before * cos))
    return _commands(aside, np.where(at_goal, 0.0, np.minimum(1.0, 0.3 + distance)))


def _commands(aside: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Return the commands to turn by an angle, and to drive at a share of the speed meanwhile."""
    speed = np.where(abs(aside) < PILOT_AHEAD, np.cos(aside), 0.0) * share
    command: np.ndarray = np.stack([speed, PILOT_GAIN * aside / TURN], -1).astype(np.float32)
    return command.clip(-1.0, 1.0)
