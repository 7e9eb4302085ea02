"""How a run's record moves: an order begins a segment, the worker ends it, or its parent does.

An order is what the next segment is to do: {spec, params, changes, overrides, command}. It has a
file of its own, because only the worker that won the run's lock may touch the run's own files.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srb_train.runs import files, layout, metrics, record, status
from srb_train.runs.store import Run
from srb_train.spec import RunSpec

_CANONICAL = (metrics.RETURN, metrics.LENGTH, metrics.SUCCESS, metrics.RATE, metrics.EPISODES)


def place_order(run: Run, order: Mapping[str, Any]) -> Path:
    """Write an order beside the record, under a name of its own; returns its path."""
    path = run.path / f".order-{os.getpid()}-{secrets.token_hex(4)}.json"
    files.write_json(path, order)
    return path


def begin(run: Run, order: Mapping[str, Any], from_step: int, grade: str | None) -> None:
    """Let the order's spec stand, and open its segment in the name of this process."""
    spec = RunSpec.from_dict(order["spec"])
    files.write_json(run.path / layout.SPEC, spec.as_dict())
    if order["changes"]:
        for section, text in order["params"].items():
            files.write_text(run.path / layout.PARAMS / f"{section}.yaml", text)
    pid = os.getpid()

    def opened(current: record.Record) -> record.Record:
        segment = record.open_segment(
            current,
            from_step=from_step,
            started_at=layout.timestamp(),
            budget=spec.steps,
            changes=order["changes"],
            pid=pid,
            host=status.this_host(),
            checkpoint=spec.resume_from,
        )
        return record.patch(
            segment,
            status="running",
            device=spec.device,
            host=status.this_host(),
            boot_id=status.boot_id(),
            process_started=status.process_started(pid),
            supervisor_pid=os.getppid(),
            supervisor_started=status.process_started(os.getppid()),
            overrides=order["overrides"],
            command=order["command"],
            hyperparameters_digest=record.hyperparameters_digest(spec.agent_params),
            resume_grade=grade,
        )

    run.change(opened)


def describe_env(run: Run, params: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Add to metadata.json what is known only once the environment stands."""
    path = run.path / layout.METADATA
    metadata = files.read_json(path)
    files.write_json(path, {**metadata, "environment": {**facts, "params": dict(params)}})


def finish(run: Run, how: str, **facts: Any) -> None:
    """Write how the segment of this process ended: facts are step, exit_code, signal, failure."""
    step = facts.pop("step", None)
    found = summary(run)
    run.change(
        lambda current: record.patch(
            record.close_segment(current, how, to_step=step, **facts), **found
        )
    )


def last_word(run: Run, pid: int, exit_code: int, signal_name: str | None) -> None:
    """Close the segment of a worker that died without a word; the parent has seen how."""
    heartbeat = run.heartbeat() or {}
    found = summary(run)

    def closed(current: record.Record) -> record.Record:
        never_began = current["status"] == "reserved"
        if current["status"] in record.FINAL or not (current["pid"] == pid or never_began):
            return current
        how = f"by {signal_name}" if signal_name else f"with exit code {exit_code}"
        ended = record.close_segment(
            current,
            "failed",
            to_step=heartbeat.get("step"),
            exit_code=exit_code,
            signal=signal_name,
            failure={"category": "workflow_failure", "message": f"the worker was ended {how}"},
        )
        return record.patch(ended, **found)

    run.change(closed)


def summary(run: Run) -> dict[str, Any]:
    """Return the checkpoints and the last canonical metrics as fields of the record."""
    checkpoints = run.checkpoints()
    latest, best = checkpoints.latest(), checkpoints.best()
    steps = {
        "latest": latest.step if latest else None,
        "best": best.step if best else None,
    }
    last = metrics.last_values(run.metrics_path)
    values = {tag: last[tag].value for tag in _CANONICAL if tag in last}
    return {"checkpoints": steps, "metrics": values}
