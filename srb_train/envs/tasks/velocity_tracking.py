"""Velocity tracking: make a slipping rover go as it is told, by the speeds of its wheels.

The wanted speed and turn rate change at random times. The wheels follow what they are commanded
with a lag, and the ground takes a share of the motion that is drawn for each episode and hidden
(see `rover`): who drives by kinematics alone is too slow. An episode runs for its whole time, and
is a success if for at least `success_share` of it both the speed was within 0.05 m/s of what was
wanted and the turn rate within 0.1 rad/s.

At `full`, over 512 episodes: standing still returns 24.6 and random wheel speeds 21.9, both without
a success; kinematics alone 54.0 with 19 %, the scripted driver 57.5 with 100 %.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tasks import rover, rover_ground, settings, velocity_tracking_view
from srb_train.envs.tasks.arrays import Array, like, rows
from srb_train.envs.tasks.batch import Outcome, Scene, State
from srb_train.errors import UsageError

NEAR_SPEED, NEAR_TURN = 0.05, 0.1  # m/s and rad/s: an error that counts as none
SPEED_WIDTH, TURN_WIDTH = 0.03, 0.15  # (m/s)^2 and (rad/s)^2 at which a reward is 37 %
JERK_COST = 0.1  # a second, of the mean squared change in the action

DRAWS_ONCE, DRAWS_A_COMMAND = 1 + rover_ground.DRAWS, 3
OBSERVATION_SIZE = 8


@dataclass(frozen=True, kw_only=True)
class Terrain:
    """What episodes draw from: uniform ranges; with ours, the wheels can meet every command."""

    speed: float
    """m/s of the command, forwards and backwards."""
    turn: float
    """rad/s of the command, both ways."""
    hold: tuple[float, float]
    """Seconds for which a command stands."""
    slip: tuple[float, float]
    """Share of the wheels' way that is lost."""
    turn_slip: tuple[float, float]
    """Share of the wheels' turning that is lost."""
    slope: tuple[float, float]
    """Degrees of the plane's inclination, in any direction."""


def terrains() -> dict[str, Terrain]:
    """Return the ranges of each difficulty."""
    return {
        "easy": Terrain(
            speed=0.5,
            turn=0.8,
            hold=(2.0, 5.0),
            slip=(0.0, 0.15),
            turn_slip=(0.0, 0.2),
            slope=(0.0, 0.0),
        ),
        "full": Terrain(
            speed=0.4,
            turn=0.75,
            hold=(0.5, 5.0),
            slip=(0.0, 0.3),
            turn_slip=(0.0, 0.4),
            slope=(0.0, 0.0),
        ),
        "steep": Terrain(
            speed=0.35,
            turn=0.7,
            hold=(0.5, 5.0),
            slip=(0.0, 0.2),
            turn_slip=(0.0, 0.3),
            slope=(3.0, 10.0),
        ),
    }


def build(params: Mapping[str, Any]) -> "VelocityTracking":
    """Return the task for the keys of its preset."""
    given = {
        name: settings.build(Terrain, terrain, f"env.terrains.{name}")
        for name, terrain in params.get("terrains", {}).items()
    }
    return settings.build(VelocityTracking, {**params, "terrains": {**terrains(), **given}})


