"""Runs on disk: a handle for one folder, and the log root as the database of all of them."""

import difflib
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from srb_train import redact
from srb_train.errors import IntegrityError, TrainingFailed, UsageError
from srb_train.runs import files, heartbeat, layout, record, status
from srb_train.runs.checkpoint import Checkpoints
from srb_train.runs.record import Record
from srb_train.runs.status import Status
from srb_train.spec import RunSpec


@dataclass(frozen=True)
class Run:
    """A handle on one run: nothing but its folder; every answer is read anew."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's name, which is the UTC stamp of the run."""
        return self.path.name

    @property
    def metrics_path(self) -> Path:
        """Where the scalars are."""
        return self.path / layout.METRICS

    @property
    def log_path(self) -> Path:
        """Where the worker's output is."""
        return self.path / layout.LOG

    def spec(self) -> RunSpec:
        """Return what was asked for."""
        return RunSpec.from_dict(files.read_json(self.path / layout.SPEC))

    def record(self) -> Record:
        """Return run.json."""
        return record.load(self.path / layout.RUN)

    def heartbeat(self) -> dict[str, Any] | None:
        """Return the worker's last sign of life; None where there is none."""
        return heartbeat.read(self.path / layout.HEARTBEAT)

    def status(self) -> Status:
        """Return how the run is doing, judged from this host now."""
        found = self._judged()
        # A worker that ended between the reading and the judging has left its last word by now.
        return self._judged() if found.state == "lost" else found

    def _judged(self) -> Status:
        return status.derive(self.record(), self.heartbeat(), time.time(), status.this_host())

    def checkpoints(self, keep: int = 3) -> Checkpoints:
        """Return the run's checkpoints; `keep` matters to whoever commits."""
        return Checkpoints(self.path / layout.CHECKPOINTS, keep=keep)

    def update(self, **fields: Any) -> Record:
        """Set fields of the record; returns the new one."""
        return self.change(lambda current: record.patch(current, **fields))

    def change(self, step: Callable[[Record], Record]) -> Record:
        """Put the record through a function while nobody else can write it.

        Worker, supervisor and commands all write the record; the lock makes each of them see
        what the one before has written.
        """
        try:
            with files.exclusive(self.path / layout.RECORD_LOCK):
                changed: Record = redact.tree(step(self.record()), _known())
                files.write_json(self.path / layout.RUN, changed)
        except OSError as error:
            raise TrainingFailed(
                f"{self.path / layout.RUN} cannot be written: {error.strerror}; "
                "the record stays as it was"
            ) from error
        return changed

    def request_stop(self) -> int:
        """Ask the run's own worker to save and stop; returns the number of the process asked.

        While the worker is not there yet, its supervisor is asked, who passes it on. Only the very
        process that the record names is signalled, never one that took its number.
        """
        current = self.record()
        state = self.status()
        if current["host"] != status.this_host() and state.state not in record.FINAL:
            raise UsageError(f"{self.path} runs on host {current['host']}; stop it from there")
        for pid, started in (("pid", "process_started"), ("supervisor_pid", "supervisor_started")):
            if state.state in record.FINAL and pid == "supervisor_pid":
                break
            if status.is_alive(current[pid], current[started], current["boot_id"]):
                return _ask(int(current[pid]))
        raise UsageError(f"{self.path} is {state.state}: there is no process to stop")

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Be the only process that trains this run, for as long as the context lasts.

        The operating system takes the claim back when the process dies in any way. Whoever comes
        second gets a `UsageError` that names the holder.
        """
        with self._claim_file() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(
                    f"{self.path} is being trained by {_holder(file.read())}; "
                    "wait for it, or stop it"
                ) from error
            # A forked copy of an environment would hold the claim beyond the death of its parent.
            os.register_at_fork(after_in_child=file.close)
            _sign(file)
            files.sweep(self.path)
            try:
                yield
            finally:
                file.truncate(0)

    def _claim_file(self) -> FileIO:
        try:
            return FileIO(os.open(self.path / layout.CLAIM, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        except OSError as error:
            raise UsageError(f"{self.path} cannot be trained in: {error.strerror}") from error


def _ask(pid: int) -> int:
    try:
        os.kill(pid, signal.SIGTERM)
    except OSError as error:
        raise UsageError(f"process {pid} cannot be stopped: {error.strerror}") from error
    return pid


def _sign(file: FileIO) -> None:
    # Who holds the claim is only for the eyes of whoever comes second.
    with suppress(OSError):
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": status.this_host()}).encode())


def _holder(content: bytes) -> str:
    try:
        holder = json.loads(content)
        return f"process {holder['pid']} on {holder['host']}"
    except (ValueError, LookupError, TypeError):
        return "another process"


class RunStore:
    """All runs below a log root; the folders are the only database."""

    def __init__(self, root: Path) -> None:
        """Look at a log root, which need not exist yet."""
        self.root = Path(os.path.abspath(root))
        self.warnings: list[str] = []
        """What the last listing passed over, and why."""

    def create(
        self,
        spec: RunSpec,
        facts: Mapping[str, Any],
        metadata: Mapping[str, Any],
        params: Mapping[str, str],
    ) -> Run:
        """Reserve a folder and write all that is known; run.json comes last and makes it a run.

        `facts` are fields of run.json, `params` the YAML texts by section name. If anything
        cannot be written there is no run and no folder.
        """
        path = layout.reserve(self.root, spec.env, spec.algo)
        complete = False
        try:
            self._fill(path, spec, metadata, params)
            files.write_json(
                path / layout.RUN, redact.tree(self._record(path, spec, facts), _known())
            )
            complete = True
        except OSError as error:
            raise UsageError(
                f"the record of a new run cannot be written to {path}: {error.strerror}; "
                "free some space or choose another --logdir"
            ) from error
        finally:
            if not complete:
                shutil.rmtree(path, ignore_errors=True)
        return Run(path)

    def _fill(
        self, path: Path, spec: RunSpec, metadata: Mapping[str, Any], params: Mapping[str, str]
    ) -> None:
        asked = spec.as_dict()
        # A masked spec could not be repeated, so one that holds a secret is refused as it is.
        secrets = redact.secrets_in(asked, _known())
        if secrets:
            raise UsageError(
                f"{secrets[0]} holds a secret, and {layout.SPEC} is kept for ever; "
                "name an environment variable instead: env:NAME"
            )
        files.write_json(path / layout.SPEC, asked)
        (path / layout.PARAMS).mkdir()
        for section, text in params.items():
            lines = [redact.text(line, _known()) for line in text.splitlines()]
            files.write_text(path / layout.PARAMS / f"{section}.yaml", "\n".join(lines) + "\n")
        files.write_json(path / layout.METADATA, redact.tree(dict(metadata), _known()))

    def _record(self, path: Path, spec: RunSpec, facts: Mapping[str, Any]) -> Record:
        own = {
            "run_id": self._run_id(path),
            "sequence": time.time_ns(),
            "logdir": str(path),
            "host": status.this_host(),
            "boot_id": status.boot_id(),
        }
        return record.new(spec, {**own, **facts})

    def _run_id(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def records(self) -> list[tuple[Run, Record]]:
        """Return every run with its record, newest first; see `warnings` for damaged ones."""
        return self._sorted(layout.find_run_folders(self.root))

    def all(self) -> list[Run]:
        """Return every run, newest first by the creation that it recorded."""
        return [run for run, _ in self.records()]

    def _sorted(self, paths: Iterator[Path]) -> list[tuple[Run, Record]]:
        self.warnings = []
        found = []
        for path in paths:
            try:
                found.append((Run(path), record.load(path / layout.RUN)))
            except IntegrityError as error:
                self.warnings.append(str(error))
        found.sort(key=lambda one: (one[1]["created_at"], one[1]["sequence"]), reverse=True)
        return found

    def latest(self, env: str, label: str, resumable: bool = False) -> Run | None:
        """Return the newest run of a label on a task; with `resumable`, that has a checkpoint.

        Runs that were passed over are told in `warnings`.
        """
        folders = layout.subfolders(layout.group(self.root, env, label))
        for run, _ in self._sorted(Path(folder) for folder in folders if layout.is_run(folder)):
            checkpoints = run.checkpoints()
            if not resumable or checkpoints.all():
                return run
            self.warnings += [f"{run.path} has no complete checkpoint", *checkpoints.warnings]
        return None

    def find(self, name: str) -> Run:
        """Return the run that a name means.

        A name is a path to a run or to anything inside one, a run's place below the log root, or
        the beginning or end of such a place or of a stamp, as long as only one run fits.
        """
        for place in (Path(name), self.root / name):
            run = _run_around(place) if name else None
            if run is not None:
                return run
        return self._named(name)

    def _named(self, name: str) -> Run:
        places = {self._run_id(path): path for path in layout.find_run_folders(self.root)}
        exact = [place for place in places if place.rpartition("/")[2] == name]
        fitting = exact or [place for place in places if name and _fits(place, name)]
        if len(fitting) == 1:
            return Run(places[fitting[0]])
        if fitting:
            shown = ", ".join(sorted(fitting)[:5]) + (", …" if len(fitting) > 5 else "")
            raise UsageError(f"{name!r} could be {len(fitting)} runs: {shown}; say more of it")
        raise UsageError(f"there is no run {name!r} below {self.root}; {_nearest(name, places)}")


def _fits(place: str, name: str) -> bool:
    stamp = place.rpartition("/")[2]
    return stamp.startswith(name) or place.endswith(name) or place.startswith(name)


def _nearest(name: str, places: Mapping[str, Path]) -> str:
    if not places:
        return "it holds no runs yet"
    by_stamp = {place.rpartition("/")[2]: place for place in sorted(places)}
    close = difflib.get_close_matches(name, [*by_stamp, *places], n=3, cutoff=0.5)
    known = [by_stamp.get(one, one) for one in close] or sorted(places, key=_stamp)[-3:]
    return f"nearest: {', '.join(dict.fromkeys(known))}"


def _stamp(place: str) -> str:
    return place.rpartition("/")[2]


def _run_around(place: Path) -> Run | None:
    """Return the run whose folder a path is, or lies in; None where there is none."""
    if not os.path.exists(place):
        return None
    absolute = Path(os.path.abspath(place))
    for folder in (absolute, *absolute.parents):
        if layout.is_run(folder):
            return Run(folder)
    return None


def _known() -> frozenset[str]:
    """Return the secrets of this process's environment, which no record may hold."""
    return redact.known(os.environ)
