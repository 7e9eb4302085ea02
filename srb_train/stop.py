"""A wish to stop: set by signals or by the loss of the supervisor, read by the training loop.

The first SIGINT, SIGTERM or SIGHUP asks to stop at the next boundary, within the grace period;
a second one asks to leave at the next step. SIGUSR1 asks for a checkpoint at the next boundary.
"""

import os
import signal
import threading
import time
from dataclasses import dataclass
from types import FrameType

GRACE_SECONDS = 6.0
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Stop:
    """What was asked for so far; attributes are plain so that a hot loop reads them cheaply."""

    grace: float = GRACE_SECONDS
    reason: str | None = None
    """Name of the first stopping signal, or "SUPERVISOR_LOST"."""
    checkpoint_now: bool = False
    _asked_at: float = 0.0
    _urgent: bool = False

    @property
    def requested(self) -> bool:
        """Whether the loop should leave at its next boundary."""
        return self.reason is not None

    @property
    def overdue(self) -> bool:
        """Whether the loop should leave now, boundary or not."""
        if self.reason is None:
            return False
        return self._urgent or time.monotonic() - self._asked_at > self.grace

    def ask(self, reason: str) -> None:
        """Ask for a stop; asking again makes it urgent."""
        if self.reason is None:
            self.reason = reason
            self._asked_at = time.monotonic()
        else:
            self._urgent = True

    def install(self) -> None:
        """Let this process's signals speak to this object."""
        for number in STOPPING:
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGUSR1, self._on_checkpoint)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.ask(signal.Signals(number).name)

    def _on_checkpoint(self, number: int, frame: FrameType | None) -> None:
        self.checkpoint_now = True

    def watch(self, descriptor: int) -> None:
        """Ask for a stop when a stream that the supervisor holds open comes to its end.

        The stream is taken away from the process: a task that reads standard input meets its end
        at once instead of waiting for ever.
        """
        private = os.dup(descriptor)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, descriptor)
        os.close(nothing)

        def wait_for_end() -> None:
            while os.read(private, 4096):
                pass
            self.ask("SUPERVISOR_LOST")

        threading.Thread(target=wait_for_end, name="supervisor-watch", daemon=True).start()
