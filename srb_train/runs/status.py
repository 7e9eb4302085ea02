"""How a run is doing, derived: from its record, its processes and its heartbeat.

What a run wrote about its own end is believed. What it wrote about being alive is checked: by the
process's number, start time and boot on the same host, by the age of the heartbeat from others.
Nothing that is missing ever makes a run "running".
"""

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import psutil

from srb_train.runs.record import FINAL

State = Literal[
    "reserved",
    "waiting",
    "starting",
    "running",
    "stopping",
    "completed",
    "stopped",
    "failed",
    "lost",
]
ALIVE: frozenset[State] = frozenset({"waiting", "starting", "running", "stopping"})

LEASE_SECONDS = 30.0
"""For how long a heartbeat speaks for a process that this host cannot see."""
START_TOLERANCE_SECONDS = 0.05
"""Start times are counted in ticks of 10 ms; two processes of one number lie further apart."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What can be said about a run now; None where nothing is known."""

    state: State
    reason: str
    """Why, in a few words."""
    step: int
    """Last step that was seen: of the heartbeat while the run lives or is lost, else written."""
    budget: int | None
    phase: str | None
    rate: float | None
    """Environment transitions a second, over all copies."""
    beat_age: float | None
    """Seconds since the last heartbeat."""
    progress_age: float | None
    """Seconds since the step last grew."""

    @property
    def alive(self) -> bool:
        """Whether a process works on the run."""
        return self.state in ALIVE


def this_host() -> str:
    """Return the name under which this machine is recorded."""
    return socket.gethostname()


@cache
def boot_id() -> str:
    """Return what names this boot of the machine; another value means every process is gone."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else str(int(psutil.boot_time()))


def process_started(pid: int) -> float | None:
    """Return when a process began, in seconds comparable within one boot; None if it is gone.

    On Linux this counts from the boot, so that setting the clock cannot make a living process
    look like another one. A zombie is gone.
    """
    try:
        if sys.platform == "linux":
            return _started_since_boot(pid)
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return None if zombie else float(process.create_time())
    except (OSError, psutil.Error):
        return None


def _started_since_boot(pid: int) -> float | None:
    """Read state and start time, fields 3 and 22 of proc(5); the name before may hold spaces."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19]) / os.sysconf("SC_CLK_TCK")


def is_alive(pid: int | None, started: float | None, boot: str | None) -> bool:
    """Tell whether the very process that was recorded lives, not one that took its number."""
    if pid is None or started is None or boot != boot_id():
        return False
    found = process_started(pid)
    return found is not None and abs(found - started) <= START_TOLERANCE_SECONDS


def derive(
    record: Mapping[str, Any], heartbeat: Mapping[str, Any] | None, now: float, host: str
) -> Status:
    """Judge a run from `host` at `now` (seconds since 1970)."""
    beat = own_beat(record, heartbeat) or {}
    state, reason = _judge(record, beat, now, host)
    seen = beat.get("step") if state not in FINAL else None
    return Status(
        state=state,
        reason=reason,
        step=record["step"] if seen is None else seen,
        budget=record["budget"],
        phase=beat.get("phase"),
        rate=beat.get("rate") if state in ALIVE else None,
        beat_age=_age(now, beat.get("time")),
        progress_age=_age(now, beat.get("progress_at")),
    )


def own_beat(
    record: Mapping[str, Any], heartbeat: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return the heartbeat if the recorded process made it, not one of an earlier segment."""
    if heartbeat is None or record["pid"] is None:
        return None
    same = heartbeat.get("pid") == record["pid"] and heartbeat.get("host") == record["host"]
    return heartbeat if same and heartbeat.get("started") == record["process_started"] else None


def _age(now: float, then: float | None) -> float | None:
    return None if then is None else max(0.0, now - then)


def _judge(
    record: Mapping[str, Any], beat: Mapping[str, Any], now: float, host: str
) -> tuple[State, str]:
    written = record["status"]
    if written in FINAL:
        return written, _last_word(record)
    if record["host"] != host:
        return _judge_from_afar(record, beat, now)
    if is_alive(record["pid"], record["process_started"], record["boot_id"]):
        return _liveliness(record, beat), f"process {record['pid']} lives"
    supervisor = record["supervisor_pid"]
    if is_alive(supervisor, record["supervisor_started"], record["boot_id"]):
        if record["pid"] is not None:
            return "stopping", f"supervisor {supervisor} lives"
        if _waits(record):
            return "waiting", f"for {record['after']['run']}"
        return written, f"supervisor {supervisor} lives"
    if written == "reserved" and record["pid"] is None and supervisor is None:
        return "reserved", "nothing was started yet"
    return "lost", f"process {record['pid'] or supervisor} is gone without a last word"


def _waits(record: Mapping[str, Any]) -> bool:
    """Tell whether a reserved run is to begin only when another one is completed."""
    match record:
        case {"status": "reserved", "after": {"run": str(), "ended_at": None}}:
            return True
    return False


def _judge_from_afar(
    record: Mapping[str, Any], beat: Mapping[str, Any], now: float
) -> tuple[State, str]:
    """Judge by the lease alone: process numbers of another host say nothing here."""
    place = f"host {record['host']}"
    if record["status"] == "reserved":
        return "reserved", f"nothing was started yet on {place}"
    then = beat.get("time")
    if then is None:
        return "lost", f"no heartbeat from {place}"
    # A clock that is far ahead proves no more than one that is far behind.
    if abs(now - then) > LEASE_SECONDS:
        return "lost", f"last heartbeat from {place} {now - then:.0f} s ago"
    return _liveliness(record, beat), f"heartbeat from {place}"


def _liveliness(record: Mapping[str, Any], beat: Mapping[str, Any]) -> State:
    if beat.get("phase") == "stopping" or record["signal"] is not None:
        return "stopping"
    return "starting" if beat.get("progress_at") is None else "running"


def _last_word(record: Mapping[str, Any]) -> str:
    if record["failure"]:
        return str(record["failure"]["message"])
    return f"by {record['signal']}" if record["signal"] else "as it wrote itself"
