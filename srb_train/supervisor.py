"""The watchman: parent of one worker, who pumps its log, passes signals on, and sees it end.

The supervisor never imports the worker; it starts it, early: the worker imports its framework
while the parent still composes and checks. Whatever happens to it, the record gets a last word.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Protocol

from srb_train import notify, redact
from srb_train.filming import Filming
from srb_train.redact.lines import Lines
from srb_train.runs import files, layout, lifecycle
from srb_train.runs.log import BoundedLog
from srb_train.runs.store import Run

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
POLL_SECONDS = 0.2
LINE_BYTES = 64 * 1024
PIPE_BYTES = 2**20
"""What a pipe is made to hold, where the system allows it: a worker need not wait for us."""
GATHER_SECONDS = 0.05
"""How long lines are gathered while they come fast: waking up for each costs more than they do."""
DEFAULT_THREADS = 1
"""What a worker is started with before its spec is known."""
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class Display(Protocol):
    """Whoever shows a running worker to a person."""

    def line(self, text: str) -> None:
        """Show one redacted line of the worker's output."""

    def tick(self, run: Run) -> None:
        """Look at the run's heartbeat and draw; called a few times a second."""

    def close(self, run: Run) -> None:
        """Draw for the last time."""


class Signalled(Protocol):
    """Whatever signals are passed on to: a process, or who looks after several."""

    def poll(self) -> int | None:
        """Return the code of its end, None while it lives."""

    def send_signal(self, number: int) -> None:
        """Take a signal."""


@dataclass
class Worker:
    """A child process that waits for an order, or has one."""

    process: subprocess.Popen[bytes]
    threads: int
    assigned: bool = False

    def assign(self, run: Run, order: Path) -> None:
        """Hand over an order; the pipe stays open, for its end tells that we are gone."""
        self.assigned = True
        # One that died while it imported has said why; its exit code follows.
        with suppress(BrokenPipeError):
            os.write(_fileno(self.process.stdin), f"{run.path}\n{order}\n".encode())

    def dismiss(self) -> None:
        """Let it go: one without an order is killed, one with an order saves and stops."""
        if not self.assigned:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.wait()


@contextmanager
def standby(
    algo: str,
    env: str,
    threads: int = DEFAULT_THREADS,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Worker]:
    """Lend a worker that imports what a label and a task need and then waits for its order.

    It has a session of its own, so that the terminal's signals reach only us.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "srb_train.worker", algo, env],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=worker_environment(threads, environ),
        start_new_session=True,
    )
    worker = Worker(process, threads)
    try:
        yield worker
    finally:
        worker.dismiss()


def supervise(
    worker: Worker,
    run: Run,
    order: Path,
    display: Display,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Give a waiting worker its order and see it to its end; returns its exit code.

    The first INT, TERM or HUP asks the worker to save and stop, the second to leave at once,
    the third kills it.
    """
    process = worker.process
    spec = files.read_json(order)["spec"]
    also = redact.known(environ) | redact.referenced(spec, environ)
    with BoundedLog(run.path / layout.LOG) as log:
        filming = Filming(
            run,
            worker_environment(DEFAULT_THREADS, environ),
            lambda text: _note(redact.text(text, also), log, display),
            wanted=spec["video"],
        )
        pump = threading.Thread(target=_pump, args=(process.stdout, log, display, also))
        pump.start()
        with _forwarding() as hand_over:
            hand_over(process)
            worker.assign(run, order)
            code = _wait(process, run, display, filming)
            hand_over(filming)
            filming.finish(complete=code == 0)
        pump.join()
    lifecycle.last_word(run, process.pid, exit_code(code), _signal_name(code))
    order.unlink(missing_ok=True)
    if notify.is_due(run.record(), (process.pid, None)):
        announce(run, spec.get("notify"), display, environ)
    display.close(run)
    return exit_code(-filming.stopped_by if filming.stopped_by and not code else code)


