"""How fast a run steps: one clock reading a step, percentiles at the end, constant memory.

Intervals fall into bins that each are 2 % wider than the one before, so a percentile is known
within 1 %, however long the run is. Totals, the mean, and the extremes are exact.
"""

import math
import time
from collections.abc import Callable
from typing import Any

PERCENTILES = (50, 90, 99)
_SHORTEST = 1e-7
_GROWTH = math.log(1.02)
_BINS = 1_400
"""From 0.1 µs to more than a day."""


class StepRates:
    """Intervals between steps of N copies; learning between two steps is part of the interval."""

    def __init__(self, num_envs: int, clock: Callable[[], float] = time.perf_counter) -> None:
        """Count `num_envs` transitions a step; the first tick only starts the clock."""
        self._num_envs = num_envs
        self._clock = clock
        self._last: float | None = None
        self._first_at: float | None = None
        self._bins = [0] * _BINS
        self._count = 0
        self._seconds = 0.0
        self._shortest = math.inf
        self._longest = 0.0

    def tick(self) -> None:
        """Take note that a step of all copies has just ended."""
        now = self._clock()
        if self._last is None:
            self._first_at = time.time()
        else:
            self._add(now - self._last)
        self._last = now

    def _add(self, seconds: float) -> None:
        place = int(math.log(seconds / _SHORTEST) / _GROWTH) if seconds > _SHORTEST else 0
        self._bins[min(place, _BINS - 1)] += 1
        self._count += 1
        self._seconds += seconds
        self._shortest = min(self._shortest, seconds)
        self._longest = max(self._longest, seconds)

    def percentile(self, percent: float) -> float | None:
        """Return the seconds that this share of the intervals does not exceed."""
        wanted = self._count * percent / 100
        below = 0
        for place, count in enumerate(self._bins):
            below += count
            if count and below >= wanted:
                middle = _SHORTEST * math.exp((place + 0.5) * _GROWTH)
                return min(max(middle, self._shortest), self._longest)
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: rates in transitions per second, intervals in seconds."""
        measured = self._count > 0
        return {
            "num_envs": self._num_envs,
            "intervals": self._count,
            "transitions": self._count * self._num_envs,
            "seconds": self._seconds,
            "first_step_at": self._first_at,
            "steps_per_second": self._rate(self._seconds / self._count) if measured else None,
            # Nine of ten steps are at least as fast as the rate named p90.
            "steps_per_second_percentiles": {
                f"p{percent}": self._rate(self.percentile(percent)) for percent in PERCENTILES
            },
            "seconds_per_step_percentiles": {
                f"p{percent}": self.percentile(percent) for percent in PERCENTILES
            },
            "seconds_per_step_min": self._shortest if measured else None,
            "seconds_per_step_max": self._longest if measured else None,
        }

    def as_text(self) -> str:
        """Return a few lines for a terminal."""
        facts = self.as_dict()
        if not self._count:
            return "perf: fewer than two steps, so there is no rate"
        times = "  ".join(
            f"{name} {1000 * seconds:.3g} ms"
            for name, seconds in facts["seconds_per_step_percentiles"].items()
        )
        return (
            f"perf: {facts['steps_per_second']:,.0f} transitions/s "
            f"({facts['transitions']:,} in {self._seconds:.1f} s, {self._num_envs} copies)\n"
            f"      time of a step of all copies, learning included: {times}  "
            f"max {1000 * self._longest:.3g} ms"
        )

    def _rate(self, seconds: float | None) -> float | None:
        return self._num_envs / seconds if seconds else None
