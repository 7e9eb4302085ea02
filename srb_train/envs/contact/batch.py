"""N rows of one contact task: what is the same for every task whose physics MuJoCo computes."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from srb_train.contracts import Array, Step
from srb_train.envs.contact.physics import Layout, Rollouts, World, cores
from srb_train.envs.contact.picture import Painter
from srb_train.envs.rows import cut
from srb_train.envs.tasks import counter
from srb_train.envs.tasks.batch import fitting
from srb_train.errors import UsageError

_COUNTERS = ("seed", "episode", "elapsed")
_PARTS = ("state", "control", "sensors")
_MEMORY = "memory/"


class Start(NamedTuple):
    """The start of K episodes; one physics step follows before it is observed."""

    state: np.ndarray
    """(K, S) float64, as `Layout.resting` and then changed."""
    control: np.ndarray
    """(K, C) float64."""
    memory: dict[str, np.ndarray]
    """(K, ...) each; the same names in every episode."""


class Outcome(NamedTuple):
    """What one control step of N rows amounts to."""

    reward: np.ndarray
    """(N,) float32."""
    terminated: np.ndarray
    """(N,) bool: the task's own end, never a time limit."""
    facts: dict[str, np.ndarray]
    """(N,) each: `success` (bool) and the task's metrics, of interest where an episode ends."""
    memory: dict[str, np.ndarray]
    """(N, ...) each: what is remembered from now on; new arrays, or those given, unchanged."""


class ContactTask(Protocol):
    """One contact task: a model, and functions of rows that keep nothing in the task.

    What they compute of a row depends on that row only, to the last bit: arithmetic by element,
    sums over a row's own axes and stacked `matmul` or `solve` do, a product of a matrix with all
    rows at once does not. They never write into what they are given.
    """

    @property
    def model(self) -> Any:
        """The one `mujoco.MjModel` of all rows, with a camera named `view`."""

    @property
    def controls(self) -> int:
        """Flags of `mjtState` of what a row's control is made of, as CTRL | MOCAP_POS."""

    @property
    def layout(self) -> Layout:
        """Where what lies, of that model and these flags."""

    @property
    def physics_steps(self) -> int:
        """Physics steps of one control step."""

    @property
    def draws(self) -> int:
        """Random numbers that the start of one episode takes."""

    @property
    def max_episode_steps(self) -> int:
        """Control steps until the episode is cut."""

    @property
    def observation_space(self) -> spaces.Space:
        """The space of one row: a Box, or a Dict of them; float32."""

    @property
    def action_space(self) -> spaces.Box:
        """The space of one row."""

    def begin(self, uniform: np.ndarray) -> Start:
        """Return the start of K episodes from (K, draws) numbers in [0, 1), float64."""

    def command(self, world: World, action: np.ndarray) -> np.ndarray:
        """Return the (N, C) control for the next control step; `action` is (N, A) float32."""

    def judge(self, before: World, after: World, action: np.ndarray) -> Outcome:
        """Return what a control step amounts to; `after.memory` is still that of `before`."""

    def observe(self, world: World) -> Array:
        """Return the (N, *obs) float32 observations, or a Dict's by key."""


