"""N copies of a task of the DeepMind Control Suite behind the batched contract.

Each copy is a Gymnasium environment (see suite.py), so that the rows of the Gymnasium room serve
it: in a loop or in processes, restarted in the same step, with their exact state.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from types import ModuleType
from typing import Any

from gymnasium.envs.registration import EnvSpec, load_env_creator

from srb_train import spelling
from srb_train.contracts import BatchedEnv
from srb_train.envs.gymnasium import machine as gymnasium_rows
from srb_train.errors import MissingDependency, UsageError

_SUITE = "srb_train.envs.dm_control.suite"
_OVER_MUJOCO = ("mujoco", "dm_control.mujoco")


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of `name`, which is `<domain>-<task>`; see configs/env/dm_control.yaml."""
    tasks = _suite("tasks")()
    if name not in tasks:
        near = spelling.nearest(name, tasks, most=3)
        raise UsageError(
            f"dm_control/{name}: the suite has no such task{near}; write it <domain>-<task>"
        )
    settings = {**(params.get("kwargs") or {})}
    limit = _limit(name, settings, params.get("max_episode_steps"))
    spec = EnvSpec(
        id=f"{name}-v0",
        entry_point=f"{_SUITE}:SuiteEnv",
        kwargs={"name": name},
        max_episode_steps=limit,
    )
    return gymnasium_rows.rows_of(f"dm_control/{name}", spec, num_envs, params)


def _limit(name: str, settings: Mapping[str, Any], wanted: int | None) -> int | None:
    """Return the steps after which the task itself ends; fewer may be asked for, but not more."""
    kind = _suite("SuiteEnv")
    try:
        with _beside_mujoco():
            task = kind(name, **settings)
    except TypeError as error:
        raise UsageError(
            f"dm_control/{name} cannot be made: {error}; env.kwargs holds its arguments"
        ) from error
    limit: int | None = task.limit
    task.close()
    if limit is not None and wanted is not None and wanted > limit:
        raise UsageError(
            f"env.max_episode_steps={wanted}: this task ends after {limit} steps; "
            f"env.kwargs.time_limit={wanted * task.seconds:g} lets it go on for as long"
        )
    return limit


def _suite(word: str) -> Any:
    """Return what suite.py defines under a name; it imports dm_control."""
    # The way in which Gymnasium finds an entry point, for it may fail here and be told.
    with _beside_mujoco():
        return load_env_creator(f"{_SUITE}:{word}")


@contextmanager
def _beside_mujoco() -> Iterator[None]:
    """Tell what MuJoCo no longer has, which dm_control asks for when it builds a task."""
    try:
        yield
    except AttributeError as error:
        asked = error.obj if isinstance(error.obj, ModuleType) else type(error.obj)
        # Its own classes over MuJoCo's ask in their place.
        if not getattr(asked, "__module__", asked.__name__).startswith(_OVER_MUJOCO):
            raise
        versions = (f"{each} {metadata.version(each)}" for each in ("dm_control", "mujoco"))
        raise MissingDependency(
            f"{' and '.join(versions)} do not work together ({error}): "
            'pip install "mujoco<4", or give dm_control an interpreter of its own: python -m venv '
            '~/dm_control && ~/dm_control/bin/pip install dm_control "mujoco<4" gymnasium, and run '
            "it with env.python=~/dm_control/bin/python"
        ) from error
