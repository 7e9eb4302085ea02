"""Build N rows of a task that lives in a module of the user's own.

The object that a name such as `my_tasks.hover:make` leads to is called with the settings of
`env.kwargs`. One that takes `num_envs` returns a `BatchedEnv`; any other makes one Gymnasium
environment, of which N are stepped together.
"""

import inspect
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any, cast

from gymnasium.envs.registration import EnvSpec

from srb_train.contracts import BatchedEnv
from srb_train.envs.gymnasium import machine as gymnasium_rows
from srb_train.errors import MissingDependency, UnsupportedError, UsageError

_NEEDED = ("step", "reset", "state_dict", "observation_space", "action_space", "num_envs")


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Return N rows of the object `name`; see configs/env/own.yaml for the settings."""
    build = _found(name)
    if "num_envs" not in _parameters(build):
        spec = EnvSpec(id=_id(name), entry_point=cast(Any, build))
        return gymnasium_rows.rows_of(f"own/{name}", spec, num_envs, params)
    env = _called(name, build, num_envs, params.get("kwargs") or {})
    lacking = [word for word in _NEEDED if not hasattr(env, word)]
    if lacking:
        raise UnsupportedError(
            f"--env {name} takes num_envs but returns no batched environment: "
            f"{type(env).__name__} has no {', '.join(lacking)}; `srb env new` writes one to start "
            "from"
        )
    return cast(BatchedEnv, env)


def _found(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    if not module or not path:
        raise UsageError(f"--env {name}: write it as module:object, as in my_tasks.hover:make")
    try:
        found = resolve_name(name)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise UsageError(
                f"--env {name}: there is no module {module}; "
                "install it or put its folder on PYTHONPATH"
            ) from error
        raise MissingDependency(
            f"--env {name} needs {error.name}, which is not installed: pip install {error.name}"
        ) from error
    except AttributeError as error:
        raise UsageError(f"--env {name}: {error}") from error
    if not callable(found):
        raise UsageError(f"--env {name} is a {type(found).__name__} and cannot be called")
    return cast(Callable[..., Any], found)


def _parameters(build: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(build).parameters
    except ValueError:
        return {}


def _called(
    name: str, build: Callable[..., Any], num_envs: int, settings: Mapping[str, Any]
) -> Any:
    try:
        inspect.signature(build).bind(num_envs=num_envs, **settings)
    except TypeError as error:
        raise UsageError(
            f"--env {name} cannot be made: {error}; env.kwargs holds its arguments"
        ) from error
    return build(num_envs=num_envs, **settings)


def _id(name: str) -> str:
    """Return an id that Gymnasium accepts."""
    return "".join(letter if letter.isalnum() else "_" for letter in name) + "-v0"
