"""Build N rows of one of our own tasks; each task's file says which settings it takes."""

from collections.abc import Callable, Mapping
from typing import Any

from srb_train.contracts import BatchedEnv
from srb_train.envs.tasks import (
    cartpole,
    landing,
    orbital_evasion,
    rendezvous,
    velocity_tracking,
    waypoint_navigation,
)
from srb_train.envs.tasks.batch import Batch, Task
from srb_train.errors import UsageError


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Return N rows of the task `name`; `params` are its settings under their preset's names."""
    tasks: dict[str, Callable[[Mapping[str, Any]], Task]] = {
        "landing": landing.build,
        "cartpole": cartpole.build,
        "rendezvous": rendezvous.build,
        "orbital_evasion": orbital_evasion.build,
        "waypoint_navigation": waypoint_navigation.build,
        "velocity_tracking": velocity_tracking.build,
    }
    if name not in tasks:
        raise UsageError(f"--env {name}: no such task; {', '.join(tasks)} are ours")
    return Batch(tasks[name](params), num_envs)
