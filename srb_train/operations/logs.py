"""What a run has printed: its newest lines, and those that come."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from srb_train.operations.goals import ENDED
from srb_train.runs import layout
from srb_train.runs.store import Run, RunStore

BLOCK_BYTES = 64 * 1024
MOST_BYTES = 32 * 2**20
"""How much of a log is read at most, which is more than a run's own log can grow to."""
FOLLOWED_BYTES = 2**20
"""How much is read of what has come, before it is passed on."""
POLL_SECONDS = 0.25


def tail(name: str, logdir: Path | None = None, *, last_n: int | None = 50) -> dict[str, Any]:
    """Return the newest lines of a run's log; None for all of them."""
    run = RunStore(logdir or layout.default_root()).find(name)
    lines = _newest(run.log_path, last_n)
    return {
        "run": run.record()["run_id"],
        "path": str(run.log_path),
        "status": run.status().state,
        "lines": lines,
    }


def follow(name: str, logdir: Path | None = None, *, last_n: int | None = 50) -> Iterator[str]:
    """Yield the newest lines, then each new one until the run has ended."""
    run = RunStore(logdir or layout.default_root()).find(name)
    yield from _newest(run.log_path, last_n)
    place = _size(run)
    while True:
        ended = run.status().state in ENDED
        place, lines = _after(run, place)
        yield from lines
        if ended and not lines:
            return
        if not lines:
            time.sleep(POLL_SECONDS)


def _newest(path: Path, count: int | None) -> list[str]:
    """Read from the end, so that a long log costs what is shown of it."""
    if count == 0 or not path.exists():
        return []
    with path.open("rb") as file:
        place = file.seek(0, os.SEEK_END)
        least = max(0, place - MOST_BYTES)
        blocks: list[bytes] = []
        found = 0
        while place > least and (count is None or found <= count):
            start = max(least, place - BLOCK_BYTES)
            file.seek(start)
            blocks.append(file.read(place - start))
            found += blocks[-1].count(b"\n")
            place = start
    lines = b"".join(reversed(blocks)).decode("utf-8", "replace").splitlines()
    whole = lines if place == 0 else lines[1:]
    return whole if count is None else whole[-count:]


def _size(run: Run) -> int:
    return run.log_path.stat().st_size if run.log_path.exists() else 0


def _after(run: Run, place: int) -> tuple[int, list[str]]:
    """Return the whole lines after a place, and where the next ones begin."""
    size = _size(run)
    if size < place:
        # The log was cut in its middle; what came last is known already.
        return size, []
    if size == place:
        return place, []
    with run.log_path.open("rb") as file:
        file.seek(place)
        read = file.read(min(size - place, FOLLOWED_BYTES))
    whole = read[: read.rfind(b"\n") + 1] or (read if len(read) == FOLLOWED_BYTES else b"")
    return place + len(whole), whole.decode("utf-8", "replace").splitlines()
