"""The parent's hold on the child: it starts it, talks to it, hears it, and sees it end."""

import mmap
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import srb_train
from srb_train import errors
from srb_train.apart import wire
from srb_train.apart.wire import Message
from srb_train.errors import MissingDependency, SrbError, TrainingFailed, UsageError

LAST_LINES = 12
"""Lines of the child's that an error about its end repeats."""
LINE_BYTES = 64 * 1024
PATIENCE = 30.0
"""Seconds that a child has to close its simulator, before it is killed."""
LAST_WORDS = 2.0
"""Seconds to hear what is still on its way; a process that it left behind may never be silent."""
_MODULE = "srb_train.apart.child"
# An older Python cannot import us, and would say so in words that help nobody.
_BOOT = (
    "import sys; sys.version_info >= (3, 11) or sys.exit("
    "'Python 3.11 or later is needed, this is ' + sys.version.split()[0]); "
    f"import runpy; runpy.run_module('{_MODULE}', run_name='__main__', alter_sys=True)"
)
_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


class Child:
    """One process of another interpreter, which answers what it is asked."""

    def __init__(self, python: Path, order: Mapping[str, Any]) -> None:
        """Start it; it begins at once to build what the order names."""
        self._name = f"{order['env']} in {python}"
        self._python = python
        # Nothing but this package comes with us: what lies beside it fits our interpreter only.
        self._folder = Path(tempfile.mkdtemp(prefix="srb-apart-"))
        (self._folder / "srb_train").symlink_to(Path(srb_train.__file__).resolve().parent)
        self._memory = _nameless_file()
        self._heard: deque[str] = deque(maxlen=LAST_LINES)
        self._link, theirs = socket.socketpair()
        try:
            self._process = self._started(theirs)
        except OSError as error:
            self._give_back()
            raise UsageError(f"env.python={python} cannot be started: {error.strerror}") from error
        finally:
            theirs.close()
        heard = (self._process.stdout, self._heard)
        self._ear = threading.Thread(target=_hear, args=heard, daemon=True)
        self._ear.start()
        self.tell(Message(wire.MAKE, {**order, "folder": str(self._folder)}))

    def tell(self, message: Message) -> None:
        """Send a message; a child that has ended is found out when its answer is read."""
        try:
            wire.send(self._link, message)
        except ConnectionError:
            return

    def answer(self) -> Message:
        """Wait for the answer; raises what the child raised, or how it ended."""
        try:
            said = wire.receive(self._link)
        except ConnectionError:
            said = Message(wire.GONE)
        if said.word == wire.FAILED:
            raise _carried(said.facts, self._python)
        if said.word == wire.GONE:
            raise self._lost()
        return said

    def ask(self, message: Message) -> Message:
        """Send a message and return its answer."""
        self.tell(message)
        return self.answer()

    def memory(self) -> mmap.mmap:
        """Return the memory that it has sized and shares with us."""
        return mmap.mmap(self._memory, 0)

    def close(self) -> None:
        """Let it close its simulator and end; kill what does not."""
        if self._link.fileno() < 0:
            return
        self.tell(Message(wire.CLOSE))
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._kill()
        self._ear.join(LAST_WORDS)
        self._give_back()

    def _started(self, theirs: socket.socket) -> "subprocess.Popen[bytes]":
        given = os.environ.get("PYTHONPATH")
        path = os.pathsep.join([str(self._folder), *([given] if given else [])])
        environ = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
        environ.pop("PYTHONHOME", None)
        sys.stdout.flush()
        return subprocess.Popen(
            [str(self._python), "-c", _BOOT, str(theirs.fileno()), str(self._memory)],
            pass_fds=(theirs.fileno(), self._memory),
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # The terminal's signals are for us: we save first, and it ends with us.
            start_new_session=True,
        )

    def _lost(self) -> SrbError:
        """Say how it ended, and what it said last."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            code = self._kill()
        self._ear.join(LAST_WORDS)
        heard = [line for line in self._heard if line.strip()]
        self._give_back()
        absent = _ABSENT.match(heard[-1]) if heard else None
        if absent and code == 1:
            return MissingDependency(
                f"env.python={self._python} has no {absent[1]}: "
                f"{self._python} -m pip install {absent[1]}"
            )
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        said = "\n  ".join(["; it said last:", *heard]) if heard else " without a word"
        return TrainingFailed(f"{self._name} (process {self._process.pid}) {how}{said}")

    def _kill(self) -> int:
        os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()

    def _give_back(self) -> None:
        self._link.close()
        os.close(self._memory)
        shutil.rmtree(self._folder, ignore_errors=True)


def _nameless_file() -> int:
    """Return a file of memory that no name leads to, so that none is left whoever dies."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("srb-apart")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _hear(stream: IO[bytes] | None, heard: "deque[str]") -> None:
    """Pass on what the child says, and keep its last lines."""
    if stream is None:
        return
    with stream:
        while line := stream.readline(LINE_BYTES):
            heard.append(line.decode("utf-8", "replace").rstrip())
            # Not by print: a thread that holds the stream's lock at our end would hang us. Where
            # nobody listens to us any more, the child is still heard, or it would stand still.
            with suppress(OSError):
                os.write(1, line)


def _carried(facts: Mapping[str, Any], python: Path) -> SrbError:
    """Return an error of the child's as one of ours: the nearest class that we know as well."""
    known = (getattr(errors, name, None) for name in facts["classes"])
    kinds = (kind for kind in known if isinstance(kind, type) and issubclass(kind, SrbError))
    kind = next((kind for kind in kinds if kind is not errors.Interrupted), SrbError)
    here = f" (in {python})" if kind is MissingDependency else ""
    error = kind(f"{facts['message']}{here}")
    error.exit_code = facts["exit_code"]
    return error