@dataclass(frozen=True, kw_only=True)
class VelocityTracking:
    """The task's settings, checked, and its physics as pure functions (see `batch.Task`)."""

    difficulty: str = "full"
    control_hz: float = 20.0
    time_limit: float = 20.0
    success_share: float = 0.75
    terrains: Mapping[str, Terrain] = field(default_factory=terrains)

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be driven."""
        if self.difficulty not in self.terrains:
            raise UsageError(f"env.difficulty={self.difficulty}: one of {', '.join(self.terrains)}")
        if self.control_hz <= 0.0 or self.max_episode_steps < 1:
            raise UsageError(
                f"env.time_limit={self.time_limit:g} at env.control_hz={self.control_hz:g}: "
                "an episode is at least one control step"
            )
        where = f"env.terrains.{self.difficulty}"
        rover_ground.check(where, self._terrain)
        if not 1 <= self._hold[0] <= self._hold[1]:
            raise UsageError(
                f"{where}.hold={list(self._terrain.hold)}: the shorter first, and at least "
                f"one control step, {self.control_dt:g} s"
            )

    @property
    def draws(self) -> int:
        """Random numbers of an episode: heading, ground and as many commands as it could take."""
        return DRAWS_ONCE + DRAWS_A_COMMAND * self._commands

    @property
    def control_dt(self) -> float:
        """Seconds of one control step."""
        return 1.0 / self.control_hz

    @cached_property
    def max_episode_steps(self) -> int:
        """Control steps of an episode."""
        return round(self.time_limit * self.control_hz)

    @cached_property
    def observation_space(self) -> spaces.Box:
        """Eight unbounded numbers, of order one."""
        return spaces.Box(-np.inf, np.inf, (OBSERVATION_SIZE,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Speeds of the left and of the right wheels: 1 is 0.9 m/s forwards."""
        return spaces.Box(-1.0, 1.0, (2,), np.float32)

    @property
    def _terrain(self) -> Terrain:
        return self.terrains[self.difficulty]

    @cached_property
    def _hold(self) -> tuple[int, int]:
        """The fewest and the most whole control steps for which a command stands."""
        shortest, longest = self._terrain.hold
        return round(shortest * self.control_hz), round(longest * self.control_hz)

    @cached_property
    def _commands(self) -> int:
        return math.ceil(self.max_episode_steps / self._hold[0]) + 1

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest value and the width, (draws, 1) each, of what an episode draws."""
        ground = self._terrain
        fewest, most = self._hold
        bounds = [
            (-math.pi, math.pi),
            *rover_ground.bounds(ground),
            *[(-ground.speed, ground.speed)] * self._commands,
            *[(-ground.turn, ground.turn)] * self._commands,
            *[(fewest, most + 1)] * self._commands,
        ]
        low, high = np.array(bounds, dtype=np.float32).T[:, :, None]
        return low, high - low

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes: at rest, with all commands that are to come."""
        low, width = (like(xp, uniform, part) for part in self._range)
        drawn = low + width * uniform
        speed, turn, hold = drawn[DRAWS_ONCE:].reshape(DRAWS_A_COMMAND, self._commands, -1)
        none = 0.0 * drawn[0]
        hill = None if rover_ground.level(self._terrain) else drawn[3:5]
        return {
            **rover.at_rest(xp, [none, none, drawn[0]], drawn[1:3], hill),
            # Whole steps, so that a sum of them is exact in float32, in every library.
            "commands": xp.stack([speed, turn, xp.cumsum(xp.floor(hold), 0)]),
            "wanted_speed": speed[0] + 0.0,
            "wanted_turn": turn[0] + 0.0,
            "until": xp.floor(hold[0]),
            "current": 0 * (none > 0.0),
            "age": none + 0.0,
            "left": none + 0.0,
            "right": none + 0.0,
            "near": none + 0.0,
            "speed_squares": none + 0.0,
            "turn_squares": none + 0.0,
        }

    def observe(self, xp: Any, state: State) -> Array:
        """Return (N, 8): speeds in m/s/0.5, turn rates in rad/s.

        0:2 commanded speed and turn rate          2:4 by how much they are missed
        4:6 what the wheels would give on firm ground      6:8 the last action
        """
        (twice,) = rover.numbers(xp, 2.0)
        speed, turn = state["wanted_speed"], state["wanted_turn"]
        columns = [speed * twice, turn]
        columns += [(speed - state["speed"]) * twice, turn - state["turn"]]
        columns += [state["rolling"] * twice, state["spinning"], state["left"], state["right"]]
        return rows(xp, columns).T

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Drive for one control step, judge it by the command it began with, and look for a new.

        The reward, a second, is 2 exp(-e^2 / 0.03) + exp(-f^2 / 0.15) for errors e of the speed and
        f of the turn rate, less a tenth of the mean squared change in the action: 3 at most.
        """
        dt = self.control_dt
        half = 0.5 * rover.WHEEL_SPEED
        to_roll, to_spin, speed_scale, turn_scale = rover.numbers(
            xp, half, half / rover.HALF_TRACK, -1.0 / SPEED_WIDTH, -1.0 / TURN_WIDTH
        )
        double, step, jerk_cost, zero = rover.numbers(xp, 2.0 * dt, dt, 0.5 * JERK_COST * dt, 0.0)
        left, right = action[0], action[1]
        after = rover.drive(xp, state, (left + right) * to_roll, (right - left) * to_spin, dt)
        missing_speed = state["wanted_speed"] - after["speed"]
        missing_turn = state["wanted_turn"] - after["turn"]
        speed, turn = missing_speed * missing_speed, missing_turn * missing_turn
        jump_left, jump_right = left - state["left"], right - state["right"]
        jerk = jump_left * jump_left + jump_right * jump_right
        reward = xp.exp(speed * speed_scale) * double + xp.exp(turn * turn_scale) * step
        after["left"], after["right"] = left, right
        self._tally(xp, after, speed, turn)
        facts = self._facts(xp, after)
        self._next_command(xp, after)
        never = after["near"] < zero
        return Outcome(after, reward - jerk * jerk_cost, never, facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene."""
        limits = (self._terrain.speed, self._terrain.turn)
        near = (NEAR_SPEED, NEAR_TURN)
        return velocity_tracking_view.draw(scenes, self.time_limit, limits, near)

    def _tally(self, xp: Any, state: State, speed: Array, turn: Array) -> None:
        """Count a step with its squared errors."""
        one, near_speed, near_turn = rover.numbers(xp, 1.0, NEAR_SPEED**2, NEAR_TURN**2)
        state["age"] = state["age"] + one
        state["near"] = state["near"] + ((speed < near_speed) & (turn < near_turn))
        state["speed_squares"] = state["speed_squares"] + speed
        state["turn_squares"] = state["turn_squares"] + turn

    def _next_command(self, xp: Any, state: State) -> None:
        """Change the commands of the rows whose time has come."""
        age = state["age"]
        state["current"] = state["current"] + (age >= state["until"])
        now = state["commands"][:, state["current"], xp.arange(age.shape[0])]
        state["wanted_speed"], state["wanted_turn"], state["until"] = now

    def _facts(self, xp: Any, state: State) -> dict[str, Array]:
        # Episodes always run for their whole time, so that means are shares of it.
        enough, mean = rover.numbers(
            xp, self.success_share * self.max_episode_steps, 1.0 / self.max_episode_steps
        )
        return {
            "success": state["near"] >= enough,
            "share_near": state["near"] * mean,
            "rms_speed_error": xp.sqrt(state["speed_squares"] * mean),
            "rms_turn_error": xp.sqrt(state["turn_squares"] * mean),
        }