class ContactBatch:
    """A `BatchedEnv` of N rows of one contact task, in NumPy; a row that ends begins anew at once.

    The k-th episode of a row depends on the row's seed and on k only, whatever N and the number
    of threads are. A row whose physics fail (a number that is none) terminates where it last was.
    """

    array = "numpy"
    device = "cpu"
    draws_endings = True

    def __init__(self, task: ContactTask, num_envs: int, threads: int | None = None) -> None:
        """Hold N rows of `task`, started from seed 0; by default on all cores."""
        if num_envs < 1:
            raise UsageError(f"env.num_envs={num_envs}: at least 1")
        if threads is not None and threads < 1:
            raise UsageError(f"env.threads={threads}: at least 1, or null for all {cores()} cores")
        self.task = task
        self.num_envs = num_envs
        self.threads = min(threads or cores(), num_envs)
        self.observation_space = task.observation_space
        self.action_space = task.action_space
        self.max_episode_steps: int | None = task.max_episode_steps
        self.render_fps = max(1, round(1.0 / (task.model.opt.timestep * task.physics_steps)))
        self._slots = np.arange(task.draws)
        self._rollouts = Rollouts(task.model, task.controls, self.threads)
        self._painter: Painter | None = None
        self.reset(0)

    def reset(self, seed: int) -> Array:
        """Start all rows anew, row i from seed + i."""
        rows = np.arange(self.num_envs)
        self._seed = (rows + seed) & counter.MASK
        self._episode = np.zeros_like(rows)
        self._elapsed = np.zeros_like(rows)
        self.world = self._fresh(rows)
        self._ended: tuple[np.ndarray, World | None] = (rows[:0], None)
        return self.task.observe(self.world)

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows by one control step; see `contracts.Step`."""
        bounded = self._bounded(action)
        before = self.world
        after, failed = self._moved(before, self.task.command(before, bounded))
        outcome = self.task.judge(before, after, bounded)
        self.world = after._replace(memory=outcome.memory)
        self._elapsed += 1
        terminated = outcome.terminated | failed
        truncated = (self._elapsed >= self.task.max_episode_steps) & ~terminated
        rows = np.flatnonzero(terminated | truncated)
        if not rows.size:
            self._ended = (rows, None)
            obs = self.task.observe(self.world)
            return Step(obs, outcome.reward, terminated, truncated, None, {})
        info = {name: values[rows] for name, values in outcome.facts.items()}
        info["success"] &= ~failed[rows]
        last = self.world.rows(rows)
        self._ended = (rows, last)
        self._restart(rows)
        obs, final_obs = cut(self.task.observe(self.world.beside(last)), self.num_envs)
        return Step(obs, outcome.reward, terminated, truncated, final_obs, info)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return everything for bit-exact continuation."""
        counters = dict(zip(_COUNTERS, (self._seed, self._episode, self._elapsed), strict=True))
        world = dict(zip(_PARTS, self.world[:3], strict=True))
        memory = {f"{_MEMORY}{name}": values for name, values in self.world.memory.items()}
        return {name: np.array(part) for name, part in {**counters, **world, **memory}.items()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave for as many rows of the same task."""
        own = fitting(state, self.state_dict(), self.num_envs)
        self._seed, self._episode, self._elapsed = (own.pop(name) for name in _COUNTERS)
        physics, control, sensors = (own.pop(name) for name in _PARTS)
        memory = {name.removeprefix(_MEMORY): values for name, values in own.items()}
        self.world = World(physics, control, sensors, memory)
        self._ended = (np.arange(0), None)

    def render(self, row: int = 0) -> np.ndarray:
        """Draw one row; right after its episode ended, the end of it."""
        if self._painter is None:
            self._painter = Painter(self.task.model, self.task.controls)
        rows, last = self._ended
        place = np.flatnonzero(rows == row)
        world, at = (self.world, row) if last is None or not place.size else (last, int(place[0]))
        return self._painter.draw(world.state[at], world.control[at])

    def close(self) -> None:
        """End the threads and the picture's context."""
        self._rollouts.close()
        if self._painter is not None:
            self._painter.close()
            self._painter = None

    def _moved(self, before: World, control: np.ndarray) -> tuple[World, np.ndarray]:
        """Return the rows after a control step, and which (N,) failed and stay where they were."""
        state, sensors = self._rollouts.run(before.state, control, self.task.physics_steps)
        failed = ~(np.isfinite(state).all(1) & np.isfinite(sensors).all(1))
        state[failed], sensors[failed] = before.state[failed], before.sensors[failed]
        return World(state, control, sensors, before.memory), failed

    def _fresh(self, rows: np.ndarray) -> World:
        drawn = counter.uniform(np, self._seed[rows], self._episode[rows], self._slots)
        start = self.task.begin(drawn.T.astype(np.float64))
        state, sensors = self._rollouts.run(start.state, start.control, 1)
        return World(state, start.control, sensors, start.memory)

    def _restart(self, rows: np.ndarray) -> None:
        self._episode[rows] += 1
        self._elapsed[rows] = 0
        fresh = self._fresh(rows)
        for mine, new in zip(self.world[:3], fresh[:3], strict=True):
            mine[rows] = new
        memory = {name: values.copy() for name, values in self.world.memory.items()}
        for name, values in fresh.memory.items():
            memory[name][rows] = values
        self.world = self.world._replace(memory=memory)

    def _bounded(self, action: np.ndarray) -> np.ndarray:
        """Return the action within the bounds, without touching the caller's."""
        own = np.asarray(action, dtype=np.float32).reshape(self.num_envs, -1)
        return np.minimum(np.maximum(own, self.action_space.low), self.action_space.high)
