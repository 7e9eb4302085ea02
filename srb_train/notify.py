"""run.notify: a command of the user's own that is told when a run has ended.

It is started without a shell, in a session of its own, with the facts in its environment and as
JSON on its standard input. Whatever it does, the run stays as it is: it has a limited time, and
its failure is one line.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from srb_train import redact
from srb_train.errors import UsageError
from srb_train.runs import metrics
from srb_train.runs.record import Record
from srb_train.runs.store import Run

Command = str | Sequence[str]
HandOver = Callable[["subprocess.Popen[bytes]"], None]

SECONDS = 30.0
"""How long a command may take before it is killed."""
LONGEST_MESSAGE = 2000
_HEARD_BYTES = 4096
_PIPE_BYTES = 64 * 1024
_POLL_SECONDS = 0.02
_VARIABLES = ("run", "path", "status", "step", "budget", "return", "success", "exit_code")
"""Facts that are environment variables too: SRB_RUN, SRB_PATH and so on."""
_FIELDS = ("status", "algorithm", "task", "step", "budget", "exit_code", "signal")


def words(command: Command) -> list[str]:
    """Return a command as words; a text is divided as a shell would, but no shell runs it."""
    try:
        return shlex.split(command) if isinstance(command, str) else list(map(str, command))
    except ValueError as error:
        raise UsageError(f"run.notify={command!r}: {error}") from error


def check(command: Command | None) -> None:
    """Refuse a command that cannot be started."""
    if command is None:
        return
    named = words(command)
    if not named:
        raise UsageError("run.notify is empty: name a command, or null for none")
    if shutil.which(named[0]) is None:
        raise UsageError(
            f"run.notify: there is no command {named[0]!r}; give the path of one, or a list such "
            "as [sh,-c,'echo $SRB_STATUS >> ends.txt']"
        )


def facts(run: Run) -> dict[str, Any]:
    """Return what is told of a run that has ended: flat, without secrets, less than 8 kB."""
    record: Record = run.record()
    values = record["metrics"]
    failure = record["failure"]
    told = {
        "run": record["run_id"],
        "path": str(run.path),
        **{name: record[name] for name in _FIELDS},
        "failure": failure and str(failure["message"])[:LONGEST_MESSAGE],
        "return": values.get(metrics.RETURN),
        "success": values.get(metrics.SUCCESS),
        "started_at": record["started_at"],
        "ended_at": record["ended_at"],
    }
    return dict(redact.tree(told, redact.known(os.environ)))


def tell(
    command: Command, told: Mapping[str, Any], environ: Mapping[str, str], hand_over: HandOver
) -> str | None:
    """Run the command to its end; returns what went wrong with it in one line, or None.

    `hand_over` gets the process, so that signals reach it while it runs.
    """
    named = words(command)
    try:
        child = subprocess.Popen(
            named,
            env={**environ, **variables(told)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"notify: {named[0]} cannot be started: {error}"
    hand_over(child)
    return _outcome(named[0], child, json.dumps(dict(told), ensure_ascii=False).encode())


def variables(told: Mapping[str, Any]) -> dict[str, str]:
    """Return facts as environment variables; what is not known is empty."""
    return {
        f"SRB_{name.upper()}": "" if told[name] is None else str(told[name]) for name in _VARIABLES
    }


def _outcome(name: str, child: "subprocess.Popen[bytes]", data: bytes) -> str | None:
    _give(child.stdin, data)
    code, heard = _attend(child)
    if code is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return f"notify: {name} was killed: it took longer than {SECONDS:.0f} s"
    said = heard.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f"notify: {name} left by {code}: {said}" if code else None


def _give(stream: IO[bytes] | None, data: bytes) -> None:
    """Write the facts, which fit into a pipe; a command need not read them."""
    if stream is not None:
        with suppress(BrokenPipeError):
            stream.write(data)
        with suppress(BrokenPipeError):
            stream.close()


def _attend(child: "subprocess.Popen[bytes]") -> tuple[int | None, bytes]:
    """Wait for a command; returns its exit code, None if time ran out, and its last words.

    What it has left running may hold the pipe for ever, so nothing waits for the end of that.
    """
    if child.stderr is None:
        return child.wait(), b""
    with child.stderr as stream:
        os.set_blocking(stream.fileno(), False)
        heard, until = b"", time.monotonic() + SECONDS
        while child.poll() is None and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
            heard = _hear(stream, heard)
        return child.poll(), _hear(stream, heard)


def _hear(stream: IO[bytes], heard: bytes) -> bytes:
    with suppress(BlockingIOError):
        heard += os.read(stream.fileno(), _PIPE_BYTES)
    return heard[-_HEARD_BYTES:]


def is_due(record: Record, pids: Collection[int | None]) -> bool:
    """Tell whether a run has ended by one of these processes, so that it may be told of."""
    return record["status"] in ("completed", "stopped", "failed") and record["pid"] in pids
