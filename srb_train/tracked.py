"""The environment a family trains on: it counts, measures, guards and stops.

Everything here is true for every family, so no family does it: transitions are counted once,
episodes are measured on raw rewards, and a non-finite number is caught where it appears.
"""

from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from srb_train.contracts import Array, BatchedEnv, Step
from srb_train.errors import StopTraining, TrainingFailed
from srb_train.runs import metrics

WINDOW = 100


class EpisodeMeter:
    """Returns, lengths and successes of N rows, and a window of the episodes that ended."""

    def __init__(self, num_envs: int) -> None:
        """Begin with every row at the start of an episode."""
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, dtype=np.int64)
        self.count = 0
        window = max(WINDOW, num_envs)
        self.returns: deque[float] = deque(maxlen=window)
        self.successes: deque[float] = deque(maxlen=window)
        self._fresh: list[tuple[float, float]] = []
        self._fresh_facts: dict[str, list[float]] = {}

    def add(self, step: Step) -> None:
        """Take one step of all rows."""
        self._return += step.reward
        self._length += 1
        if step.final_obs is None:
            return
        rows = np.flatnonzero(step.terminated | step.truncated)
        ended = list(zip(self._return[rows].tolist(), self._length[rows].tolist(), strict=True))
        self._fresh += ended
        self.returns.extend(value for value, _ in ended)
        self.count += len(ended)
        self._return[rows] = 0.0
        self._length[rows] = 0
        for name, values in step.info.items():
            if name == "success":
                self.successes.extend(np.asarray(values, dtype=np.float64).tolist())
            if name != "log":
                facts = self._fresh_facts.setdefault(name, [])
                facts.extend(np.asarray(values, dtype=np.float64).ravel().tolist())

    @property
    def score(self) -> float | None:
        """Mean return over the window; None before the first episode has ended."""
        return float(np.mean(self.returns)) if self.returns else None

    def drain(self) -> dict[str, float]:
        """Return canonical scalars over the episodes since the last call, and forget them."""
        values: dict[str, float] = {metrics.EPISODES: float(self.count)}
        if self._fresh:
            returns, lengths = zip(*self._fresh, strict=True)
            values[metrics.RETURN] = float(np.mean(returns))
            values[metrics.LENGTH] = float(np.mean(lengths))
        for name, facts in self._fresh_facts.items():
            tag = metrics.SUCCESS if name == "success" else f"episode/{name}"
            values[tag] = float(np.mean(facts))
        self._fresh.clear()
        self._fresh_facts.clear()
        return values

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return the accumulators, the window and what was not drained yet."""
        state = {
            "return": self._return.copy(),
            "length": self._length.copy(),
            "count": np.array(self.count),
            "returns": np.array(self.returns),
            "successes": np.array(self.successes),
            "fresh": np.array(self._fresh, dtype=np.float64).reshape(-1, 2),
        }
        for name, facts in self._fresh_facts.items():
            state[f"fact/{name}"] = np.array(facts)
        return state

    def load_state_dict(self, state: Mapping[str, np.ndarray], *, episodes_go_on: bool) -> None:
        """Go on from `state_dict`; running episodes only if the environment goes on as well."""
        self.count = int(state["count"])
        self.returns.extend(state["returns"].tolist())
        self.successes.extend(state["successes"].tolist())
        self._fresh = [(value, length) for value, length in state["fresh"].tolist()]
        self._fresh_facts = {
            name.removeprefix("fact/"): values.tolist()
            for name, values in state.items()
            if name.startswith("fact/")
        }
        if episodes_go_on:
            self._return[:] = state["return"]
            self._length[:] = state["length"]


class NonFinite(TrainingFailed):
    """A NaN or infinity met by the guard; holds what is worth dumping."""

    def __init__(self, message: str, facts: Mapping[str, Array]) -> None:
        """Keep the arrays around the first non-finite number."""
        super().__init__(message)
        self.facts = facts


class TrackedEnv:
    """A `BatchedEnv` around another one, with the run's counter, meter and guard."""

    def __init__(
        self, env: BatchedEnv, *, on_step: Callable[[int], None], overdue: Callable[[], bool]
    ) -> None:
        """Wrap `env`; `on_step(num_envs)` counts, `overdue()` tells to leave at once."""
        self._env = env
        self._on_step = on_step
        self._overdue = overdue
        self.guard = True
        self.num_envs = env.num_envs
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.array = env.array
        self.device = env.device
        self.max_episode_steps = env.max_episode_steps
        self.render_fps = env.render_fps
        self.draws_endings = env.draws_endings
        self.meter = EpisodeMeter(env.num_envs)
        self.last_obs: Array = None

    def reset(self, seed: int) -> Array:
        """Start all rows anew."""
        self.last_obs = self._env.reset(seed)
        return self.last_obs

    def step(self, action: Array) -> Step:
        """Step all rows, count them, measure them, and look for non-finite numbers."""
        if self._overdue():
            raise StopTraining
        if self.guard:
            self._check_finite("action", action, action)
        result = self._env.step(action)
        if self.guard:
            self._check_finite("reward", result.reward, action)
            self._check_finite("observation", result.obs, action)
        self.meter.add(result)
        self.last_obs = result.obs
        self._on_step(self.num_envs)
        return result

    def _check_finite(self, what: str, values: Array, action: Array) -> None:
        if isinstance(values, Mapping):
            for key, part in values.items():
                self._check_finite(f"{what} {key}", part, action)
            return
        # One sum is finite exactly when no part is NaN or infinite, short of an overflow of
        # finite numbers, which the second look clears.
        if values.dtype.kind != "f" or np.isfinite(values.sum()) or np.isfinite(values).all():
            return
        place = tuple(int(axis[0]) for axis in np.nonzero(~np.isfinite(values)))
        row, rest = place[0], list(place[1:])
        term = f"{what}{rest if rest else ''}"
        facts = {"action": action, what.replace(" ", "_"): values, "row": np.array(row)}
        if not isinstance(self.last_obs, Mapping):
            facts["obs_before"] = self.last_obs
        raise NonFinite(f"non-finite {term} = {values[place]} in environment row {row}", facts)

    def state_dict(self) -> dict[str, Array] | None:
        """Return the state of the wrapped environment; None where it cannot tell."""
        return self._env.state_dict()

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Put the wrapped environment back."""
        self._env.load_state_dict(state)

    def render(self, row: int = 0) -> Array | None:
        """Draw one row of the wrapped environment."""
        return self._env.render(row)

    def close(self) -> None:
        """Close the wrapped environment."""
        self._env.close()
