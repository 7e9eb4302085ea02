"""Clips of a run while it trains: one process of low priority films its newest checkpoint.

Neither the learner nor its process is asked, and none of them waits: whoever watches the run looks
for new checkpoints and starts `srb_train.filming.child`, one at a time. What became of it is one
line in the log; that a film cannot be made fails no run.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from srb_train.runs import layout
from srb_train.runs.store import Run

LOOK_SECONDS = 1.0
"""Time between two looks for a new checkpoint."""
MOST_SECONDS = 600.0
"""How long one film may take before it is given up."""
MOST_FAILURES = 3
"""Failures in a row after which nothing more is tried."""
POLL_SECONDS = 0.2
_LINE_BYTES = 4096


class Filming:
    """Keeps an eye on the checkpoints of one run and has the newest of them filmed."""

    def __init__(
        self, run: Run, environ: Mapping[str, str], say: Callable[[str], None], *, wanted: bool
    ) -> None:
        """Look at `run`, if `wanted`; children get `environ`, and `say` gets a line for each."""
        self._run = run
        # A learner on the same accelerator needs its memory more.
        self._environ = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environ}
        self._say = say
        self._wanted = wanted
        self._child: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._tried = -1
        self._failures = 0
        self._begun = 0.0
        self._looked = -LOOK_SECONDS
        self.stopped_by: int | None = None
        """Number of the signal that ended the filming."""

    def look(self) -> None:
        """Start a film if there is a new checkpoint and no film is being made; returns at once."""
        now = time.monotonic()
        if not self._wanted or now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        self._reap()
        if self._child is None:
            self._start()

    def finish(self, *, complete: bool) -> None:
        """See the end: of a complete run the last checkpoint is filmed, any other film is left."""
        while complete and self._wanted and self.stopped_by is None:
            self._reap()
            if self._child is None and not self._start():
                return
            self._wait(POLL_SECONDS)
        self._abandon()

    def _abandon(self) -> None:
        """End a film that is being made; nothing of it is left."""
        if self._child is None:
            return
        self._child.terminate()
        if not self._wait(POLL_SECONDS * 10):
            self._kill(self._child)
        self._forget()

    def poll(self) -> int | None:
        """Say that signals are welcome, as a process that lives does."""
        return None

    def send_signal(self, number: int) -> None:
        """Give up on a signal that asks for the end."""
        if number != signal.SIGUSR1:
            self.stopped_by = number

    def _start(self) -> bool:
        """Start a film of the newest checkpoint; tells whether there is something to film."""
        newest = newest_step(self._run.path / layout.CHECKPOINTS)
        done = newest is None or newest <= self._tried or self._is_filmed(newest)
        if newest is None or done or self._failures >= MOST_FAILURES:
            return False
        self._tried = newest
        self._begun = time.monotonic()
        # No pipe: nobody would read it while the child talks.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the child
        self._child = subprocess.Popen(
            [sys.executable, "-m", "srb_train.filming.child", str(self._run.path)],
            env=self._environ,
            # Its end tells the child that nobody waits for it any more.
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return True

    def _is_filmed(self, step: int) -> bool:
        return any((self._run.path / layout.VIDEOS).glob(f"{clip_name(step)}.*"))

    def _reap(self) -> None:
        """Say what became of a film that is done, and end one that takes too long."""
        child = self._child
        if child is None:
            return
        late = time.monotonic() - self._begun > MOST_SECONDS
        if child.poll() is None and not late:
            return
        if child.poll() is None:
            self._kill(child)
        said = self._last_line() or "no word"
        failed = child.returncode != 0
        self._failures = self._failures + 1 if failed else 0
        reason = f"it took more than {MOST_SECONDS:.0f} s" if late else said
        self._say(f"video of step {self._tried:,} failed: {reason}" if failed else f"video: {said}")
        if self._failures == MOST_FAILURES:
            self._say(f"video: given up after {MOST_FAILURES} failures")
        self._forget()

    def _wait(self, seconds: float) -> bool:
        """Wait for the child; tells whether it has ended."""
        if self._child is None:
            return True
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)
        return self._child.poll() is not None

    def _kill(self, child: "subprocess.Popen[bytes]") -> None:
        """Kill the child with the environments that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def _last_line(self) -> str:
        if self._said is None:
            return ""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _LINE_BYTES))
        lines = self._said.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _forget(self) -> None:
        for stream in (self._said, self._child.stdin if self._child else None):
            if stream is not None:
                stream.close()
        self._child = self._said = None


def newest_step(folder: Path) -> int | None:
    """Return the highest step of a checkpoint folder by names alone; None where there is none."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return None
    return max((int(name) for name in names if name.isdecimal()), default=None)


def clip_name(step: int) -> str:
    """Return the name of the film of a step, without its suffix."""
    return f"step-{step}"
