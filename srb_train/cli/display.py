"""What a person sees while a run trains: a live panel on a terminal, plain lines elsewhere."""

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from srb_train.cli import wording
from srb_train.operations import Plan
from srb_train.operations.progress import Display, Progress, Run, Watch

SECONDS_BETWEEN_LINES = 10.0
SHARE_BETWEEN_LINES = 0.05


@contextmanager
def opened(
    plan: Plan,
    *,
    plain: bool,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Display]:
    """Lend a display: the live panel where the cursor can move, plain lines otherwise.

    Whatever happens meanwhile, the terminal is given back as it was.
    """
    place = stream or sys.stdout
    watch = Watch(f"{plan.spec.algo} on {plan.spec.env}", plan.spec.steps, plan.step)
    if plain or not place.isatty() or environ.get("TERM", "dumb") == "dumb":
        yield PlainLines(watch, place)
        return
    # The drawing library costs as much as all else that a command imports; only this needs it.
    live = importlib.import_module("srb_train.cli.live")
    panel = live.LivePanel(watch, place)
    try:
        yield panel
    finally:
        panel.stop()


class PlainLines:
    """Passes the worker's lines on and adds a progress line now and then."""

    def __init__(
        self, watch: Watch, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Write to `stream`; `clock` counts seconds."""
        self._watch = watch
        self._stream = stream
        self._clock = clock
        self._said_at = clock()
        self._said_step: int | None = None

    def line(self, text: str) -> None:
        """Print a line of the worker as it is."""
        print(text, file=self._stream, flush=True)

    def tick(self, run: Run) -> None:
        """Print where the run is, then a progress line at each share of the budget, or in time."""
        seen = self._watch.look(run)
        if self._said_step is None:
            self._said_step = seen.step
            self.line(f"{seen.title}: {run.path}")
        late = self._clock() - self._said_at >= SECONDS_BETWEEN_LINES
        far = seen.step - self._said_step >= SHARE_BETWEEN_LINES * seen.budget
        if seen.step > self._said_step and (late or far):
            self._said_at, self._said_step = self._clock(), seen.step
            self.line(progress_line(seen))

    def close(self, run: Run) -> None:
        """Say nothing more: a summary follows."""


def progress_line(seen: Progress) -> str:
    """Return one line on how far a run is."""
    parts = [
        f"step {seen.step:,} of {seen.budget:,} ({seen.share:.0%})",
        wording.rate(seen.rate),
        f"{wording.duration(seen.eta)} to go",
    ]
    if seen.returns:
        parts.append(f"return {wording.number(seen.returns[-1])}")
    if seen.successes:
        parts.append(f"success {seen.successes[-1]:.0%}")
    return "   ".join(parts)
