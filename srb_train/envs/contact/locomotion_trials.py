"""The settings of locomotion, and what its episodes draw: commands, ground, pushes and errors.

All of it can differ from row to row of one MuJoCo model: the slope is gravity that leans, load and
pushes are forces on the trunk, and a joint's error is added to its target. Friction, link masses
and motor gains are the model's and the same in every row.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srb_train.envs.contact import quadruped
from srb_train.envs.tasks import settings
from srb_train.errors import UsageError
from srb_train.spelling import not_one_of

OBSERVED = ("state", "dict")
DRAWS_ONCE, DRAWS_A_COMMAND = 33, 7
STEEPEST = 25.0  # degrees: beyond it the feet slide, with a friction of 0.8 and some to push with


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A difficulty: uniform ranges of what episodes draw."""

    speed: float
    """m/s of the command, forwards and backwards."""
    side: float
    """m/s of the command, to either side."""
    turn: float
    """rad/s of the command, both ways."""
    still: float
    """Share of the commands that are to stand still."""
    slope: tuple[float, float]
    """Degrees of the ground's inclination, in any direction."""
    load: tuple[float, float]
    """kg whose weight is on the trunk; its inertia is left out."""
    push: float
    """m/s that a push would give the robot, at most; one a command, of 0.1 s, from any side."""
    joint_error: float
    """rad by which each joint mistakes its target, either way."""
    start: float
    """rad of each joint and of roll and pitch at the start, either way."""


def trials() -> dict[str, Trial]:
    """Return the difficulties."""
    return {
        "easy": Trial(
            speed=0.6,
            side=0.3,
            turn=0.6,
            still=0.1,
            slope=(0.0, 0.0),
            load=(0.0, 0.0),
            push=0.0,
            joint_error=0.0,
            start=0.05,
        ),
        "full": Trial(
            speed=0.8,
            side=0.4,
            turn=0.8,
            still=0.1,
            slope=(0.0, 6.0),
            load=(0.0, 2.0),
            push=0.4,
            joint_error=0.02,
            start=0.1,
        ),
        "rough": Trial(
            speed=0.8,
            side=0.4,
            turn=0.8,
            still=0.1,
            slope=(5.0, 12.0),
            load=(0.0, 4.0),
            push=0.8,
            joint_error=0.04,
            start=0.15,
        ),
    }


@dataclass(frozen=True, kw_only=True)
class Walk:
    """The task's settings, checked."""

    difficulty: str = "easy"
    observe: str = "state"
    control_hz: float = 50.0
    time_limit: float = 20.0
    hold: float = 5.0
    """Seconds for which a command stands."""
    success_share: float = 0.7
    trials: Mapping[str, Trial] = field(default_factory=trials)

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be walked."""
        if self.difficulty not in self.trials:
            raise not_one_of("env.difficulty", self.difficulty, tuple(self.trials))
        if self.observe not in OBSERVED:
            raise not_one_of("env.observe", self.observe, OBSERVED)
        if not 10.0 <= self.control_hz <= 250.0:
            raise UsageError(
                f"env.control_hz={self.control_hz:g}: actions a second, from 10 to 250"
            )
        if round(self.time_limit * self.control_hz) < 1:
            raise UsageError(f"env.time_limit={self.time_limit:g} is shorter than a control step")
        if not 0.5 <= self.hold <= 1000.0:
            raise UsageError(f"env.hold={self.hold:g}: s for which a command stands, from 0.5")
        if not 0.0 <= self.success_share <= 1.0:
            raise UsageError(f"env.success_share={self.success_share:g}: from 0 to 1")
        _check(f"env.trials.{self.difficulty}", self.trial)

    @property
    def trial(self) -> Trial:
        """The chosen difficulty."""
        return self.trials[self.difficulty]


def build(params: Mapping[str, Any]) -> Walk:
    """Return the settings for the keys of the preset."""
    given = {
        name: settings.build(Trial, trial, f"env.trials.{name}")
        for name, trial in params.get("trials", {}).items()
    }
    return settings.build(Walk, {**params, "trials": {**trials(), **given}})


def _check(where: str, trial: Trial) -> None:
    """Raise `UsageError` for ranges that are none, or that no robot of this kind could bear."""
    for name, most in (("slope", STEEPEST), ("load", 10.0)):
        low, high = getattr(trial, name)
        if not 0.0 <= low <= high <= most:
            raise UsageError(f"{where}.{name}={[low, high]}: the smaller first, from 0 to {most:g}")
    for name, most in (("push", 2.0), ("joint_error", 0.2), ("start", 0.3), ("still", 1.0)):
        value = getattr(trial, name)
        if not 0.0 <= value <= most:
            raise UsageError(f"{where}.{name}={value:g}: from 0 to {most:g}")
    for name in ("speed", "side", "turn"):
        if not 0.0 <= getattr(trial, name) <= 3.0:
            raise UsageError(f"{where}.{name}={getattr(trial, name):g}: from 0 to 3")


def draw(trial: Trial, uniform: np.ndarray, hold: int) -> dict[str, np.ndarray]:
    """Return what K episodes draw from (K, DRAWS_ONCE + DRAWS_A_COMMAND * M) numbers in [0, 1).

    `joints` (K, 12) and `lean` (K, 2) at the start; `velocity` (K, 3) there, m/s and rad/s; `phase`
    (K,) of the gait's clock; `down` (K, 3), where gravity points to; `load` (K,) kg; `joint_error`
    (K, 12) rad; `commands` (K, M, 3): m/s forwards and left, rad/s; `pushes` (K, M, 2) m/s;
    `push_at` (K, M), the control step of a command that stands for `hold`.
    """
    once, each = uniform[:, :DRAWS_ONCE], uniform[:, DRAWS_ONCE:]
    each = each.reshape(len(uniform), -1, DRAWS_A_COMMAND)
    either, limit = 2.0 * once - 1.0, np.array([trial.speed, trial.side, trial.turn])
    tilt = np.deg2rad(trial.slope[0] + once[:, 18] * (trial.slope[1] - trial.slope[0]))
    uphill = 2.0 * math.pi * once[:, 19]
    steep = np.sin(tilt)
    moving = each[:, :, 3:4] >= trial.still
    strength, side = trial.push * each[:, :, 4], 2.0 * math.pi * each[:, :, 5]
    return {
        "joints": quadruped.HOME + either[:, :12] * trial.start,
        "lean": either[:, 12:14] * trial.start,
        "velocity": either[:, 14:17] * (2.0 * trial.start),
        "phase": once[:, 17] + 0.0,
        "down": np.stack([-steep * np.cos(uphill), -steep * np.sin(uphill), -np.cos(tilt)], 1),
        "load": trial.load[0] + once[:, 20] * (trial.load[1] - trial.load[0]),
        "joint_error": either[:, 21:33] * trial.joint_error,
        "commands": (2.0 * each[:, :, :3] - 1.0) * limit * moving,
        "pushes": np.stack([strength * np.cos(side), strength * np.sin(side)], 2),
        "push_at": np.floor(each[:, :, 6] * hold).astype(np.int64),
    }
