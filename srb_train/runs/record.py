"""run.json: who, what, where and how far, in flat fields that are always all present.

A record is plain data. The functions here are pure: they take a record and return a new one.
Unknown values are null; a field that another version added is kept and passed on.
"""

import copy
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from srb_train import redact
from srb_train.errors import IntegrityError, UsageError
from srb_train.runs import files, layout
from srb_train.spec import RunSpec

Record = dict[str, Any]

SCHEMA_VERSION = 1
_USUAL_BYTES = 64 * 1024
LIVE = ("reserved", "starting", "running")
FINAL = ("completed", "stopped", "failed")

FIELDS: Mapping[str, Any] = {
    "schema_version": SCHEMA_VERSION,
    "run_id": None,
    "sequence": None,
    "created_at": None,
    "started_at": None,
    "ended_at": None,
    "status": "reserved",
    "signal": None,
    "exit_code": None,
    "failure": None,
    "algorithm": None,
    "implementation": None,
    "task": None,
    "workflow": None,
    "seed": None,
    "device": None,
    "num_envs": None,
    "budget": None,
    "step": 0,
    "overrides": [],
    "command": [],
    "logdir": None,
    "host": None,
    "boot_id": None,
    "pid": None,
    "process_started": None,
    "supervisor_pid": None,
    "supervisor_started": None,
    "srb_commit": None,
    "srb_dirty": None,
    "srb_assets_commit": None,
    "simulator": {"isaac_sim": None, "isaac_lab": None},
    "image_id": None,
    "arch": None,
    "gpu": None,
    "driver": None,
    "hyperparameters_digest": None,
    "after": None,
    "resumed_from": None,
    "resume_grade": None,
    "segments": [],
    "checkpoints": None,
    "metrics": {},
}
"""Every field with the value it has while nothing is known.

`run_id` is the folder relative to the log root; `sequence` is the creation time in ns and orders
runs of the same millisecond; `process_started` and `supervisor_started` are in the unit of
`status.process_started` and mean something only within `boot_id`; `budget` and `step` count
environment transitions over all copies. `after` is the run that this one waits or has waited for,
`{run, path, weights, ended_at}`: `weights` tells whether it begins with the weights of that run,
`ended_at` is null while it waits.
"""

SEGMENT: Mapping[str, Any] = {
    "from_step": 0,
    "to_step": None,
    "started_at": None,
    "ended_at": None,
    "status": None,
    "signal": None,
    "exit_code": None,
    "budget": None,
    "changes": {},
    "pid": None,
    "host": None,
    "checkpoint": None,
}
"""One stretch of training by one process; `status` is null while it lasts, "lost" if unseen."""


def new(spec: RunSpec, facts: Mapping[str, Any]) -> Record:
    """Return the record of a run that was just reserved."""
    asked: Record = {
        "created_at": layout.timestamp(),
        "algorithm": spec.algo,
        "task": spec.env,
        "workflow": spec.algo,
        "seed": spec.seed,
        "device": spec.device,
        "num_envs": spec.num_envs,
        "budget": spec.steps,
        "hyperparameters_digest": hyperparameters_digest(spec.agent_params),
    }
    return patch(copy.deepcopy(dict(FIELDS)), **{**asked, **facts})


