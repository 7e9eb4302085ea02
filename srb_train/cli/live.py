"""The live display: one panel that stays at the bottom while the worker's lines scroll above it."""

import time
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from srb_train.cli import wording
from srb_train.operations.progress import Progress, Run, Watch

SECONDS_BETWEEN_DRAWINGS = 0.5
_FRAME = 4
_NAME = 10
_VALUE = 12


class LivePanel:
    """Draws the panel of a run on a terminal."""

    def __init__(self, watch: Watch, stream: TextIO) -> None:
        """Draw on `stream`; nothing is drawn before the first look."""
        self._watch = watch
        self._console = Console(file=stream, highlight=False, markup=False)
        self._live = Live(console=self._console, auto_refresh=False)
        self._drawn_at = 0.0

    def line(self, text: str) -> None:
        """Print a line of the worker above the panel."""
        self._console.print(Text.from_ansi(text), soft_wrap=True)

    def tick(self, run: Run) -> None:
        """Draw again if the last drawing is old enough."""
        if time.monotonic() - self._drawn_at >= SECONDS_BETWEEN_DRAWINGS:
            self._draw(run)

    def close(self, run: Run) -> None:
        """Leave the last picture on the screen."""
        self._draw(run)
        self.stop()

    def stop(self) -> None:
        """Give the terminal back; a second call does nothing."""
        self._live.stop()

    def _draw(self, run: Run) -> None:
        self._drawn_at = time.monotonic()
        width, ascii_only = self._console.width, self._console.options.ascii_only
        picture = panel(self._watch.look(run), width, ascii_only=ascii_only)
        self._live.start()
        self._live.update(picture, refresh=True)


def panel(seen: Progress, width: int, *, ascii_only: bool = False) -> Panel:
    """Return the picture of one look at a run, for a terminal of `width` characters."""
    inner = width - _FRAME
    rows = Table.grid(padding=(0, 1))
    rows.add_column(width=_NAME, no_wrap=True, style="dim")
    rows.add_column(no_wrap=True, overflow="ellipsis")
    room = max(4, inner - _NAME - 1)
    gauge = wording.gauge(seen.share, max(4, min(40, room - 30)), ascii_only=ascii_only)
    rows.add_row(
        seen.phase,
        Text.assemble((gauge, "cyan"), f" {seen.share:4.0%}  {seen.step:,} of {seen.budget:,}"),
    )
    rows.add_row("speed", _speed(seen))
    for name, values, style in (
        ("return", seen.returns, "magenta"),
        ("success", seen.successes, "green"),
    ):
        if values:
            rows.add_row(name, _history(values, max(4, room - _VALUE), style, ascii_only))
    rows.add_row("saved", f"step {seen.checkpoint:,}" if seen.checkpoint is not None else "-")
    title = Text(seen.title, style="bold")
    return Panel(rows, title=title, title_align="left", subtitle=seen.name, width=width)


def _speed(seen: Progress) -> str:
    passed, left = wording.duration(seen.elapsed), wording.duration(seen.eta)
    return f"{wording.rate(seen.rate)}   {passed} passed, {left} to go"


def _history(values: tuple[float, ...], width: int, style: str, ascii_only: bool) -> Text:
    bars = wording.bars(values, min(width, 40), ascii_only=ascii_only)
    return Text.assemble(f"{wording.number(values[-1]):<{_VALUE - 1}} ", (bars, style))