def announce(
    run: Run, command: notify.Command | None, display: Display, environ: Mapping[str, str]
) -> None:
    """Tell the user's command that a run has ended; its failure is a line of the log."""
    if command is None:
        return
    with _forwarding() as hand_over:
        said = notify.tell(command, notify.facts(run), environ, hand_over)
    if said is not None:
        line = redact.text(said, redact.known(environ))
        with BoundedLog(run.path / layout.LOG) as log:
            log.write(line)
        display.line(line)


def attend(module: Sequence[str], environ: Mapping[str, str], also: frozenset[str]) -> int:
    """Run a child to its end; pass signals on; returns its exit code.

    What it says goes to our standard error, redacted: standard output is for our answer.
    """
    with _forwarding() as hand_over:
        child = subprocess.Popen(
            [sys.executable, "-m", *module],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        hand_over(child)
        with child:
            for lines in _lines(child.stdout, also):
                print("\n".join(lines), file=sys.stderr, flush=True)
            code = child.wait()
    return exit_code(code)


def worker_environment(threads: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the child's environment: the parent's, with the thread count that was chosen.

    Thread pools are sized when NumPy or Torch is imported, so only the parent can choose.
    """
    chosen = dict.fromkeys(_THREAD_VARIABLES, str(threads))
    return {**environ, **chosen, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}


def _pump(
    stream: IO[bytes] | None, log: BoundedLog, display: Display, also: frozenset[str]
) -> None:
    """Move the worker's lines into the log and the display."""
    for lines in _lines(stream, also):
        log.write("\n".join(lines))
        for text in lines:
            display.line(text)


def _lines(stream: IO[bytes] | None, also: Collection[str]) -> Iterator[list[str]]:
    """Yield what a child says, redacted, as many lines at a time as have come."""
    clean = Lines(also)
    for data in _chunks(stream) if stream else ():
        yield clean.masked(data)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield whole lines as they come, without the last newline; long ones come in parts."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    rest, last = b"", 0.0
    while read := os.read(stream.fileno(), PIPE_BYTES):
        whole, newline, rest = (rest + read).rpartition(b"\n")
        if newline:
            yield _broken(whole)
        while len(rest) >= LINE_BYTES:
            yield rest[:LINE_BYTES]
            rest = rest[LINE_BYTES:]
        if time.monotonic() - last < GATHER_SECONDS:
            time.sleep(GATHER_SECONDS)
        last = time.monotonic()
    if rest:
        yield rest


def _broken(data: bytes) -> bytes:
    """Break lines that are too long to be looked through as one."""
    if len(data) <= LINE_BYTES:
        return data
    return b"\n".join(
        line[start : start + LINE_BYTES]
        for line in data.split(b"\n")
        for start in range(0, max(1, len(line)), LINE_BYTES)
    )


@contextmanager
def _forwarding() -> Iterator[Callable[[Signalled], None]]:
    """Pass our signals on to the process that is handed over, while it lives.

    What comes before there is a process is passed on as soon as there is one. The third signal
    that asks for a stop kills.
    """
    received: list[int] = []
    child: Signalled | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if child is not None and child.poll() is None:
            asked = len(received) - received.count(signal.SIGUSR1)
            child.send_signal(signal.SIGKILL if asked > 2 else number)

    def hand_over(process: Signalled) -> None:
        nonlocal child
        child = process
        for number in received:
            child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield hand_over
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _note(text: str, log: BoundedLog, display: Display) -> None:
    """Put a line of our own into the log and the display."""
    log.write(text)
    display.line(text)


def _wait(worker: subprocess.Popen[bytes], run: Run, display: Display, filming: Filming) -> int:
    """Wait for the end of a worker; returns its code."""
    while True:
        display.tick(run)
        filming.look()
        try:
            return worker.wait(timeout=POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def _fileno(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise ValueError("the worker was started without a pipe")
    return stream.fileno()


def exit_code(code: int) -> int:
    """Return what a shell would call the end of a process: 128 + n for signal n."""
    return 128 - code if code < 0 else code


def _signal_name(code: int) -> str | None:
    return signal.Signals(-code).name if code < 0 else None
