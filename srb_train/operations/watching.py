"""All runs of a log root and this machine, looked at again and again for a display.

A look costs little however many runs there are: the record of a run that has ended is read once,
and only so many rows are returned.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from srb_train.errors import IntegrityError
from srb_train.operations.runs import eta, row_of
from srb_train.runs import layout, metrics, record
from srb_train.runs.store import Run, RunStore

MOST_ROWS = 200
CURVE_POINTS = 2000
GPU_SECONDS = 5.0
"""How often the GPUs are asked: their tool takes a while to answer."""
LIVING = ("running", "stopping", "starting", "waiting", "reserved")
_GPU_QUERY = "name,utilization.gpu,memory.used,memory.total"
_MEBIBYTE = 2**20

Row = dict[str, Any]
_Version = tuple[int, int, int]


@dataclass(frozen=True)
class _Known:
    """What is remembered of a run.json: a record that may change, else only the row it makes."""

    version: _Version
    order: tuple[str, int]
    record: record.Record | None
    row: Row | None


class Board:
    """The runs below a log root as rows for a table."""

    def __init__(self, logdir: Path | None = None) -> None:
        """Look at a log root, which need not exist yet."""
        self.root = RunStore(logdir or layout.default_root()).root
        self._known: dict[str, _Known] = {}

    def look(self, words: str = "", most: int = MOST_ROWS) -> dict[str, Any]:
        """Return the rows that have all `words` in them: what lives first, then the newest.

        Returns `rows` (as of `list_runs`, with `eta_seconds` and `age`), `total` (runs that fit)
        and `living` (how many of all runs are not at an end).
        """
        seen: dict[str, _Known] = {}
        for folder in layout.find_run_folders(self.root):
            known = self._look_at(str(folder))
            if known is not None:
                seen[str(folder)] = known
        self._known = seen
        rows = [(known.order, _row(folder, known)) for folder, known in seen.items()]
        fitting = [(order, row) for order, row in rows if _has(row, words.lower().split())]
        fitting.sort(key=lambda one: (one[1]["status"] in LIVING, one[0]), reverse=True)
        return {
            "logdir": str(self.root),
            "rows": [_with_times(row) for _, row in fitting[:most]],
            "total": len(fitting),
            "living": sum(row["status"] in LIVING for _, row in rows),
        }

    def _look_at(self, folder: str) -> _Known | None:
        """Return what is known of a run; its record is read only where it has changed."""
        try:
            found = os.stat(f"{folder}/{layout.RUN}")
            version = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._known.get(folder)
            if known is not None and known.version == version:
                return known
            now = record.load(Path(folder, layout.RUN))
        except (OSError, IntegrityError):
            return None  # going, or damaged: `srb run list` tells
        order = (now["created_at"], now["sequence"])
        if now["status"] in record.FINAL:
            return _Known(version, order, None, row_of(Run(Path(folder)), now))
        return _Known(version, order, now, None)


def _row(folder: str, known: _Known) -> Row:
    if known.record is None:
        return known.row or {}
    return row_of(Run(Path(folder)), known.record)


def _has(row: Row, words: Sequence[str]) -> bool:
    text = f"{row['run']} {row['status']}".lower()
    return all(word in text for word in words)


def _with_times(row: Row) -> Row:
    """Add the time to go and the seconds since a run was last heard of."""
    age = row["beat_age"]
    if age is None:
        then = row["ended_at"] or row["started_at"] or row["created_at"]
        age = max(0.0, time.time() - datetime.fromisoformat(then).timestamp())
    return {**row, "eta_seconds": eta(row), "age": age}


class Curve:
    """The newest mean returns of one run, read again only when there are more."""

    def __init__(self, path: Path) -> None:
        """Look at the run in a folder."""
        self.path = path
        self._size = -1
        self._points: list[tuple[int, float]] = []

    def points(self) -> list[tuple[int, float]]:
        """Return (step, return), oldest first."""
        run = Run(self.path)
        size = run.metrics_path.stat().st_size if run.metrics_path.exists() else 0
        if size != self._size:
            self._size = size
            found = metrics.newest(run.metrics_path, [metrics.RETURN], CURVE_POINTS)
            newest = found[metrics.RETURN]
            self._points = [(one.step, one.value) for one in newest if one.value is not None]
        return self._points


class Machine:
    """What this machine is busy with."""

    def __init__(self) -> None:
        """Begin to count from now."""
        psutil.cpu_percent()
        self._tool = shutil.which("nvidia-smi")
        self._gpus: list[Row] = []
        self._asked_at = -GPU_SECONDS

    def look(self) -> dict[str, Any]:
        """Return `processors` (percent), memory in bytes, and the GPUs that there are."""
        memory = psutil.virtual_memory()
        now = time.monotonic()
        if self._tool is not None and now - self._asked_at >= GPU_SECONDS:
            self._asked_at = now
            self._gpus = _gpus(self._tool)
        return {
            "processors": psutil.cpu_percent(),
            "cores": psutil.cpu_count(),
            "load": os.getloadavg()[0],
            "memory_used": memory.total - memory.available,
            "memory_total": memory.total,
            "gpus": self._gpus,
        }


def _gpus(tool: str) -> list[Row]:
    """Ask the driver's tool for name, use in percent and memory in bytes of every GPU."""
    asked = [tool, f"--query-gpu={_GPU_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            asked, capture_output=True, text=True, check=True, timeout=2, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return gpus_in(done.stdout)


def gpus_in(said: str) -> list[Row]:
    """Read the answer of the driver's tool; what it does not know is None."""
    lines = [[part.strip() for part in line.split(",")] for line in said.splitlines()]
    return [
        {
            "name": line[0],
            "busy": _number(line[1]),
            "memory_used": _bytes(line[2]),
            "memory_total": _bytes(line[3]),
        }
        for line in lines
        if len(line) == 4
    ]


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _bytes(text: str) -> int | None:
    mebibytes = _number(text)
    return None if mebibytes is None else mebibytes * _MEBIBYTE
