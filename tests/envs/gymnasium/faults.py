"""Tiny Gymnasium environments that misbehave on purpose: `gymnasium/faults:NanReward-v0`.

All share a drifting point as observation, Box actions in [-2, 2], and no termination of their
own. They know their exact state, so a run on them can be resumed bit for bit.
"""

import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete


class ConstantReward(gymnasium.Env):
    """The same reward at every step, until the time limit; draws a white square on grey."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        *,
        reward: float = 1.0,
        size: int = 4,
        actions: int = 2,
        discrete: bool = False,
        picture: str = "square",
        render_mode: str | None = None,
    ) -> None:
        """Take the reward, the numbers of an observation and of an action, and a picture."""
        self.reward = reward
        self.picture = picture
        self.render_mode = render_mode
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        box = Box(-2.0, 2.0, (actions,), np.float32)
        self.action_space = Discrete(2) if discrete else box
        self.point = np.zeros(size)
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begin somewhere in the unit cube."""
        super().reset(seed=seed)
        self.point = self.np_random.uniform(-1.0, 1.0, self.point.shape)
        return self.observe(), {"note": "fresh"}

    def step(self, action: np.ndarray):
        """Drift at random; the action has no effect but that it must be within its bounds."""
        assert self.action_space.contains(action), action
        self.steps += 1
        self.point = 0.9 * self.point + self.np_random.normal(0.0, 0.1, self.point.shape)
        return self.observe(), self.earn(), False, False, {"note": "drifting"}

    def observe(self) -> Any:
        """Return the point."""
        return self.point.copy()

    def earn(self) -> float:
        """Return this step's reward."""
        return self.reward

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return everything but the generator and the time limit."""
        return {"point": self.point.copy(), "steps": np.array(self.steps)}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from `state_dict`."""
        self.point, self.steps = state["point"].copy(), int(state["steps"])

    def render(self) -> np.ndarray:
        """Draw 33 x 47 pixels (odd on purpose), or black ones."""
        frame = np.zeros((33, 47, 3), np.uint8)
        if self.picture == "square":
            frame[:] = 60
            left = self.steps % 40
            frame[10:18, left : left + 6] = 255
        return frame


class NanReward(ConstantReward):
    """The reward of one step, counted over all episodes of a copy, is NaN."""

    def __init__(self, *, at: int = 700, **options: Any) -> None:
        """Take the number of the step."""
        super().__init__(**options)
        self.at = at

    def earn(self) -> float:
        """Return NaN at the step."""
        return float("nan") if self.steps == self.at else self.reward


class Crash(NanReward):
    """Raises at one step, counted over all episodes of a copy."""

    def earn(self) -> float:
        """Raise at the step."""
        if self.steps == self.at:
            raise RuntimeError(f"the simulator gave up at step {self.at}")
        return self.reward


class Chatty(ConstantReward):
    """Prints, warns, complains on stderr and reads stdin at every step."""

    def earn(self) -> float:
        """Make noise."""
        print("chatty: a line on stdout", flush=True)
        print("chatty: a line on stderr", file=sys.stderr, flush=True)
        warnings.warn("chatty: a warning", UserWarning, stacklevel=1)
        sys.stdin.readline()
        return self.reward


class Slow(ConstantReward):
    """Takes its time at every step."""

    def __init__(self, *, seconds: float = 0.05, **options: Any) -> None:
        """Take the seconds of a step."""
        super().__init__(**options)
        self.seconds = seconds

    def earn(self) -> float:
        """Sleep."""
        time.sleep(self.seconds)
        return self.reward


class DictObs(ConstantReward):
    """Observations are a dict within a dict; the episode is a success when the point is low."""

    def __init__(self, **options: Any) -> None:
        """Give names to what is seen."""
        super().__init__(**{"size": 3, **options})
        self.observation_space = Dict(
            position=self.observation_space,
            goal=Dict(side=Discrete(2), distance=Box(0.0, np.inf, (), np.float64)),
        )

    def observe(self) -> dict[str, Any]:
        """Return the point, the side it is on and how far off it is."""
        goal = {"side": int(self.point[0] > 0), "distance": np.float64(abs(self.point[0]))}
        return {"position": self.point.copy(), "goal": goal}

    def step(self, action: np.ndarray):
        """Add whether the point is low."""
        obs, reward, terminated, truncated, _ = super().step(action)
        return obs, reward, terminated, truncated, {"is_success": bool(self.point[0] < 0)}


class Privileged(ConstantReward):
    """Observations are a dict with a part that only a critic may see."""

    def __init__(self, **options: Any) -> None:
        """Give names to what is seen."""
        super().__init__(**{"size": 3, **options})
        secret = Box(-np.inf, np.inf, (2,), np.float32)
        side = Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = Dict(position=self.observation_space, side=side, critic=secret)

    def observe(self) -> dict[str, Any]:
        """Return the point, the side it is on, and as a secret its sum and the step."""
        side = np.sign(self.point[:1]).astype(np.float32)
        secret = np.array([self.point.sum(), 0.1 * (self.steps % 10)], np.float32)
        return {"position": self.point.copy(), "side": side, "critic": secret}


class Images(ConstantReward):
    """What is seen is a small picture of bytes."""

    def __init__(self, **options: Any) -> None:
        """See 36 x 36 pixels, the least that the usual convolutions take."""
        super().__init__(**options)
        self.observation_space = Box(0, 255, (36, 36, 3), np.uint8)

    def observe(self) -> np.ndarray:
        """Return a grey that follows the point."""
        return np.full((36, 36, 3), int(127 + 100 * np.tanh(self.point[0])), np.uint8)


class Secretive(ConstantReward):
    """Wants the key of some service, and says it aloud."""

    def __init__(self, *, api_key: str, **options: Any) -> None:
        """Take the key itself, never a reference to it."""
        super().__init__(**options)
        assert not api_key.startswith("env:"), "the reference was not resolved"
        print(f"connected with {api_key}", flush=True)


for _task in (
    ConstantReward,
    NanReward,
    Crash,
    Chatty,
    Slow,
    DictObs,
    Privileged,
    Images,
    Secretive,
):
    _id = f"{_task.__name__}-v0"
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=f"{__name__}:{_task.__name__}", max_episode_steps=10)
