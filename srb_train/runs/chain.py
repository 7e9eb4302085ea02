"""A run that begins only when another one is completed, perhaps with the weights of that one.

`after` in its record says for whom it waits. Its supervisor looks at the other run's folder again
and again, so nothing has to be told to anybody, and both may live on different hosts.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from srb_train.errors import TrainingFailed
from srb_train.runs import files, layout, record
from srb_train.runs.store import Run

LOOK_SECONDS = 1.0
"""Time between two looks at the run that is waited for."""
HOPELESS = ("failed", "stopped", "lost")
"""States after which a run will not be completed, unless somebody resumes it."""


def awaited(other: Run, weights: bool) -> dict[str, Any]:
    """Return the field `after` of a run that waits for another one."""
    return {
        "run": other.record()["run_id"],
        "path": str(other.path),
        "weights": weights,
        "ended_at": layout.timestamp() if is_completed(other) else None,
    }


def is_completed(other: Run) -> bool:
    """Tell whether a run is completed; `TrainingFailed` says why it never will be."""
    now = other.status()
    if now.state in HOPELESS:
        raise TrainingFailed(
            f"{other.path} is {now.state} at step {now.step:,} ({now.reason}): what was to begin "
            "after it does not; resume it, or start without --after"
        )
    return now.state == "completed"


def begin(run: Run, order: Path, other: Run, suffixes: Collection[str]) -> None:
    """End the wait: note it, and let the order name the weights that the run begins with.

    `suffixes` are those of the framework's own model files; without any the run begins fresh.
    """
    if suffixes:
        asked = files.read_json(order)
        spec = {**asked["spec"], "weights_from": str(newest_weights(other, suffixes))}
        files.write_json(order, {**asked, "spec": spec})
        files.write_json(run.path / layout.SPEC, spec)
    run.change(_ended)


def _ended(current: record.Record) -> record.Record:
    return record.patch(current, after={**current["after"], "ended_at": layout.timestamp()})


def newest_weights(other: Run, suffixes: Collection[str]) -> Path:
    """Return the framework's own model file in the newest checkpoint of a run."""
    newest = other.checkpoints().latest()
    if newest is None:
        raise TrainingFailed(f"{other.path} has no complete checkpoint to take weights from")
    for path in sorted(newest.path.iterdir()):
        if path.suffix in suffixes:
            return path
    raise TrainingFailed(f"{newest.path} has no model file ({', '.join(suffixes)}) to begin with")


def give_up(run: Run, how: str, facts: Mapping[str, Any]) -> None:
    """Close a run that has waited in vain; facts are exit_code, signal, failure."""
    run.change(lambda current: record.close_segment(current, how, **facts))