def kinematic(observation: np.ndarray) -> np.ndarray:
    """Return the (N, 2) wheel speeds that would do on firm ground."""
    speed, turn = observation[:, 0] * 0.5, observation[:, 1]
    return _wheels(speed, turn)


def scripted(observation: np.ndarray) -> np.ndarray:
    """Return the (N, 2) wheel speeds of a driver who reckons with the slip that shows.

    The grip is what the measured motion is of the wheels' motion; where they hardly move, it is
    taken for a middling one.
    """
    wanted = np.stack([observation[:, 0] * 0.5, observation[:, 1]])
    measured = wanted - np.stack([observation[:, 2] * 0.5, observation[:, 3]])
    rolled = np.stack([observation[:, 4] * 0.5, observation[:, 5]])
    moving = abs(rolled) > np.array([[0.05], [0.15]])
    grip = np.where(moving, measured / np.where(moving, rolled, 1.0), 0.8)
    speed, turn = wanted / grip.clip(0.5, 1.0)
    return _wheels(speed, turn)


def _wheels(speed: np.ndarray, turn: np.ndarray) -> np.ndarray:
    rims = rover.rims({"rolling": speed, "spinning": turn})
    share: np.ndarray = np.stack(rims, -1) / rover.WHEEL_SPEED
    return share.astype(np.float32).clip(-1.0, 1.0)
