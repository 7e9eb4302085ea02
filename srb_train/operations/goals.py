"""Whether a run has reached something: asked once, or waited for.

What is not known yet has never been reached: a run without metrics has no return, and only a run
that says `completed` is complete.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srb_train.errors import UsageError
from srb_train.operations import runs
from srb_train.runs import layout, metrics
from srb_train.runs.record import FINAL
from srb_train.runs.store import Run, RunStore

POLL_SECONDS = 1.0
TIMED_OUT = 124
"""Exit code of a wait that took too long, as coreutils' `timeout` has it."""
ENDED = (*FINAL, "lost")


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is asked of a run; exactly one of the fields is set."""

    step: int | None = None
    """Environment transitions, over all copies."""
    mean_return: float | None = None
    """Mean return of the episodes that ended last."""
    done: bool = False
    """That the run is completed."""
    first_metric: bool = False
    """That a scalar of training has been written."""
    known_checkpoints: Sequence[int] | None = None
    """Steps of the checkpoints that are known already: that there is another one."""

    def __post_init__(self) -> None:
        """Refuse a goal that says nothing, or two things."""
        given = [self.step, self.mean_return, self.known_checkpoints]
        asked = sum(each is not None for each in given) + self.done + self.first_metric
        if asked != 1:
            raise UsageError(
                "say what is asked of the run, one of: --step N, --return X, --done, "
                "--first-metric, --new-checkpoint"
            )


def check(name: str, goal: Goal, logdir: Path | None = None) -> dict[str, Any]:
    """Look once; returns `reached` with what is known of the run now."""
    return _look(RunStore(logdir or layout.default_root()).find(name), goal)


def wait(
    name: str,
    goal: Goal,
    logdir: Path | None = None,
    *,
    seconds: float | None = None,
    poll: float = POLL_SECONDS,
    seen: Callable[[dict[str, Any]], None] = lambda found: None,
) -> dict[str, Any]:
    """Look again and again until the goal is reached, the run has ended, or `seconds` passed.

    Returns what `check` does, and `timed_out`. `seen` gets what was found each time.
    """
    if poll <= 0:
        raise UsageError(f"--poll {poll}: seconds between two looks, above zero")
    run = RunStore(logdir or layout.default_root()).find(name)
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        found = _look(run, goal)
        seen(found)
        if found["reached"] or found["ended"]:
            return {**found, "timed_out": False}
        left = poll if until is None else min(poll, until - time.monotonic())
        if left <= 0:
            return {**found, "timed_out": True}
        time.sleep(left)


def _look(run: Run, goal: Goal) -> dict[str, Any]:
    row = runs.row_of(run, run.record())
    ended = row["status"] in ENDED
    shown = ("run", "path", "status", "reason", "step", "budget", "rate", "return", "success")
    found = {name: row[name] for name in shown}
    return {**found, "ended": ended, "eta_seconds": runs.eta(row), **_judged(run, row, goal)}


def _judged(run: Run, row: dict[str, Any], goal: Goal) -> dict[str, Any]:
    """Return `reached`, and the facts that only this goal needs."""
    if goal.done:
        return {"reached": row["status"] == "completed"}
    if goal.step is not None:
        return {"reached": row["step"] >= goal.step, "target_step": goal.step}
    if goal.mean_return is not None:
        value = row["return"]
        reached = value is not None and value >= goal.mean_return
        return {"reached": reached, "target_return": goal.mean_return}
    if goal.known_checkpoints is not None:
        steps = [found.step for found in run.checkpoints().all()]
        new = [step for step in steps if step not in goal.known_checkpoints]
        return {"reached": bool(new), "new_checkpoints": new, "checkpoints": steps}
    tags = sorted(metrics.last_values(run.metrics_path))
    return {"reached": bool(tags), "tags": tags}
