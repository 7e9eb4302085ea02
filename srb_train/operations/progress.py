"""How far a run is while it trains, gathered from its heartbeat for whoever shows it."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from srb_train.runs import metrics
from srb_train.runs.store import Run
from srb_train.supervisor import Display

__all__ = ["Display", "Progress", "Run", "Watch"]

HISTORY = 400
"""Values that are kept of each measure."""
CHECKPOINT_SECONDS = 1.0
"""How often the checkpoint folder is looked at."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One look at a run that trains; steps are transitions over all copies."""

    title: str
    """What is trained on what."""
    name: str
    """The run's folder."""
    phase: str
    step: int
    budget: int
    rate: float | None
    """Transitions a second."""
    elapsed: float
    """Seconds since the watch began."""
    returns: tuple[float, ...] = ()
    """Mean episode return, oldest first."""
    successes: tuple[float, ...] = ()
    """Share of the episodes that succeeded, 0 to 1, oldest first."""
    checkpoint: int | None = None
    """Step of the newest checkpoint."""

    @property
    def share(self) -> float:
        """The part of the budget that is done, 0 to 1."""
        return min(1.0, self.step / self.budget) if self.budget else 1.0

    @property
    def eta(self) -> float | None:
        """Seconds until the budget is spent at this rate; None while there is no rate."""
        if self.step >= self.budget:
            return 0.0
        return (self.budget - self.step) / self.rate if self.rate else None


class Watch:
    """Looks at a run again and again and keeps what was measured."""

    def __init__(
        self,
        title: str,
        budget: int,
        begun_at: int = 0,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Watch a run go from step `begun_at` to `budget`; beats older than the watch are stale."""
        self.title = title
        self.budget = budget
        self.begun_at = begun_at
        self._clock = clock
        self._begun = clock()
        self._begun_wall = wall_clock()
        self._measured: Mapping[str, Any] = {}
        self._returns: deque[float] = deque(maxlen=HISTORY)
        self._successes: deque[float] = deque(maxlen=HISTORY)
        self._checkpoint: int | None = None
        self._checkpoint_looked = -CHECKPOINT_SECONDS

    def look(self, run: Run) -> Progress:
        """Return where the run stands now."""
        beat = run.heartbeat() or {}
        if beat.get("time", 0.0) < self._begun_wall:
            beat = {}
        self._remember(beat.get("values") or {})
        step = beat.get("step")
        return Progress(
            title=self.title,
            name=run.name,
            phase=beat.get("phase") or "starting",
            step=self.begun_at if step is None else step,
            budget=self.budget,
            rate=beat.get("rate"),
            elapsed=self._clock() - self._begun,
            returns=tuple(self._returns),
            successes=tuple(self._successes),
            checkpoint=self._newest(run),
        )

    def _remember(self, values: Mapping[str, Any]) -> None:
        """Keep values that are new: a beat repeats the last ones until there are others."""
        if values == self._measured:
            return
        self._measured = values
        for tag, kept in ((metrics.RETURN, self._returns), (metrics.SUCCESS, self._successes)):
            value = values.get(tag)
            if value is not None:
                kept.append(float(value))

    def _newest(self, run: Run) -> int | None:
        now = self._clock() - self._begun
        if now - self._checkpoint_looked >= CHECKPOINT_SECONDS:
            self._checkpoint_looked = now
            complete = run.checkpoints().all()
            self._checkpoint = complete[-1].step if complete else None
        return self._checkpoint
