"""Processes of this product that nobody looks after any more: found by proof, killed on request.

A process is ours when a record below the log root names it with its number, its start time and
this boot. It is an orphan when it trains or watches a run and the process that it reports to, its
supervisor, is gone. Names and command lines prove nothing and are not looked at.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil

from srb_train import supervisor
from srb_train.runs import layout, lifecycle, status
from srb_train.runs.record import FINAL, Record
from srb_train.runs.store import Run, RunStore

GRACE_SECONDS = 5.0


def cleanup(logdir: Path | None = None, *, kill: bool = False) -> dict[str, Any]:
    """List the orphans of all runs; with `kill`, ask each to stop, then kill it.

    Runs whose processes are gone without a word get one: their record says `failed`.
    """
    store = RunStore(logdir or layout.default_root())
    orphans, mended = [], []
    for run, record in store.records():
        if record["host"] != status.this_host() or not _began(record):
            continue
        boot = record["boot_id"]
        lives = status.is_alive(record["pid"], record["process_started"], boot)
        watched = status.is_alive(record["supervisor_pid"], record["supervisor_started"], boot)
        if lives and not watched:
            orphans.append({**_described(run, record), "killed": _end(record) if kill else False})
            lives = not orphans[-1]["killed"] and lives
        if kill and not lives and not watched and record["status"] not in FINAL:
            lifecycle.last_word(
                run, record["pid"], supervisor.exit_code(-signal.SIGKILL), signal.SIGKILL.name
            )
            mended.append(record["run_id"])
    return {"logdir": str(store.root), "orphans": orphans, "closed": mended}


def _began(record: Record) -> bool:
    return record["pid"] is not None and record["process_started"] is not None


def _described(run: Run, record: Record) -> dict[str, Any]:
    process = psutil.Process(record["pid"])
    return {
        "run": record["run_id"],
        "path": str(run.path),
        "pid": record["pid"],
        "bytes": process.memory_info().rss,
        "children": [child.pid for child in process.children(recursive=True)],
    }


def _end(record: Record) -> bool:
    """Stop a proven orphan and what it started; tells whether it is gone."""
    pid, started, boot = record["pid"], record["process_started"], record["boot_id"]
    children = psutil.Process(pid).children(recursive=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.kill(pid, number)
        until = time.monotonic() + GRACE_SECONDS
        while status.is_alive(pid, started, boot) and time.monotonic() < until:
            time.sleep(0.05)
        if not status.is_alive(pid, started, boot):
            break
    # psutil compares start times, so a number that was taken again is not hit.
    for child in children:
        if child.is_running():
            child.kill()
    psutil.wait_procs(children, timeout=GRACE_SECONDS)
    return not status.is_alive(pid, started, boot)
