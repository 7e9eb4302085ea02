"""N rows of one task: what is the same for every task whose physics are pure functions of arrays.

A state is a dict of arrays whose LAST axis is the row, so that a component of all rows lies in one
stretch of memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from srb_train.contracts import Step
from srb_train.envs.rows import cut
from srb_train.envs.tasks import counter
from srb_train.envs.tasks.arrays import Array
from srb_train.errors import IntegrityError, UsageError

State = dict[str, Array]


class Outcome(NamedTuple):
    """What one control step of N rows gives."""

    state: State
    reward: Array
    """(N,) float32."""
    terminated: Array
    """(N,) bool."""
    facts: dict[str, Array]
    """(N,) each: `success` (bool) and the task's metrics, of interest where an episode ends."""


class Scene(NamedTuple):
    """One row at one moment, as it is drawn."""

    state: dict[str, np.ndarray]
    time: float
    """Seconds since the episode began."""
    verdict: bool | None
    """Whether the episode ended here in success; None while it runs."""


class Task(Protocol):
    """One task: constants and pure functions of arrays; `xp` is numpy, torch or jax.numpy."""

    @property
    def draws(self) -> int:
        """Random numbers that the start of one episode takes."""

    @property
    def control_dt(self) -> float:
        """Seconds of one control step."""

    @property
    def max_episode_steps(self) -> int:
        """Control steps until the episode is cut."""

    @property
    def observation_space(self) -> spaces.Space:
        """The space of one row: a Box, or a Dict of them."""

    @property
    def action_space(self) -> spaces.Box | spaces.Discrete:
        """The space of one row."""

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes from (draws, N) numbers in [0, 1)."""

    def observe(self, xp: Any, state: State) -> Array | dict[str, Array]:
        """Return the (N, *obs) observations of a state, or a Dict's by key; in any layout."""

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Do one control step; `action` is (A, N) within the bounds, or (N,) of choices."""

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Return uint8 (H, W, 3) of the last scene; the others are its episode so far."""


class Scenes:
    """Rows as they are drawn: each one's frames so far, and how it ended in the newest step."""

    def __init__(self, task: Task) -> None:
        """Draw rows of a task."""
        self._task = task
        self.forget()

    def forget(self) -> None:
        """Begin without frames and endings."""
        self.drawn: dict[int, list[Scene]] = {}
        self.step(np.empty(0, dtype=np.int64))

    def step(
        self, rows: np.ndarray, last: State | None = None, facts: tuple[Array, Array] = ((), ())
    ) -> None:
        """Take which rows (K,) ended, their last states and (steps, successes), (K,) each."""
        self._rows, self._last, (self._steps, self._successes) = rows, last or {}, facts

    def draw(self, row: int, state: State, steps: Array) -> np.ndarray:
        """Draw a row of N that go on with `state` after (N,) `steps`; or its end, if it ended.

        The picture's trail is of the frames drawn so far in the same episode.
        """
        scene = self._scene(row, state, steps)
        scenes = self.drawn.setdefault(row, [])
        if scenes and (scenes[-1].verdict is not None or scenes[-1].time > scene.time):
            scenes.clear()
        scenes.append(scene)
        return self._task.draw(scenes)

    def _scene(self, row: int, state: State, steps: Array) -> Scene:
        dt, place = self._task.control_dt, np.flatnonzero(self._rows == row)
        if place.size:
            at = int(place[0])
            last = {name: values[..., at] for name, values in self._last.items()}
            return Scene(last, int(self._steps[at]) * dt, bool(self._successes[at]))
        now = {name: np.array(values[..., row]) for name, values in state.items()}
        return Scene(now, int(steps[row]) * dt, None)


