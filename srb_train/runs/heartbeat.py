"""heartbeat.json: a sign of life that a worker renews once a second, and everybody may read."""

import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from srb_train.errors import IntegrityError
from srb_train.runs import files, status

WINDOW = 15
"""Beats over which the step rate is measured."""


class Heartbeat:
    """Tells a file about the training, from a thread of its own.

    `update` only keeps values, so a hot loop can call it at every step. The file is a lease, not
    evidence: it is replaced whole but never forced onto the disk, for after a power cut nobody
    may believe it anyway. What the disk refuses is dropped; training goes on.
    """

    __slots__ = (
        "_budget",
        "_facts",
        "_interval",
        "_path",
        "_phase",
        "_progress_at",
        "_seen",
        "_silence",
        "_step",
        "_thread",
        "_values",
        "failure",
    )

    def __init__(self, path: Path, interval: float = 1.0, *, budget: int | None = None) -> None:
        """Prepare to write `path` every `interval` seconds; `budget` is the step to reach."""
        self.failure: str | None = None
        """Why the last beat was not written; None when it was."""
        self._path = path
        self._interval = interval
        self._budget = budget
        self._facts = {
            "pid": os.getpid(),
            "started": status.process_started(os.getpid()),
            "boot_id": status.boot_id(),
            "host": status.this_host(),
        }
        self._step: int | None = None
        self._phase: str | None = None
        self._values: dict[str, float | None] = {}
        self._progress_at: float | None = None
        self._seen: deque[tuple[float, int]] = deque(maxlen=WINDOW)
        self._silence = threading.Event()
        self._thread: threading.Thread | None = None

    def update(
        self, step: int, values: Mapping[str, float] | None = None, phase: str | None = None
    ) -> None:
        """Keep the step and, if given, the phase and the newest values by their tags."""
        self._step = step
        if values is not None:
            finite = {tag: files.finite(value) for tag, value in values.items()}
            self._values = {**self._values, **finite}
        if phase is not None:
            self._phase = phase

    def start(self) -> None:
        """Write the first beat and go on from a daemon thread."""
        self.beat()
        self._thread = threading.Thread(target=self._live, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the last beat and end the thread; a second call does nothing."""
        self._silence.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
            self.beat()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop."""
        self.stop()

    def beat(self) -> None:
        """Write the file now."""
        try:
            files.write_json(self._path, self._picture(), durable=False)
            self.failure = None
        except OSError as error:
            self.failure = str(error)

    def _live(self) -> None:
        while not self._silence.wait(self._interval):
            self.beat()

    def _picture(self) -> dict[str, Any]:
        step = self._step
        if step is not None:
            self._look(step)
        return {
            **self._facts,
            "time": time.time(),
            "step": step,
            "budget": self._budget,
            "progress_at": self._progress_at,
            "rate": self._rate(),
            "phase": self._phase,
            "values": self._values,
        }

    def _look(self, step: int) -> None:
        if not self._seen or step != self._seen[-1][1]:
            self._progress_at = time.time()
        self._seen.append((time.monotonic(), step))

    def _rate(self) -> float | None:
        """Return transitions a second over the window; None before there are two beats."""
        if len(self._seen) < 2:
            return None
        (since, first), (now, last) = self._seen[0], self._seen[-1]
        return (last - first) / max(now - since, 1e-9)


def read(path: Path) -> dict[str, Any] | None:
    """Return the last beat; None where there is none, or none that can be read."""
    try:
        data = files.read_json(path)
    except IntegrityError:
        return None
    return data if isinstance(data, dict) else None
