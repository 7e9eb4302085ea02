"""`srb run top`: all runs on one screen, renewed every few seconds.

Files are looked at in a thread, so that keys answer while a disk is slow; the next look begins
only when the last one is over, and later the longer that one took. What a thread has found lies in
a queue until the screen takes it: a thread never waits for the screen, which may be gone.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Log, Static

from srb_train import operations
from srb_train.cli import chart, wording
from srb_train.errors import SrbError, UsageError
from srb_train.operations.watching import LIVING, Board, Curve, Machine

Row = Mapping[str, Any]

EVERY_SECONDS = 2.0
LOG_LINES = 200
TICK_SECONDS = 0.1
_REST = 10.0
"""A look may take one part in this many of the time."""
_COLUMNS = ("run", "status", "step", "done", "rate", "to go", "return", "success", "seen")
_STYLES = {
    "running": "green",
    "starting": "cyan",
    "waiting": "cyan",
    "stopping": "yellow",
    "failed": "red",
    "lost": "red",
    "completed": "blue",
}


def opened(logdir: Path | None, every: float) -> int:
    """Show the runs below a log root until the person has seen enough."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("this needs a terminal; `srb run list` prints the same rows")
    Dashboard(logdir, every).run()
    return 0


class Question(ModalScreen[bool]):
    """Asks for a yes or a no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
    ]
    CSS = """
    Question { align: center middle; }
    #question { width: auto; max-width: 80%; height: auto; padding: 1 3; border: round $warning; }
    """

    def __init__(self, text: str) -> None:
        """Ask `text`."""
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Put the question in the middle."""
        yield Static(Text(f"{self._text}\n\ny: yes   n: no"), id="question")

    def action_answer(self, answer: bool) -> None:
        """Take the answer."""
        self.dismiss(answer)


