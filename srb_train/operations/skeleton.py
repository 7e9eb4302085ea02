"""The text of a new task and of its test: a point mass to hold at a height, as a start."""

TASK = '''"""{title}: hold a point mass at a height by its thrust; change it into your own task.

    srb env check {name}:make
    srb agent train --algo sb3_ppo --env {name}:make run.steps=2e5
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from PIL import Image, ImageDraw

from srb_train.envs.tasks.batch import Batch, Outcome, Scene, State

SIZE = 320
METRES = 20.0
"""Height of the picture."""


def make(num_envs: int, **settings: Any) -> Batch:
    """Return N rows of the task; `settings` are what env.kwargs holds."""
    return Batch({title}(**settings), num_envs)


@dataclass(frozen=True, kw_only=True)
class {title}:
    """The task's settings, and its physics as functions of arrays whose last axis is the row.

    `xp` is NumPy here; written so, the same code runs on torch and jax.numpy.
    """

    gravity: float = 1.62
    """m/s^2."""
    goal: float = 10.0
    """m."""
    time_limit: float = 20.0
    """Seconds until an episode is cut."""

    draws = 2
    """Random numbers that the start of one episode takes."""
    control_dt = 0.1
    """Seconds of one step."""

    @property
    def max_episode_steps(self) -> int:
        """Steps until the time limit."""
        return round(self.time_limit / self.control_dt)

    @cached_property
    def observation_space(self) -> spaces.Box:
        """Distance to the goal in m, velocity in m/s."""
        return spaces.Box(-np.inf, np.inf, (2,), np.float32)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Thrust, from none (-1) to twice the weight (1)."""
        return spaces.Box(-1.0, 1.0, (1,), np.float32)

    def begin(self, xp: Any, uniform: Any) -> State:
        """Return the start of N episodes from (draws, N) numbers in [0, 1)."""
        return {{"height": 5.0 + 10.0 * uniform[0], "speed": 2.0 * uniform[1] - 1.0}}

    def observe(self, xp: Any, state: State) -> Any:
        """Return the (N, 2) observations of a state."""
        return xp.stack([self.goal - state["height"], state["speed"]], -1)

    def advance(self, xp: Any, state: State, action: Any) -> Outcome:
        """Do one step by actions (1, N); the reward is more the closer and the slower it is."""
        speed = state["speed"] + self.control_dt * self.gravity * action[0]
        height = state["height"] + self.control_dt * speed
        error = abs(self.goal - height)
        lost = (height < 0.0) | (height > METRES)
        reward = 1.0 - 0.1 * error - 0.05 * abs(speed) - 10.0 * lost
        facts = {{"success": (error < 0.5) & ~lost, "final_error": error}}
        return Outcome({{"height": height, "speed": speed}}, reward, lost, facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene: the goal as a line, the mass as a dot."""
        picture = Image.new("RGB", (SIZE, SIZE), "white")
        pen = ImageDraw.Draw(picture)
        goal, place = (
            SIZE - SIZE * metres / METRES for metres in (self.goal, scenes[-1].state["height"])
        )
        pen.line([(0, goal), (SIZE, goal)], fill="green", width=2)
        pen.ellipse([SIZE / 2 - 8, place - 8, SIZE / 2 + 8, place + 8], fill="black")
        return np.asarray(picture)
'''

TEST = '''"""The task {name} keeps the contract that training relies on."""

from {name} import make

from srb_train.soundness import sound


def test_the_task_is_sound():
    assert [found for found in sound(make) if found.state != "ok"] == []


def test_a_mass_without_thrust_falls():
    env = make(1, gravity=1.0)
    before = env.reset(seed=0)
    step = env.step(-env.action_space.high[None])
    assert step.obs[0, 1] < before[0, 1]
'''


def texts(name: str) -> dict[str, str]:
    """Return the files of a new task by their names."""
    title = "".join(part.capitalize() for part in name.split("_"))
    return {
        f"{name}.py": TASK.format(name=name, title=title),
        f"test_{name}.py": TEST.format(name=name),
    }
