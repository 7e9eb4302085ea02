"""Start, stop and resume runs that live on their own, from any door and at any time."""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from srb_train import detach, supervisor
from srb_train.errors import IntegrityError, Interrupted
from srb_train.operations.prepare import Plan, prepare
from srb_train.operations.requests import TrainRequest
from srb_train.operations.train import place
from srb_train.runs import chain, layout, lifecycle, status
from srb_train.runs.record import FINAL
from srb_train.runs.store import Run, RunStore

READY_SECONDS = 120.0
"""How long a start waits for its worker to begin, unless told otherwise."""
STOP_SECONDS = 30.0
"""How long a run may take to save and stop before it is killed, unless told otherwise."""
LAST_WORD_SECONDS = 10.0
POLL_SECONDS = 0.1


def start(
    request: TrainRequest,
    *,
    seconds: float = READY_SECONDS,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Train in the background; returns once the worker has begun, has ended, or `seconds` passed.

    Returns the run's place and status, `ready` (whether the worker has begun), `done` (whether
    the budget was reached before) and `message` where there is something to say. One that waits for
    another run returns at once; its status is `waiting`.
    """
    plan = prepare(request)
    if plan.start.run is not None:
        if plan.done:
            return _started(plan.start.run, plan, detach.Report(begun=False, ended=None))
        with plan.start.run.claim():
            pass  # whoever trains it now is named before anything is started
    run, order = place(plan, environ)
    return _started(run, plan, detach.start(run, order, environ, seconds))


def await_turn(request: TrainRequest, say: Callable[[str], None]) -> None:
    """Check a request, then wait until the run that it is to begin after is completed.

    `say` gets one line if there is something to wait for. Nothing is on disk meanwhile; Ctrl-C is
    `Interrupted`.
    """
    other = prepare(request).start.after
    if other is None or chain.is_completed(other):
        return
    say(f"waits for {other.path}")
    try:
        while not chain.is_completed(other):
            time.sleep(chain.LOOK_SECONDS)
    except KeyboardInterrupt as error:
        raise Interrupted("SIGINT", "given up while it waited; nothing was started") from error


def resume(
    name: str,
    logdir: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    additional: int | None = None,
    seconds: float = READY_SECONDS,
) -> dict[str, Any]:
    """Go on with a run from its newest checkpoint, in the background and in the same folder."""
    store = RunStore(logdir or layout.default_root())
    run = store.find(name)
    spec = run.spec()
    newest = run.checkpoints().latest()
    if newest is None:
        raise IntegrityError(
            f"{run.path} has no complete checkpoint to go on from; start a new run: "
            f"srb run start --algo {spec.algo} --env {spec.env}"
        )
    request = TrainRequest(
        algo=spec.algo,
        env=spec.env,
        overrides=tuple(overrides),
        logdir=store.root,
        model=str(newest.path),
        additional=additional,
        command=("srb", "run", "resume", name, *overrides),
    )
    return start(request, seconds=seconds)


def stop(name: str, logdir: Path | None = None, *, seconds: float = STOP_SECONDS) -> dict[str, Any]:
    """Ask a run to save and stop; after `seconds` its processes are killed.

    Only processes that the record proves to be the run's are touched. Returns `stopped` (nothing
    of the run lives any more), `began` (whether it ever had a worker), `forced` (whether
    it had to be killed), status and exit code.
    """
    run = RunStore(logdir or layout.default_root()).find(name)
    began = run.record()["pid"] is not None
    run.request_stop()
    forced = not _gone(run, seconds)
    if forced:
        _kill(run)
    record = run.record()
    return {
        "run": record["run_id"],
        "path": str(run.path),
        "stopped": not _lives(run),
        "began": began or record["pid"] is not None,
        "forced": forced,
        "status": run.status().state,
        "step": record["step"],
        "exit_code": record["exit_code"],
        "signal": record["signal"],
    }


def _started(run: Run, plan: Plan, report: detach.Report) -> dict[str, Any]:
    record = run.record()
    said = [f"waits for {plan.start.after.path}"] if report.waits and plan.start.after else []
    return {
        "run": record["run_id"],
        "path": str(run.path),
        "ready": report.begun,
        "done": plan.done,
        "status": run.status().state,
        "pid": record["pid"],
        "step": plan.step,
        "budget": plan.spec.steps,
        "seed": plan.spec.seed,
        "message": report.ended or "; ".join([*said, *plan.notes]) or None,
    }


def _gone(run: Run, seconds: float) -> bool:
    """Wait until nothing of the run lives; tells whether that happened in time."""
    until = time.monotonic() + seconds
    while _lives(run):
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _lives(run: Run) -> bool:
    """Tell whether the run's worker lives, or its supervisor still owes it a last word."""
    record = run.record()
    boot = record["boot_id"]
    worker = status.is_alive(record["pid"], record["process_started"], boot)
    owing = record["status"] not in FINAL and status.is_alive(
        record["supervisor_pid"], record["supervisor_started"], boot
    )
    return worker or owing


def _kill(run: Run) -> None:
    """Kill the worker with what it started, let its supervisor speak, else speak for it."""
    record = run.record()
    pid, boot = record["pid"], record["boot_id"]
    if status.is_alive(pid, record["process_started"], boot):
        _kill_group(pid)
    if _gone(run, LAST_WORD_SECONDS):
        return
    if status.is_alive(record["supervisor_pid"], record["supervisor_started"], boot):
        os.kill(record["supervisor_pid"], signal.SIGKILL)
    _gone(run, LAST_WORD_SECONDS)
    lifecycle.last_word(run, pid, supervisor.exit_code(-signal.SIGKILL), signal.SIGKILL.name)


def _kill_group(pid: int) -> None:
    """Kill a worker; it leads a group of its own, in which its environments live."""
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