class Dashboard(App[None]):
    """The table of runs, the curve or the log of the one under the cursor, and the machine."""

    TITLE = "srb run top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("s", "stop", "Stop"),
        Binding("f", "follow", "Log"),
        Binding("r", "refresh", "Refresh"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("escape", "unfilter", "All", show=False),
    ]
    CSS = """
    #machine { height: 1; padding: 0 1; background: $panel; }
    #runs { height: 1fr; }
    #below { height: 14; border-top: solid $panel; }
    #filter { display: none; }
    #log { display: none; }
    """

    def __init__(self, logdir: Path | None = None, every: float = EVERY_SECONDS) -> None:
        """Look at the runs below a log root every so many seconds."""
        super().__init__()
        self._board = Board(logdir)
        self._machine = Machine()
        self._every = every
        self._words = ""
        self._rows: dict[str, Row] = {}
        self._cells: dict[str, list[Text]] = {}
        self._selected: str | None = None
        self._follows = False
        self._curve: Curve | None = None
        self._looking = False
        self._next_look = 0.0
        self._arrived: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._logged: tuple[str | None, Sequence[str]] = (None, ())

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static(id="machine")
        yield DataTable(id="runs", cursor_type="row", zebra_stripes=True)
        yield Input(id="filter", placeholder="words that the run or its status must have")
        with Vertical(id="below"):
            yield Static(id="curve")
            yield Log(id="log", max_lines=LOG_LINES)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        table = self._table()
        for name in _COLUMNS:
            table.add_column(name.upper(), key=name)
        table.focus()
        self.set_interval(TICK_SECONDS, self._tick)
        self.action_refresh()

    def _table(self) -> DataTable[Text]:
        return self.query_one("#runs", DataTable)

    def _tick(self) -> None:
        while not self._arrived.empty():
            self._arrived.get()()
        if time.monotonic() >= self._next_look:
            self.action_refresh()

    def action_refresh(self) -> None:
        """Look again, unless a look is on its way."""
        if not self._looking:
            self._looking = True
            self.run_worker(self._look, thread=True, group="look")

    def _look(self) -> None:
        """Read what is to be shown; runs in a thread."""
        begun = time.monotonic()
        asked = words, selected, follows = self._words, self._selected, self._follows
        found = self._board.look(words)
        machine = self._machine.look()
        points, lines = self._of_selected(selected, follows)
        rest = max(self._every, _REST * (time.monotonic() - begun))
        self._arrived.put(lambda: self._show(found, machine, points, lines))
        self._next_look = time.monotonic() + rest
        self._looking = False
        if asked != (self._words, self._selected, self._follows):
            self._next_look = 0.0

    def _of_selected(
        self, path: str | None, follows: bool
    ) -> tuple[chart.Curve, Sequence[str] | None]:
        """Return the curve of a run, or its newest lines where these are followed."""
        if path is None or not Path(path).is_dir():
            return [], None
        try:
            if follows:
                return [], operations.tail(path, last_n=LOG_LINES)["lines"]
            if self._curve is None or str(self._curve.path) != path:
                self._curve = Curve(Path(path))
            return self._curve.points(), None
        except (SrbError, OSError) as error:
            return [], [str(error)]

    def _show(
        self, found: Row, machine: Row, points: chart.Curve, lines: Sequence[str] | None
    ) -> None:
        self.query_one("#machine", Static).update(_machine_line(machine, found))
        self._fill({row["path"]: row for row in found["rows"]})
        self.query_one("#curve", Static).update(self._drawn(points))
        logged = (self._selected, lines or ())
        if lines is not None and logged != self._logged:
            self._logged = logged
            log = self.query_one("#log", Log)
            log.clear()
            log.write_lines(lines)

    def _fill(self, rows: Mapping[str, Row]) -> None:
        """Bring the table up to date; the cursor stays on its run."""
        table = self._table()
        cells = {path: _cells(row) for path, row in rows.items()}
        if list(cells) == list(self._cells):
            for path, line in cells.items():
                for name, new, old in zip(_COLUMNS, line, self._cells[path], strict=True):
                    if new != old:
                        table.update_cell(path, name, new)
        else:
            table.clear()
            for path, line in cells.items():
                table.add_row(*line, key=path)
            if self._selected in cells:
                table.move_cursor(row=list(cells).index(self._selected), animate=False)
        self._rows, self._cells = dict(rows), cells

    def _drawn(self, points: chart.Curve) -> Text:
        row = self._rows.get(self._selected or "")
        if row is None:
            return Text("no run is chosen")
        head = Text(f"{row['run']}: mean return over environment steps\n", style="bold")
        if not points:
            return head + Text(f"no return was measured yet ({row['reason']})")
        size = self.query_one("#below").size
        cells = chart.drawn([points], chart.Size(width=size.width - 1, height=size.height - 1))
        return head + Text("\n").join(
            Text.assemble(*((cell.text, "" if cell.curve is None else "green") for cell in line))
            for line in cells
        )

    def on_data_table_row_highlighted(self, event: "DataTable.RowHighlighted") -> None:
        """Choose the run under the cursor."""
        chosen = event.row_key.value if event.row_key is not None else None
        if chosen != self._selected:
            self._selected = chosen
            self._next_look = 0.0

    def action_follow(self) -> None:
        """Show the log in place of the curve, or the curve again."""
        self._follows = not self._follows
        self.query_one("#log", Log).display = self._follows
        self.query_one("#curve", Static).display = not self._follows
        self._logged = (None, ())
        self._next_look = 0.0

    def action_stop(self) -> None:
        """Ask whether the chosen run is to be stopped."""
        row = self._rows.get(self._selected or "")
        if row is None or row["status"] not in LIVING:
            self._say("there is nothing to stop" if row is None else f"it is {row['status']}")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._say(f"{row['run']} saves and stops")
                self.run_worker(lambda: self._stop(row["path"]), thread=True, group="stop")

        self.push_screen(Question(f"Stop {row['run']}? It saves its state first."), answered)

    def _stop(self, path: str) -> None:
        """Stop a run; runs in a thread, for it takes as long as saving does."""
        try:
            found = operations.stop(path)
            said = f"{found['run']} is {found['status']}"
        except SrbError as error:
            said = str(error)
        self._arrived.put(lambda: self._say(said))
        self._next_look = 0.0

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)

    def action_filter(self) -> None:
        """Let the person type what the runs must have in their names."""
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def action_unfilter(self) -> None:
        """Show all runs again."""
        box = self.query_one("#filter", Input)
        box.value = ""
        box.display = False
        self._table().focus()

    def on_input_changed(self, event: "Input.Changed") -> None:
        """Keep the words and look again with them."""
        self._words = event.value
        self._next_look = 0.0

    def on_input_submitted(self) -> None:
        """Go back to the table; the words stay."""
        self._table().focus()


def _machine_line(machine: Row, found: Row) -> Text:
    shown, total = len(found["rows"]), found["total"]
    used, memory = (wording.size(machine[f"memory_{name}"]) for name in ("used", "total"))
    parts = [
        f"{total:,} runs" if shown == total else f"{shown:,} of {total:,} runs",
        f"{found['living']} living",
        f"processors {machine['processors']:.0f}% of {machine['cores']}",
        f"load {machine['load']:.1f}",
        f"memory {used} of {memory}",
    ]
    for gpu in machine["gpus"]:
        busy = "-" if gpu["busy"] is None else f"{gpu['busy']}%"
        known = [gpu[name] for name in ("memory_used", "memory_total")]
        sizes = ("-" if each is None else wording.size(each) for each in known)
        parts.append(f"{gpu['name']} {busy}, {' of '.join(sizes)}")
    return Text("   ".join(parts))


def _cells(row: Row) -> list[Text]:
    """Return the cells of a run, in the order of the columns."""
    budget = row["budget"]
    share = "-" if not budget else f"{min(1.0, row['step'] / budget):.0%}"
    success = "-" if row["success"] is None else f"{row['success']:.0%}"
    return [
        Text(row["run"]),
        Text(row["status"], style=_STYLES.get(row["status"], "")),
        Text(f"{row['step']:,}", justify="right"),
        Text(share, justify="right"),
        Text("-" if row["rate"] is None else f"{row['rate']:,.0f}/s", justify="right"),
        Text(wording.duration(row["eta_seconds"]), justify="right"),
        Text(wording.number(row["return"]), justify="right"),
        Text(success, justify="right"),
        Text(f"{wording.duration(row['age'])} ago", justify="right"),
    ]
