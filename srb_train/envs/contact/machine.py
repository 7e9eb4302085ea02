"""Build N rows of one of our contact tasks; each task's file says which settings it takes."""

from collections.abc import Callable, Mapping
from typing import Any

from srb_train.contracts import BatchedEnv
from srb_train.envs.contact import locomotion, peg_in_hole
from srb_train.envs.contact.batch import ContactBatch, ContactTask
from srb_train.errors import UsageError


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Return N rows of the task `name`; `params` are its settings under their preset's names."""
    tasks: dict[str, Callable[[Mapping[str, Any]], ContactTask]] = {
        "peg_in_hole": peg_in_hole.build,
        "locomotion": locomotion.build,
    }
    if name not in tasks:
        raise UsageError(f"--env {name}: no such task; {', '.join(tasks)} are ours")
    settings = {key: value for key, value in params.items() if key != "threads"}
    return ContactBatch(tasks[name](settings), num_envs, params.get("threads"))
