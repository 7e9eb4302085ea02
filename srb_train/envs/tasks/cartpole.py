"""Cartpole: keep a pole upright on a cart that is pushed left and right; a task to test with.

Barto, Sutton and Anderson (1983), with the constants of Gymnasium's CartPole-v1, but for a force
that may take any value, and sine and cosine of the pole's angle in the observation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tasks import cartpole_view, settings
from srb_train.envs.tasks.arrays import Array
from srb_train.envs.tasks.batch import Outcome, Scene, State

GRAVITY = 9.8  # m/s^2
POLE_MASS = 0.1  # kg
TOTAL_MASS = 1.1  # kg, cart and pole
HALF_LENGTH = 0.5  # m, from the pivot to the pole's centre of mass
FORCE = 10.0  # N at full command
DT = 0.02  # s
TRACK = 2.4  # m from the middle to where an episode ends
LEANING = 12.0 * 2.0 * np.pi / 360.0  # rad at which it ends
SPREAD = 0.05  # half width of the uniform start of all four variables


def build(params: Mapping[str, Any]) -> "Cartpole":
    """Return the task for the keys of its preset."""
    return settings.build(Cartpole, params)


@dataclass(frozen=True, kw_only=True)
class Cartpole:
    """The task's settings, and its physics as pure functions (see `batch.Task`)."""

    discrete: bool = False
    """Whether actions are 0 (left) and 1 (right) at full force, not a number in [-1, 1]."""
    time_limit: float = 10.0
    """Seconds until the episode is cut."""

    draws = 4
    control_dt = DT

    @property
    def max_episode_steps(self) -> int:
        """Control steps until the time limit."""
        return max(1, round(self.time_limit / DT))

    @cached_property
    def observation_space(self) -> spaces.Box:
        """Cart position, its velocity, sine and cosine of the angle, angular velocity."""
        return spaces.Box(-np.inf, np.inf, (5,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box | spaces.Discrete:
        """The force on the cart, 1 being 10 N to the right; or the choice of a side."""
        return spaces.Discrete(2) if self.discrete else spaces.Box(-1.0, 1.0, (1,), np.float32)

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes, nearly upright and at rest."""
        x, v, angle, rate = (2.0 * uniform - 1.0) * SPREAD
        return {"x": x, "v": v, "angle": angle, "rate": rate}

    def observe(self, xp: Any, state: State) -> Array:
        """Return (N, 5): x in m, v in m/s, sin and cos of the angle, angular velocity in rad/s."""
        sin, cos = xp.sin(state["angle"]), xp.cos(state["angle"])
        return xp.stack([state["x"], state["v"], sin, cos, state["rate"]], -1)

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Do one Euler step (positions first, as Gymnasium does); each is worth one."""
        right = 0.0 * state["x"] + FORCE
        force = xp.where(action > 0, right, -right) if self.discrete else FORCE * action[0]
        after = _euler(xp, state, force)
        fallen = (abs(after["x"]) > TRACK) | (abs(after["angle"]) > LEANING)
        facts = {"success": ~fallen, "final_position": after["x"]}
        return Outcome(after, 0.0 * after["x"] + 1.0, fallen, facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene."""
        return cartpole_view.draw(scenes)


def scripted(observation: np.ndarray) -> np.ndarray:
    """Return the (N, 1) command of a hand-tuned state feedback, which never lets the pole fall."""
    gains = np.array([0.05, 0.1, 2.0, 0.0, 0.3], dtype=np.float32)
    command: np.ndarray = (observation * gains).sum(-1, keepdims=True)
    return command.clip(-1.0, 1.0)


def _euler(xp: Any, state: State, force: Array) -> State:
    x, v, angle, rate = (state[name] for name in ("x", "v", "angle", "rate"))
    sin, cos = xp.sin(angle), xp.cos(angle)
    moment = POLE_MASS * HALF_LENGTH
    push = (force + moment * rate * rate * sin) * (1.0 / TOTAL_MASS)
    inertia = HALF_LENGTH * (4.0 / 3.0 - (POLE_MASS / TOTAL_MASS) * cos * cos)
    turning = (GRAVITY * sin - cos * push) / inertia
    speeding = push - (moment / TOTAL_MASS) * turning * cos
    return {
        "x": x + DT * v,
        "v": v + DT * speeding,
        "angle": angle + DT * rate,
        "rate": rate + DT * turning,
    }
