"""A supervisor without a terminal: it outlives the shell, the server or the script that started it.

`python -m srb_train.detach RUN ORDER PIPE` leaves its starter at once, signs the record of a fresh
run, waits for another run where the order says so, and then watches one worker as the foreground
does. Through the pipe it says two lines: that it has taken over, and that it waits, that the worker
has begun, or how that ended before it began.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from srb_train import supervisor
from srb_train.errors import Interrupted, SrbError
from srb_train.runs import chain, files, layout, status
from srb_train.runs.record import Record, patch
from srb_train.runs.store import Run
from srb_train.spec import RunSpec

TAKEN_OVER_SECONDS = 30.0
_DOZE_SECONDS = 0.2
"""How soon one that waits answers to a signal."""
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TAKEN_OVER = "taken over"
_WAITS = "waits"
_BEGUN = "begun"
_TRAINING = ("running", "stopping", "completed", "stopped")
"""States of a run whose worker has got as far as training."""


class Report(NamedTuple):
    """What a detached supervisor has said when the starter stopped listening."""

    begun: bool
    """Whether the worker has made its first step."""
    ended: str | None
    """The last line of a worker that ended before it began; None while that is not known."""
    waits: bool = False
    """Whether it waits for another run before it starts a worker."""


def start(run: Run, order: Path, environ: Mapping[str, str], seconds: float) -> Report:
    """Let a supervisor of its own carry out an order; listens for at most `seconds`.

    Returns as soon as the worker has begun or ended; after `seconds` with neither, the run is
    still on its way.
    """
    listen, speak = os.pipe()
    command = [sys.executable, "-m", "srb_train.detach", str(run.path), str(order), str(speak)]
    with (run.path / layout.LOG).open("ab") as log:
        child = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(speak,),
            start_new_session=True,
        )
    os.close(speak)
    try:
        # This process ends when its own child, the supervisor, stands.
        child.wait()
        _line(listen, time.monotonic() + TAKEN_OVER_SECONDS)
        said = _line(listen, time.monotonic() + seconds)
    finally:
        os.close(listen)
    if said in (None, _BEGUN, _WAITS):
        return Report(begun=said == _BEGUN, ended=None, waits=said == _WAITS)
    return Report(begun=False, ended=str(json.loads(said)) if said else "the supervisor died")


def _line(pipe: int, until: float) -> str | None:
    """Return the next line of a pipe, empty at its end; None when it takes too long."""
    read = b""
    while not read.endswith(b"\n"):
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        letter = os.read(pipe, 1)
        if not letter:
            return ""
        read += letter
    return read.decode().rstrip("\n")


class Herald:
    """A display for nobody: it tells the starter when the worker has begun."""

    def __init__(self, pipe: int, worker: int) -> None:
        """Speak into `pipe` of the process `worker`."""
        self._pipe = pipe
        self._worker = worker
        self._said = False
        self._last = ""

    def line(self, text: str) -> None:
        """Remember the last line, which says why a worker has ended."""
        self._last = text

    def tick(self, run: Run) -> None:
        """Look whether the worker has made its first step by now."""
        mine = not self._said and run.record()["pid"] == self._worker
        if mine and run.status().state in _TRAINING:
            self._say(_BEGUN)

    def close(self, run: Run) -> None:
        """Tell how it ended, if nothing was told yet."""
        self.tick(run)
        if not self._said:
            self._say(json.dumps(self._last or "the worker said nothing"))

    def _say(self, text: str) -> None:
        self._said = True
        tell(self._pipe, text)
        os.close(self._pipe)


def tell(pipe: int, text: str) -> None:
    """Say one line to a starter that may have gone."""
    try:
        os.write(pipe, f"{text}\n".encode())
    except BrokenPipeError:
        return


def main(run_folder: str, order_file: str, pipe: int) -> int:
    """Be the supervisor of one run, as a grandchild of whoever started it."""
    if os.fork():
        return 0
    run, order = Run(Path(run_folder)), Path(order_file)
    run.change(_signed)
    tell(pipe, _TAKEN_OVER)
    asked = files.read_json(order)
    refused = _await_turn(run, order, asked.get("after"), pipe)
    if refused is not None:
        order.unlink(missing_ok=True)
        supervisor.announce(run, asked["spec"].get("notify"), Herald(pipe, 0), os.environ)
        return refused
    spec = RunSpec.from_dict(asked["spec"])
    with supervisor.standby(spec.algo, spec.env, spec.threads) as worker:
        return supervisor.supervise(worker, run, order, Herald(pipe, worker.process.pid))


def _await_turn(run: Run, order: Path, after: Mapping[str, Any] | None, pipe: int) -> int | None:
    """Wait until the run that the order names is completed.

    Returns None when the turn has come; else the record says why it never will, and the exit code
    is returned.
    """
    if after is None:
        return None
    other = Run(Path(after["run"]))
    try:
        _wait_for(other, pipe)
        chain.begin(run, order, other, after["suffixes"])
    except SrbError as error:
        facts: dict[str, Any] = {"exit_code": error.exit_code}
        if isinstance(error, Interrupted):
            chain.give_up(run, "stopped", {**facts, "signal": str(error)})
        else:
            failure = {"category": error.category, "message": str(error)}
            chain.give_up(run, "failed", {**facts, "failure": failure})
            tell(pipe, json.dumps(str(error)))
        return error.exit_code
    return None


def _wait_for(other: Run, pipe: int) -> None:
    """Return when a run is completed; a signal that asks to stop is `Interrupted`."""
    if chain.is_completed(other):
        return
    with _listening() as asked:
        tell(pipe, _WAITS)
        looked = time.monotonic()
        while not asked:
            time.sleep(_DOZE_SECONDS)
            if time.monotonic() - looked >= chain.LOOK_SECONDS:
                looked = time.monotonic()
                if chain.is_completed(other):
                    return
    raise Interrupted(asked[0], asked[0])


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Lend the names of the signals that ask to stop, as they come."""
    asked: list[str] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(signal.Signals(number).name)

    before = {number: signal.signal(number, note) for number in _STOPPING}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signed(current: Record) -> Record:
    """Put this process into the record of a fresh run; one that goes on belongs to its worker."""
    if current["status"] != "reserved" or current["pid"] is not None:
        return current
    pid = os.getpid()
    return patch(current, supervisor_pid=pid, supervisor_started=status.process_started(pid))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
