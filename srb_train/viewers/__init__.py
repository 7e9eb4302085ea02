"""Where a person watches a policy act: a window, a page in the browser, or a film.

All three show pictures that the task draws itself, so any task with `render` works in each.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from srb_train.contracts import Array

WINDOW, BROWSER, FILE = "window", "browser", "file"
SLOWEST, FASTEST = 0.05, 20.0
"""Bounds of the speed, as a multiple of real time."""

Press = Literal["pause", "step", "reset", "close"]
PRESSES: tuple[Press, ...] = ("pause", "step", "reset", "close")


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is told beside a picture; episode, step and return are those of the first row."""

    episode: int
    step: int
    total: float
    done: int
    """Episodes that have ended, over all rows."""
    successes: int | None
    """None where the task does not tell, or no episode has ended."""
    paused: bool
    speed: float

    def parts(self) -> list[str]:
        """Return short texts, to stand beside or below each other."""
        told = [f"episode {self.episode}", f"step {self.step}", f"return {self.total:.4g}"]
        if self.done:
            successes = "" if self.successes is None else f", {self.successes} with success"
            told.append(f"{self.done} ended{successes}")
        return [*told, "paused" if self.paused else f"speed {self.speed:.3g}x"]


class Viewer(Protocol):
    """Shows pictures to a person and hears what the person presses."""

    kind: str
    """Of `WINDOW`, `BROWSER`, `FILE`."""
    place: str | None
    """Where it is seen: an address, a file; None for a window."""
    live: bool
    """Whether pictures come in real time; a film takes each as soon as it is drawn."""
    speed: float
    """Multiple of real time, which the person may change."""

    def show(self, picture: Array, status: Status) -> None:
        """Show a picture, uint8 (height, width, 3), and what is told beside it."""

    def wait(self, seconds: float) -> None:
        """Serve the person for at most `seconds`; back at once when something was pressed."""

    def pressed(self) -> list[Press]:
        """Return what was pressed since the last call, oldest first."""
