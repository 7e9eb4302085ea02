"""TensorBoard event files: scalars written for TensorBoard, and read back into metrics.jsonl.

`python -m srb_train.runs.tensorboard LOGDIR...` rebuilds the metrics.jsonl of a run that lost it or
that only has a framework's own event files; what a metrics.jsonl already holds is never taken away.

An event file is a sequence of `Event` messages in the frames of `srb_train.runs.frames`.
"""

import argparse
import fcntl
import os
import socket
import struct
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from tensorboard.compat.proto import types_pb2 as types
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary

from srb_train.errors import SrbError, UsageError
from srb_train.runs import files, frames, heartbeat, layout, status
from srb_train.runs.journal import Journal
from srb_train.runs.metrics import RESUMED, Record, iterate

PATTERN = "events.out.tfevents*"
FORMATS = {
    types.DT_FLOAT: ("float_val", "f"),
    types.DT_DOUBLE: ("double_val", "d"),
    types.DT_HALF: ("half_val", "e"),
    types.DT_BFLOAT16: ("half_val", "f"),
    types.DT_INT8: ("int_val", "b"),
    types.DT_INT16: ("int_val", "h"),
    types.DT_INT32: ("int_val", "i"),
    types.DT_INT64: ("int64_val", "q"),
    types.DT_UINT8: ("int_val", "B"),
    types.DT_UINT16: ("int_val", "H"),
    types.DT_UINT32: ("uint32_val", "I"),
    types.DT_UINT64: ("uint64_val", "Q"),
    types.DT_BOOL: ("bool_val", "?"),
}
"""Type of a tensor -> where its numbers are listed, and how they are packed."""


