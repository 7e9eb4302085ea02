"""What is shown while a run trains: plain lines off a terminal, a panel on one."""

import io
import os
import pty
import select

import pytest
from rich.console import Console

from srb_train.cli import display
from srb_train.cli.display import PlainLines
from srb_train.cli.live import LivePanel, panel
from srb_train.operations.progress import Progress, Watch
from tests.operations import scene

SEEN = Progress(
    title="toy_cem on landing",
    name="20261130T101502Z",
    phase="training",
    step=250_000,
    budget=500_000,
    rate=12_500.0,
    elapsed=20.0,
    returns=(-100.0, 20.0, 180.0),
    successes=(0.0, 0.5, 0.95),
    checkpoint=200_000,
)


class Plan:
    """The part of a plan that a display looks at."""

    spec = scene.spec()
    step = 0


def drawn(seen, width, **more):
    console = Console(file=io.StringIO(), width=width, color_system=None, **more)
    console.print(panel(seen, width, ascii_only=console.options.ascii_only))
    return console.file.getvalue()


def test_a_panel_says_what_how_far_how_fast_and_how_good():
    text = drawn(SEEN, 90)
    for words in (
        "toy_cem on landing",
        "20261130T101502Z",
        "training",
        "50%  250,000 of 500,000",
        "12,500 steps/s   20 s passed, 20 s to go",
        "180",
        "▁▄█",
        "0.95",
        "step 200,000",
    ):
        assert words in text, text


@pytest.mark.parametrize("width", [20, 40, 60, 79, 200])
def test_a_panel_never_is_wider_than_the_terminal(width):
    lines = drawn(SEEN, width).splitlines()
    assert {len(line) for line in lines} == {width}
    assert len(lines) == 7


def test_a_panel_before_the_first_episode_has_no_history():
    begun = Progress(
        title="a on b", name="x", phase="starting", step=0, budget=10, rate=None, elapsed=0.0
    )
    text = drawn(begun, 60)
    assert "return" not in text
    assert "success" not in text


def test_a_panel_is_ascii_where_the_encoding_has_no_bars():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=stream, width=80, color_system=None)
    console.print(panel(SEEN, 80, ascii_only=console.options.ascii_only))
    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert "####" in text
    assert "_=#" in text or "_+#" in text, text


def test_plain_lines_come_every_ten_seconds_or_twentieth_of_the_budget(tmp_path):
    run, now, stream = scene.make_run(tmp_path), [0.0], io.StringIO()
    lines = PlainLines(Watch("a on b", 4000), stream, clock=lambda: now[0])
    lines.tick(run)
    for at, step in ((0.2, 40), (0.4, 150), (0.6, 250), (0.8, 300), (10.7, 310), (20.9, 310)):
        now[0] = at
        scene.beat(run, step)
        lines.tick(run)
    said = [text.split(" (")[0] for text in stream.getvalue().splitlines()]
    assert said == [f"a on b: {run.path}", "step 250 of 4,000", "step 310 of 4,000"]


def test_a_plain_line_has_everything_that_is_known():
    assert display.progress_line(SEEN) == (
        "step 250,000 of 500,000 (50%)   12,500 steps/s   20 s to go   return 180   success 95%"
    )


def test_lines_of_the_worker_pass_through_as_they_are(tmp_path):
    stream = io.StringIO()
    with display.opened(Plan, plain=False, stream=stream) as shown:
        shown.line("[bold]| loss | 1.5 |")
        shown.close(scene.make_run(tmp_path))
    assert stream.getvalue() == "[bold]| loss | 1.5 |\n"


@pytest.fixture
def terminal():
    """A terminal of our own: where to write, and a function that returns what it has shown."""
    controller, end = pty.openpty()
    stream = open(end, "w", encoding="utf-8")  # noqa: SIM115 - closed below

    def shown() -> str:
        stream.flush()
        text = b""
        while select.select([controller], [], [], 0.2)[0]:
            text += os.read(controller, 65536)
        return text.decode()

    yield stream, shown
    stream.close()
    os.close(controller)


@pytest.mark.parametrize(
    ("plain", "environ", "kind"),
    [
        (False, {"TERM": "xterm"}, LivePanel),
        (True, {"TERM": "xterm"}, PlainLines),
        (False, {"TERM": "dumb"}, PlainLines),
        (False, {}, PlainLines),
    ],
)
def test_a_terminal_gets_the_panel_unless_it_cannot_or_should_not(terminal, plain, environ, kind):
    stream, _ = terminal
    with display.opened(Plan, plain=plain, stream=stream, environ=environ) as shown:
        assert type(shown) is kind


def test_the_panel_stays_below_the_lines_and_the_cursor_comes_back(terminal, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream, shown = terminal
    run = scene.make_run(tmp_path)
    with display.opened(Plan, plain=False, stream=stream) as live:
        scene.beat(run, 1000, **{"return": 2.5})
        live.tick(run)
        live.line("a line of the worker [not markup]")
        live.close(run)
    text = shown()
    assert "a line of the worker [not markup]" in text
    assert text.rindex("1,000 of 4,000") > text.index("a line of the worker")
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_the_cursor_comes_back_when_watching_fails(terminal, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream, shown = terminal
    run = scene.make_run(tmp_path)
    with (
        pytest.raises(OSError, match="full"),
        display.opened(Plan, plain=False, stream=stream) as live,
    ):
        live.tick(run)
        raise OSError("full")
    text = shown()
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_no_color_is_obeyed(terminal, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream, shown = terminal
    run = scene.make_run(tmp_path)
    with display.opened(Plan, plain=False, stream=stream) as live:
        scene.beat(run, 1000, **{"return": 2.5})
        live.close(run)
    assert "\x1b[36m" not in shown()
