"""The one place that decides where an environment runs: in this process, or in one of its own.

`env.python=/path/to/python` runs any task in a process of that interpreter, which needs NumPy,
Gymnasium and the simulator, but no learner; see docs/backends/own-interpreter.md. The two sides
share the arrays of a step, and say what varies in size over a socket.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from srb_train import registry
from srb_train.apart.proxy import ApartEnv
from srb_train.contracts import BatchedEnv

_NONE: Mapping[str, Any] = MappingProxyType({})


def make_env(
    env: str,
    num_envs: int,
    params: Mapping[str, Any],
    simulator: Mapping[str, Any] = _NONE,
) -> BatchedEnv:
    """Build N copies of a task where its settings, or its backend, want it to run.

    `simulator` holds the simulator-only options of the command, which go to the backend beside
    the settings.
    """
    rest = {key: value for key, value in params.items() if key != registry.PYTHON} | dict(simulator)
    python = _interpreter(env, params)
    if python is None:
        return registry.make_env(env, num_envs, rest)
    return ApartEnv(python, {"env": env, "num_envs": num_envs, "params": rest})


def _interpreter(env: str, params: Mapping[str, Any]) -> Path | None:
    """Return the interpreter of an environment that must not run here; None for one that may."""
    chosen = params.get(registry.PYTHON)
    if chosen is not None:
        # A link is not followed: an interpreter knows its packages by where it was called.
        return Path(chosen).expanduser()
    return Path(sys.executable) if _wants_its_own(env) else None


def _wants_its_own(env: str) -> bool:
    """Tell whether the backend of a task cannot run in our process."""
    prefix = env.partition("/")[0]
    backends = registry.backends().values()
    return any(each.own_process and prefix == each.prefix for each in backends)