class EventWriter:
    """Writes scalars to a new event file; every batch is with the system when `write` returns.

    What the disk refuses is an `OSError` that leaves the file whole.
    """

    def __init__(
        self,
        directory: Path,
        purge_step: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begin a file in exactly this directory.

        A run that goes on from `purge_step` hides from TensorBoard what older files of the
        directory hold of later steps; TensorBoard itself counts the first step that it hides.
        """
        self._clock = clock
        directory.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(directory / _new_name(directory, int(clock())), new=True)
        self._append(file_version="brain.Event:2")
        if purge_step is not None:
            log = SessionLog(status=SessionLog.START)
            self._append(step=purge_step + 1, session_log=log)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Write several scalars of one step; the format keeps 32 bits of each, NaN included."""
        scalars = [
            Summary.Value(tag=tag, simple_value=float(value)) for tag, value in values.items()
        ]
        if scalars:
            self._append(step=int(step), summary=Summary(value=scalars))

    def flush(self) -> None:
        """Force what was written onto the disk."""
        self._journal.flush()

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        self._journal.close()

    def _append(self, **fields: Any) -> None:
        event = Event(wall_time=self._clock(), **fields)
        self._journal.append(frames.frame(event.SerializeToString()))


def scalars(path: Path) -> tuple[list[Record], list[str]]:
    """Read the scalars of an event file in its order, and at most one sentence about damage.

    A tag's scalars may be plain values or tensors of the `scalars` plugin. The start of a session
    that goes on from step S becomes a `run/resumed` record of step S. A damaged frame is skipped,
    and reading goes on at the next whole one.
    """
    records: list[Record] = []
    damage: list[str] = []
    plugins: dict[str, str] = {}
    with path.open("rb") as stream:
        for offset, message in frames.messages(stream, damage):
            try:
                records.extend(_records(Event.FromString(message), plugins))
            except DecodeError:
                damage.append(f"the frame at byte {offset} holds no event")
    more = f" (and {len(damage) - 3} more)" if len(damage) > 3 else ""
    return records, [f"{path}: {'; '.join(damage[:3])}{more}"] if damage else []


@dataclass(frozen=True)
class Exported:
    """What became of one metrics.jsonl."""

    path: Path
    records: int
    skipped: str | None = None
    """Why the file was left as it is; None where it was written."""


@dataclass(frozen=True)
class Export:
    """What became of every metrics.jsonl under a directory, and which files are damaged."""

    files: list[Exported]
    warnings: list[str]


def export(directory: Path, *, force: bool = False) -> Export:
    """Bring the scalars of all event files under a directory into metrics.jsonl beside them.

    A metrics.jsonl that holds every tag and step of its event files is left alone; one that holds
    fewer keeps its records and gains the others. Between two resumes records are sorted by step,
    tag and time. A folder whose heartbeat.json names a living process is not touched unless
    `force` says that this process no longer writes there.
    """
    exported = []
    warnings: list[str] = []
    for folder in _folders(directory):
        writer = None if force else _living_writer(folder)
        if writer is None:
            with _locked(folder):
                exported.append(_export_folder(folder, warnings))
        else:
            why = f"{writer} still writes this run; wait for its end, or give --force"
            exported.append(Exported(folder / layout.METRICS, 0, why))
    return Export(exported, warnings)


def main(argv: Sequence[str] | None = None) -> int:
    """Export the directories named on the command line; 2 where one has no event files."""
    parser = argparse.ArgumentParser(
        prog="python -m srb_train.runs.tensorboard",
        description="Bring the scalars of TensorBoard event files into metrics.jsonl beside them.",
    )
    parser.add_argument("logdir", nargs="+", type=Path, help="searched with all folders below")
    parser.add_argument(
        "--force", action="store_true", help="also where a living process claims the run"
    )
    options = parser.parse_args(argv)
    try:
        for directory in options.logdir:
            _folders(directory)
        for directory in options.logdir:
            _tell(export(directory, force=options.force))
    except (SrbError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, SrbError) else 1
    return 0


def _tell(export: Export) -> None:
    for warning in export.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for item in export.files:
        result = f"{item.records} records" if item.skipped is None else f"skipped, {item.skipped}"
        print(f"{item.path}: {result}")


# Event files


def _new_name(directory: Path, now: int) -> str:
    # TensorBoard reads the files of a directory by name: a later file must sort behind, even
    # within one second or after the clock was set back.
    stamps = [path.name.split(".")[3] for path in directory.glob(PATTERN + ".*")]
    newest = max((int(stamp) for stamp in stamps if stamp.isdecimal()), default=0)
    stamp = max(now, newest + 1)
    return f"events.out.tfevents.{stamp:010d}.{socket.gethostname()}.{os.getpid()}.0"


def _records(event: Event, plugins: dict[str, str]) -> Iterator[Record]:
    """Yield the scalars of an event; `plugins` remembers what owns the tensors of a tag."""
    if event.session_log.status == SessionLog.START and event.step > 0:
        yield Record.of(RESUMED, event.step - 1, event.wall_time, float(event.step - 1))
    for value in event.summary.value:
        # Writers name the plugin of a tag only once.
        plugin = value.metadata.plugin_data.plugin_name or plugins.get(value.tag, "")
        plugins[value.tag] = plugin
        number = None
        if value.HasField("simple_value"):
            number = value.simple_value
        elif plugin == "scalars":
            number = _number(value.tensor)
        if number is not None:
            yield Record.of(value.tag, event.step, event.wall_time, number)


def _number(tensor: Any) -> float | None:
    """Return the one number of a tensor; None for anything else."""
    field, code = FORMATS.get(tensor.dtype, ("float_val", "f"))
    raw, listed = tensor.tensor_content, getattr(tensor, field)
    if field == "half_val" and not raw:
        # Both kinds of 16 bits are listed as whole numbers that hold the bits.
        raw = b"".join(struct.pack("<H", bits & 0xFFFF) for bits in listed)
    if tensor.dtype == types.DT_BFLOAT16:
        raw = raw and b"\0\0" + raw
    if len(raw) == struct.calcsize(code):
        return float(struct.unpack(f"<{code}", raw)[0])
    return float(listed[0]) if len(listed) == 1 and not raw else None


# Folders


def _folders(directory: Path) -> list[Path]:
    """Return the folders below a directory, itself included, that hold event files."""
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such directory")
    folders = sorted({path.parent for path in directory.rglob(PATTERN) if path.is_file()})
    if not folders:
        raise UsageError(f"{directory}: no event files ({PATTERN}) in it or below")
    return folders


def _living_writer(folder: Path) -> str | None:
    """Name the process that a folder's heartbeat.json stands for, if it lives.

    Of a process on another host only the age of its heartbeat can speak.
    """
    beat = heartbeat.read(folder / layout.HEARTBEAT) or {}
    pid, host = beat.get("pid"), beat.get("host")
    if status.is_alive(pid, beat.get("started"), beat.get("boot_id")):
        return f"process {pid}"
    age = time.time() - (beat.get("time") or -inf)
    afar = host is not None and host != status.this_host() and abs(age) <= status.LEASE_SECONDS
    return f"process {pid} on {host}" if afar else None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other exporters out of a folder; they wait."""
    path = folder / ".metrics.lock"
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The one before us may have removed the file that we waited for.
        if path.exists() and os.path.samestat(os.fstat(lock), path.stat()):
            break
        os.close(lock)
    try:
        yield
    finally:
        path.unlink()
        os.close(lock)


def _export_folder(folder: Path, warnings: list[str]) -> Exported:
    path = folder / layout.METRICS
    events: list[Record] = []
    for file in sorted(folder.glob(PATTERN)):
        records, damage = scalars(file)
        events += records
        warnings += damage
    live = list(iterate(path, superseded=True, warnings=warnings))
    session = _sessions(live + events)
    missing = _missing(events, live, session)
    if path.exists() and not missing:
        why = f"it already holds all scalars of the event files ({len(live)} records)"
        return Exported(path, len(live), why)
    merged = sorted(live + missing, key=lambda record: (session(record), *_order(record)))
    files.write_bytes(path, b"".join(record.line() for record in merged))
    return Exported(path, len(merged))


def _order(record: Record) -> tuple[bool, int, str, float]:
    when = inf if record.wall_time is None else record.wall_time
    return (record.tag != RESUMED, record.step, record.tag, when)


def _sessions(records: Sequence[Record]) -> Callable[[Record], int]:
    """Return what tells how many resumes came before a record, or are it.

    Time tells it, because the two files of a run hold the same resumes a moment apart.
    """
    begun = sorted(record.wall_time or 0.0 for record in records if record.tag == RESUMED)
    return lambda record: bisect_right(begun, record.wall_time or 0.0)


def _missing(
    events: Sequence[Record], live: Sequence[Record], session: Callable[[Record], int]
) -> list[Record]:
    """Return the records of the event files whose tag and step the live file does not hold.

    The same tag and step on both sides of a resume are two records.
    """

    def key(record: Record) -> tuple[str, int, int]:
        return (record.tag, record.step, 0 if record.tag == RESUMED else session(record))

    held = {key(record) for record in live}
    return [record for record in events if key(record) not in held]


if __name__ == "__main__":
    sys.exit(main())
