"""What a terminal shows of a run that is started, stopped, waited for or cleaned up."""

import json
from collections.abc import Mapping
from typing import Any

from srb_train.cli import wording
from srb_train.cli.render import columns, pairs

Row = Mapping[str, Any]


def started(found: Row) -> str:
    """Return where a run is that was started, and whether it trains by now."""
    how = "trains" if found["ready"] else found["status"]
    if found["done"]:
        how = "completed before: its budget is reached"
    return pairs(
        {
            "run": found["run"],
            "folder": found["path"],
            "status": how,
            "step": f"{found['step']:,} of {wording.count(found['budget'])}",
            "said": found["message"],
            "watch": f"srb run logs {found['run']} --follow",
            "stop": f"srb run stop {found['run']}",
        }
    )


def stopped(found: Row) -> str:
    """Return how a run was stopped."""
    how = "saved and stopped" if found["began"] else "it had not begun"
    if found["forced"]:
        how = "killed: it did not stop in time"
    return pairs(
        {
            "run": found["run"],
            "status": f"{found['status']} ({how})" if found["stopped"] else "still alive",
            "step": wording.count(found["step"]),
            "go on": f"srb run resume {found['run']}" if found["began"] else None,
        }
    )


def goal(found: Row) -> str:
    """Return whether a run has reached something, and where it stands."""
    missed = "not reached: time is up" if found.get("timed_out") else "not reached"
    left = found["eta_seconds"]
    return pairs(
        {
            "run": found["run"],
            "goal": "reached" if found["reached"] else missed,
            "status": found["status"],
            "step": f"{found['step']:,} of {wording.count(found['budget'])}",
            "return": wording.number(found["return"]) if found["return"] is not None else None,
            "to go": wording.duration(left) if left is not None else None,
            "new": ", ".join(f"{step:,}" for step in found.get("new_checkpoints", ())) or None,
        }
    )


def exported(found: Row) -> str:
    """Return the model files of a run, newest first."""
    rows = [
        [wording.count(row["step"]), wording.size(row["bytes"]), row["path"]]
        for row in found["models"]
    ]
    more = found["total_models"] - len(rows)
    if not rows:
        total = found["total_checkpoints"]
        return f"{found['path']} has no model file; {total} checkpoints: srb run checkpoints"
    text = columns(("step", "size", "file"), rows)
    return f"{text}\n… and {more} more: --last-n -1" if more else text


def orphans(found: Row) -> str:
    """Return the processes that nobody looks after, and what became of them."""
    rows = [
        [
            str(row["pid"]),
            row["run"],
            wording.size(row["bytes"]),
            str(len(row["children"])),
            "killed" if row["killed"] else "lives",
        ]
        for row in found["orphans"]
    ]
    text = (
        columns(("process", "run", "memory", "children", "is"), rows)
        if rows
        else f"no orphans of runs in {found['logdir']}"
    )
    if any(not row["killed"] for row in found["orphans"]):
        text += "\n`srb run cleanup --kill` ends them"
    closed = ", ".join(found["closed"])
    return f"{text}\nclosed as failed: {closed}" if closed else text


def settings(found: Row) -> str:
    """Return a file's settings as one JSON value under its path."""
    return f"{found['path']}\n{json.dumps(found['config'], indent=2, ensure_ascii=False)}"