class Batch:
    """A `BatchedEnv` of N rows of one task, in NumPy; a row that ends begins anew at once.

    The k-th episode of a row depends on the row's seed and on k only, whatever N is.
    """

    array = "numpy"
    device = "cpu"

    def __init__(self, task: Task, num_envs: int) -> None:
        """Hold N rows of `task`, started from seed 0."""
        if num_envs < 1:
            raise UsageError(f"env.num_envs={num_envs}: at least 1")
        self.task = task
        self.num_envs = num_envs
        self.observation_space = task.observation_space
        self.action_space = task.action_space
        self.max_episode_steps: int | None = task.max_episode_steps
        self.render_fps = max(1, round(1.0 / task.control_dt))
        self.draws_endings = True
        self._slots = np.arange(task.draws)
        self.scenes = Scenes(task)
        self.reset(0)

    def reset(self, seed: int) -> Array:
        """Start all rows anew, row i from seed + i."""
        rows = np.arange(self.num_envs)
        self._seed = (rows + seed) & counter.MASK
        self._episode = np.zeros_like(rows)
        self._elapsed = np.zeros_like(rows)
        self.state = self._fresh(rows)
        self.scenes.forget()
        return self._observe(self.state)

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows by one control step; see `contracts.Step`."""
        state, reward, terminated, facts = self.task.advance(np, self.state, self._bounded(action))
        self._elapsed += 1
        truncated = (self._elapsed >= self.task.max_episode_steps) & ~terminated
        rows = np.flatnonzero(terminated | truncated)
        self.state = state
        if not rows.size:
            self.scenes.step(rows)
            return Step(self._observe(state), reward, terminated, truncated, None, {})
        info = {name: values[rows] for name, values in facts.items()}
        last = {name: values[..., rows] for name, values in state.items()}
        self.scenes.step(rows, last, (self._elapsed[rows], info["success"]))
        self._restart(rows)
        # One look at the rows as they go on and as they ended costs less than two.
        both = {name: np.concatenate([state[name], last[name]], -1) for name in state}
        seen = self._observe(both)
        obs, final_obs = cut(seen, self.num_envs)
        return Step(obs, reward, terminated, truncated, final_obs, info)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return everything for bit-exact continuation."""
        counters = {"seed": self._seed, "episode": self._episode, "elapsed": self._elapsed}
        return {name: values.copy() for name, values in {**self.state, **counters}.items()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave for as many rows of the same task."""
        own = fitting(state, self.state_dict(), self.num_envs)
        self._seed, self._episode, self._elapsed = (
            own.pop(name) for name in ("seed", "episode", "elapsed")
        )
        self.state = own
        self.scenes.forget()

    def render(self, row: int = 0) -> np.ndarray:
        """Draw one row; right after its episode ended, the end of it."""
        return self.scenes.draw(row, self.state, self._elapsed)

    def close(self) -> None:
        """Hold nothing that needs giving back."""

    def _fresh(self, rows: np.ndarray) -> State:
        draws = counter.uniform(np, self._seed[rows], self._episode[rows], self._slots)
        return self.task.begin(np, draws)

    def _restart(self, rows: np.ndarray) -> None:
        self._episode[rows] += 1
        self._elapsed[rows] = 0
        for name, values in self._fresh(rows).items():
            self.state[name][..., rows] = values

    def _observe(self, state: State) -> Array:
        seen = self.task.observe(np, state)
        if isinstance(seen, dict):
            return {key: np.ascontiguousarray(part) for key, part in seen.items()}
        return np.ascontiguousarray(seen)

    def _bounded(self, action: np.ndarray) -> np.ndarray:
        """Return the action row-last and within the bounds, without touching the caller's."""
        space = self.action_space
        if isinstance(space, spaces.Discrete):
            return np.asarray(action).reshape(self.num_envs)
        own = np.ascontiguousarray(np.asarray(action, dtype=np.float32).T)
        return np.minimum(np.maximum(own, space.low[:, None]), space.high[:, None])


def fitting(
    state: Mapping[str, np.ndarray], known: Mapping[str, np.ndarray], num_envs: int
) -> dict[str, np.ndarray]:
    """Return copies of stored arrays in the types of the known ones; their shapes must agree."""
    if set(state) != set(known):
        raise IntegrityError(
            f"the state holds {sorted(state)}, the task needs {sorted(known)}: another task's?"
        )
    for name, values in known.items():
        if state[name].shape != values.shape:
            raise IntegrityError(
                f"the state's {name} is {state[name].shape}, {values.shape} is needed for "
                f"{num_envs} rows: set env.num_envs to what the run had"
            )
    return {name: np.array(state[name], dtype=values.dtype) for name, values in known.items()}
