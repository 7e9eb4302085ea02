"""What a worker says reaches log and display: every line, in order, redacted, in little memory."""

import os
import subprocess
import sys
import threading

import pytest

from srb_train import supervisor
from srb_train.runs.log import BoundedLog


class Seen:
    """A display that remembers."""

    def __init__(self):
        self.lines = []

    def line(self, text):
        self.lines.append(text)


def pumped(tmp_path, program, also=frozenset()):
    """Run a program under the pump; returns the log and what was shown."""
    child = subprocess.Popen([sys.executable, "-uc", program], stdout=subprocess.PIPE)
    seen = Seen()
    with BoundedLog(tmp_path / "train.log") as log, child:
        supervisor._pump(child.stdout, log, seen, also)
    return (tmp_path / "train.log").read_text("utf-8"), seen.lines


def test_every_line_arrives_once_and_in_order(tmp_path):
    text, lines = pumped(tmp_path, "for n in range(5000): print('line', n)")
    assert lines == [f"line {number}" for number in range(5000)]
    assert text == "".join(f"{line}\n" for line in lines)


def test_a_secret_among_many_lines_is_masked(tmp_path):
    program = (
        "for n in range(50): print('line', n)\nprint('password=hunter22')\nprint('my Zx9Qm2Lk')"
    )
    text, _ = pumped(tmp_path, program, frozenset({"Zx9Qm2Lk"}))
    assert "hunter22" not in text
    assert "Zx9Qm2Lk" not in text
    assert "line 49\npassword=" in text


def test_a_last_line_without_an_end_is_a_line(tmp_path):
    text, lines = pumped(tmp_path, "import sys; sys.stdout.write('one\\ntwo')")
    assert (text, lines) == ("one\ntwo\n", ["one", "two"])


def test_blank_lines_and_carriage_returns_are_kept_apart(tmp_path):
    _, lines = pumped(tmp_path, "import os; os.write(1, b'a\\r\\n\\nb\\n')")
    assert lines == ["a", "", "b"]


@pytest.mark.parametrize("end", ["", "\\n"])
def test_a_line_without_an_end_comes_in_parts(tmp_path, end):
    _, lines = pumped(tmp_path, f"import sys; sys.stdout.write('x' * 200_000 + '{end}')")
    assert "".join(lines) == "x" * 200_000
    assert max(map(len, lines)) <= supervisor.LINE_BYTES


def test_a_line_is_shown_before_the_next_one_is_said(tmp_path):
    read, write = os.pipe()
    seen, shown = Seen(), threading.Event()
    seen.line = lambda text: shown.set()
    with BoundedLog(tmp_path / "train.log") as log, os.fdopen(read, "rb") as stream:
        pump = threading.Thread(
            target=supervisor._pump, args=(stream, log, seen, frozenset()), daemon=True
        )
        pump.start()
        os.write(write, b"alone\n")
        assert shown.wait(10)
        os.close(write)
        pump.join(10)
        assert not pump.is_alive()
