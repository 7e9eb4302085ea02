"""One evaluation loop for every policy and every environment, with intervals that say how sure.

Each copy plays a fixed number of episodes: counting whichever end first would favour the short
ones, which are often the bad ones.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from srb_train.contracts import Array, BatchedEnv, Policy, Step
from srb_train.errors import UnsupportedError, UsageError
from srb_train.runs.files import finite

LEVEL = 0.95
ENDLESS_EPISODE = 10_000
"""Steps granted to an episode of a task that has no time limit."""

StopReason = Literal["completed", "step_budget", "stopped"]
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Episode:
    """How one counted episode went."""

    row: int
    total: float
    """Undiscounted return."""
    length: int
    terminated: bool
    """The task's own end; otherwise a limit cut it."""
    success: bool | None
    """None where the task does not tell."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; a return that is not finite is null and says what it was."""
        known = finite(self.total)
        return {
            "row": self.row,
            "return": known,
            "length": self.length,
            "end": "terminated" if self.terminated else "truncated",
            "success": self.success,
            **({} if known is not None else {"non_finite": str(self.total)}),
        }


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What an evaluation found, and whether it found all that was asked for."""

    requested: int
    episodes: tuple[Episode, ...]
    seed: int
    num_envs: int
    steps: int
    """Steps that every copy made."""
    max_steps: int
    stop_reason: StopReason

    @property
    def successes(self) -> int | None:
        """Episodes that succeeded; None where the task has no success signal."""
        told = [episode.success for episode in self.episodes if episode.success is not None]
        return sum(told) if told else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data that strict JSON can hold; what is unknown is null."""
        returns = [episode.total for episode in self.episodes]
        lengths = [float(episode.length) for episode in self.episodes]
        done = len(self.episodes)
        return {
            "episodes_requested": self.requested,
            "episodes_completed": done,
            "complete": done == self.requested,
            "stop_reason": self.stop_reason,
            "num_envs": self.num_envs,
            "seed": self.seed,
            "steps": self.steps,
            "max_steps": self.max_steps,
            "episode_sampling": "per_env_quota",
            **_moments("return", returns),
            "return_interval": _bounds(mean_interval(returns)),
            "min_return": finite(min(returns)) if returns else None,
            "max_return": finite(max(returns)) if returns else None,
            "non_finite_returns": sum(not math.isfinite(value) for value in returns),
            **_moments("length", lengths),
            **self._success(),
            "intervals": {"level": LEVEL, "return": "student_t", "success_rate": "wilson"},
            "episodes": [episode.as_dict() for episode in self.episodes],
        }

    def _success(self) -> dict[str, Any]:
        told = sum(episode.success is not None for episode in self.episodes)
        successes = self.successes
        if successes is None:
            names = ("success_rate", "success_interval", "successes", "failures")
            return dict.fromkeys(names)
        return {
            "success_rate": successes / told,
            "success_interval": list(rate_interval(successes, told)),
            "successes": successes,
            "failures": told - successes,
        }


class ZeroPolicy:
    """Does nothing: zeros, moved into the bounds of a Box; the first of several choices."""

    def __init__(self, space: spaces.Space, num_envs: int) -> None:
        """Act for `num_envs` rows in the action space of one row."""
        if isinstance(space, spaces.Box):
            row = np.clip(np.zeros(space.shape), space.low, space.high).astype(space.dtype)
        elif isinstance(space, spaces.Discrete):
            row = np.asarray(space.start)
        elif isinstance(space, spaces.MultiDiscrete):
            row = space.start
        elif isinstance(space, spaces.MultiBinary):
            row = np.zeros(space.shape, space.dtype)
        else:
            raise UnsupportedError(f"there is no zero in the action space {space}")
        self._action = np.stack([row] * num_envs)

    def act(self, obs: Array) -> Array:
        """Return the same (N, *action) whatever is seen."""
        return self._action.copy()

    def reset(self, rows: Array) -> None:
        """Remember nothing."""


class RandomPolicy:
    """Acts at random: uniform between bounds, standard normal where there is none."""

    def __init__(self, space: spaces.Space, num_envs: int, seed: int) -> None:
        """Act for `num_envs` rows in the action space of one row, from a generator of its own."""
        draws: dict[type, Callable[[Any, np.random.Generator, int], np.ndarray]] = {
            spaces.Box: _draw_box,
            spaces.Discrete: _draw_discrete,
            spaces.MultiDiscrete: _draw_choices,
            spaces.MultiBinary: _draw_bits,
        }
        if type(space) not in draws:
            raise UnsupportedError(f"there is no random action for the action space {space}")
        self._draw = draws[type(space)]
        self._space = space
        self._num_envs = num_envs
        self._generator = np.random.default_rng(seed)

    def act(self, obs: Array) -> Array:
        """Draw (N, *action) whatever is seen."""
        return self._draw(self._space, self._generator, self._num_envs)

    def reset(self, rows: Array) -> None:
        """Remember nothing: episodes do not begin the same draws anew."""