def hyperparameters_digest(params: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the hyperparameters as canonical JSON, without their secrets."""
    text = json.dumps(redact.tree(params), sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def patch(record: Record, **changes: Any) -> Record:
    """Return the record with other values in some fields; a field nobody knows is refused."""
    unknown = sorted(set(changes) - set(FIELDS))
    if unknown:
        raise UsageError(f"{layout.RUN} has no field {', '.join(unknown)}")
    if changes.get("status", "reserved") not in LIVE + FINAL:
        raise UsageError(f"status={changes['status']!r} is none of {', '.join(LIVE + FINAL)}")
    wrong = _misfits(changes)
    if wrong:
        raise UsageError(f"{layout.RUN}: {wrong[0]}={changes[wrong[0]]!r} is of the wrong type")
    if "metrics" in changes:
        finite = {tag: _finite(value) for tag, value in changes["metrics"].items()}
        changes = {**changes, "metrics": finite}
    return {**record, **changes}


def _finite(value: Any) -> float | None:
    return None if value is None else files.finite(value)


def open_segment(record: Record, **facts: Any) -> Record:
    """Begin a stretch of training: the status goes to "starting" and the last end is forgotten.

    A stretch that was opened for a process still to come is taken over by that process; one whose
    process never said how it ended is closed as "lost". `from_step` is the step to go on from.
    """
    *earlier, last = record["segments"] or [None]
    if last is not None and _is_open(last) and last["pid"] is None:
        current = _segment({**last, **facts})
    else:
        earlier = list(record["segments"])
        current = _segment({**_beginning(record), **facts})
    begun = {
        "status": "starting",
        "started_at": record["started_at"] or current["started_at"],
        "step": current["from_step"],
        "budget": current["budget"],
        "pid": current["pid"],
        "process_started": None,
        **dict.fromkeys(("ended_at", "signal", "exit_code", "failure")),
    }
    return patch(record, segments=[*map(_lost_if_open, earlier), current], **begun)


def _beginning(record: Record) -> Record:
    resumed = record["resumed_from"]
    return {
        "from_step": resumed["step"] if resumed else 0,
        "started_at": layout.timestamp(),
        "budget": record["budget"],
    }


def close_segment(record: Record, status: str, **facts: Any) -> Record:
    """Write how the last stretch of training ended, there and in the record itself.

    `facts` are fields of a segment, and `failure`; what is not given keeps its value.
    """
    if status not in FINAL:
        raise UsageError(f"status={status!r} ends nothing; {', '.join(FINAL)} do")
    failure = facts.pop("failure", None)
    given = {name: value for name, value in facts.items() if value is not None}
    end = {"ended_at": layout.timestamp(), **given, "status": status}
    *earlier, last = record["segments"] or [None]
    segments = [] if last is None else [*earlier, _segment({**last, **end})]
    top: Record = {name: end[name] for name in ("ended_at", "signal", "exit_code") if name in end}
    if "to_step" in end:
        top["step"] = end["to_step"]
    return patch(record, segments=segments, status=status, failure=failure, **top)


def _segment(facts: Mapping[str, Any]) -> Record:
    unknown = sorted(set(facts) - set(SEGMENT))
    if unknown:
        raise UsageError(f"a segment of {layout.RUN} has no field {', '.join(unknown)}")
    return {**copy.deepcopy(dict(SEGMENT)), **facts}


def _is_open(segment: Mapping[str, Any]) -> bool:
    return segment["status"] is None


def _lost_if_open(segment: Record) -> Record:
    return {**segment, "status": "lost"} if _is_open(segment) else segment


def load(path: Path) -> Record:
    """Read a run.json; a damaged one, or one of another schema, is an `IntegrityError`."""
    data = _quickly(path)
    if data is None:
        data = files.read_json(path)
    if not isinstance(data, dict):
        raise IntegrityError(f"{path} is damaged: it is no record")
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise IntegrityError(
            f"{path} has schema version {version}; this program reads version {SCHEMA_VERSION}"
        )
    absent = FIELDS.keys() - data.keys()
    record: Record = {**data, **{name: copy.deepcopy(FIELDS[name]) for name in absent}}
    damaged = _misfits(record)
    if damaged:
        raise IntegrityError(f"{path} is damaged: {', '.join(damaged)} cannot be so")
    return record


def _quickly(path: Path) -> Any:
    """Read a file of the usual size, as ten thousand of a list are; None where that fails."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.read(descriptor, _USUAL_BYTES)
        finally:
            os.close(descriptor)
        return orjson.loads(content) if len(content) < _USUAL_BYTES else None
    except (OSError, orjson.JSONDecodeError):
        return None


def _misfits(fields: Mapping[str, Any]) -> list[str]:
    """Return the fields whose values nobody could work with."""
    return [name for name, kind in _KINDS.items() if not isinstance(fields.get(name, kind()), kind)]


_KINDS: Mapping[str, type] = {
    "run_id": str,
    "sequence": int,
    "created_at": str,
    "status": str,
    "step": int,
    "segments": list,
    "metrics": dict,
}
