"""Build N rows of one of our own tasks; each task's file says which settings it takes."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from srb_train.contracts import BatchedEnv
from srb_train.envs.tasks import (
    cartpole,
    landing,
    orbital_evasion,
    rendezvous,
    sample_collection,
    velocity_tracking,
    waypoint_navigation,
)
from srb_train.envs.tasks.batch import Batch, Task
from srb_train.errors import MissingDependency, UsageError
from srb_train.spelling import not_one_of

NUMPY, JAX = ENGINES = ("numpy", "jax")
"""What `env.engine` may be: what computes the physics. Arrays are NumPy's with both."""


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Return N rows of the task `name`; `params` are its settings under their preset's names."""
    tasks: dict[str, Callable[[Mapping[str, Any]], Task]] = {
        "landing": landing.build,
        "cartpole": cartpole.build,
        "rendezvous": rendezvous.build,
        "orbital_evasion": orbital_evasion.build,
        "waypoint_navigation": waypoint_navigation.build,
        "velocity_tracking": velocity_tracking.build,
        "sample_collection": sample_collection.build,
    }
    if name not in tasks:
        raise UsageError(f"--env {name}: no such task; {', '.join(tasks)} are ours")
    settings = {key: value for key, value in params.items() if key != "engine"}
    return _kind(params.get("engine", NUMPY))(tasks[name](settings), num_envs)


def _kind(engine: str) -> Callable[[Task, int], BatchedEnv]:
    if engine not in ENGINES:
        raise not_one_of("env.engine", engine, ENGINES)
    if engine == NUMPY:
        return Batch
    if find_spec("jax") is None:
        raise MissingDependency(
            'env.engine=jax needs jax, which is not installed: pip install "srb-train[jax]"'
        )
    found: Callable[[Task, int], BatchedEnv] = resolve_name(
        "srb_train.envs.tasks.compiled:CompiledBatch"
    )
    return found