def evaluate(
    policy: Policy,
    env: BatchedEnv,
    episodes: int,
    seed: int,
    *,
    on_episode: Callable[[Episode], None] = lambda episode: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Evaluation:
    """Play `episodes` from row seeds seed + i; the same arguments give the same result.

    Each copy plays episodes // N, the lowest ones one more where that leaves a rest. A copy may
    make twice the steps that its episodes last at most (`ENDLESS_EPISODE` each without a limit);
    `stopped` is asked before every step. Either way the result tells what was completed.
    """
    if episodes < 1:
        raise UsageError(f"episodes={episodes}: at least 1")
    tally = Tally(quotas(episodes, env.num_envs))
    max_steps = (env.max_episode_steps or ENDLESS_EPISODE) * int(tally.quota.max()) * 2
    obs = env.reset(seed)
    policy.reset(np.ones(env.num_envs, dtype=bool))
    steps, reason = 0, None
    while reason is None:
        reason = _reason_to_stop(tally, steps >= max_steps, stopped)
        if reason is None:
            result = env.step(policy.act(obs))
            steps += 1
            for episode in tally.add(result):
                on_episode(episode)
            if result.final_obs is not None:
                policy.reset(_numpy(result.terminated) | _numpy(result.truncated))
            obs = result.obs
    return Evaluation(
        requested=episodes,
        episodes=tuple(tally.episodes),
        seed=seed,
        num_envs=env.num_envs,
        steps=steps,
        max_steps=max_steps,
        stop_reason=reason,
    )


def _reason_to_stop(tally: "Tally", spent: bool, stopped: Callable[[], bool]) -> StopReason | None:
    if tally.complete:
        return "completed"
    if stopped():
        return "stopped"
    return "step_budget" if spent else None


def quotas(episodes: int, num_envs: int) -> np.ndarray:
    """Share episodes among rows (N,) int64; what does not divide goes to the lowest rows."""
    return episodes // num_envs + (np.arange(num_envs) < episodes % num_envs)


class Tally:
    """Counts the episodes of N rows, each up to its quota."""

    def __init__(self, quota: np.ndarray) -> None:
        """Begin with every row at the start of its first episode."""
        self.quota = quota
        self.episodes: list[Episode] = []
        self._left = quota.copy()
        self._total = np.zeros(len(quota))
        self._length = np.zeros(len(quota), dtype=np.int64)

    @property
    def complete(self) -> bool:
        """Whether every row has played its quota."""
        return not self._left.any()

    def add(self, step: Step) -> list[Episode]:
        """Take one step of all rows; returns the episodes that it ended and that count."""
        self._total += _numpy(step.reward)
        self._length += 1
        if step.final_obs is None:
            return []
        terminated = _numpy(step.terminated)
        rows = np.flatnonzero(terminated | _numpy(step.truncated))
        told = step.info.get("success")
        counted = [
            Episode(
                row=int(row),
                total=float(self._total[row]),
                length=int(self._length[row]),
                terminated=bool(terminated[row]),
                success=None if told is None else bool(told[place]),
            )
            for place, row in enumerate(rows)
            if self._left[row]
        ]
        self._left[[episode.row for episode in counted]] -= 1
        self._total[rows] = 0.0
        self._length[rows] = 0
        self.episodes += counted
        return counted


def mean_interval(values: list[float]) -> Interval | None:
    """Return Student's t interval of the mean; None below two values or if one is not finite."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return None
    mean = statistics.fmean(values)
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean - half, mean + half


def rate_interval(successes: int, trials: int) -> Interval:
    """Return Wilson's score interval of a rate (Wilson 1927, J. Am. Stat. Assoc. 22, 209)."""
    z = statistics.NormalDist().inv_cdf(0.5 + LEVEL / 2)
    rate, spread = successes / trials, z * z / trials
    middle = (rate + spread / 2) / (1 + spread)
    half = math.sqrt(rate * (1 - rate) * spread + spread * spread / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def t_quantile(freedom: int) -> float:
    """Return the t that a share `LEVEL` of Student's distribution lies within, by bisection."""
    low, high = 0.0, 64.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _t_within(middle, min(freedom, 10_000)) < LEVEL:
            low = middle
        else:
            high = middle
    return high


def _t_within(t: float, freedom: int) -> float:
    """Return P(|T| < t) by the finite series of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    term = total = math.cos(angle) if odd else 1.0
    for power in range(2 + odd, freedom - 1, 2):
        term *= square * (power - 1) / power
        total += term
    if freedom == 1:
        return 2 / math.pi * angle
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _moments(name: str, values: list[float]) -> dict[str, float | None]:
    """Return the mean, and the sample's standard deviation from two values on."""
    if not values or not all(map(math.isfinite, values)):
        return {f"mean_{name}": None, f"std_{name}": None}
    spread = statistics.stdev(values) if len(values) > 1 else None
    return {f"mean_{name}": statistics.fmean(values), f"std_{name}": spread}


def _bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _numpy(array: Array) -> np.ndarray:
    """Return an array of any library as NumPy's, from whatever device."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def _draw_box(space: spaces.Box, generator: np.random.Generator, count: int) -> np.ndarray:
    shape = (count, *space.shape)
    bounded = np.isfinite(space.low) & np.isfinite(space.high)
    low, high = np.where(bounded, space.low, 0.0), np.where(bounded, space.high, 1.0)
    whole = np.dtype(space.dtype).kind in "iu"
    inside = generator.uniform(low, high + whole, shape)
    free = np.clip(generator.standard_normal(shape), space.low, space.high)
    drawn: np.ndarray = np.where(bounded, np.floor(inside) if whole else inside, free)
    return drawn.astype(space.dtype)


def _draw_discrete(
    space: spaces.Discrete, generator: np.random.Generator, count: int
) -> np.ndarray:
    return generator.integers(space.start, space.start + space.n, count)


def _draw_choices(
    space: spaces.MultiDiscrete, generator: np.random.Generator, count: int
) -> np.ndarray:
    return generator.integers(space.start, space.start + space.nvec, (count, *space.shape))


def _draw_bits(space: spaces.MultiBinary, generator: np.random.Generator, count: int) -> np.ndarray:
    return generator.integers(0, 2, (count, *space.shape), dtype=np.int8)
