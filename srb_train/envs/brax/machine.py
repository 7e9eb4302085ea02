"""N copies of a task of Brax, compiled into one program."""

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from brax import envs
from brax.io import image

from srb_train import spelling
from srb_train.contracts import BatchedEnv
from srb_train.envs.brax import rows
from srb_train.errors import UsageError

ENGINES = ("generalized", "spring", "positional", "mjx")
_SIZE = (240, 320)


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of `name`, such as `ant`; see configs/env/brax.yaml for the settings."""
    rows.numpy_only(params.get("array", "numpy"))
    if name not in envs._envs:
        near = spelling.nearest(name, envs._envs, most=3)
        raise UsageError(f"brax/{name}: there is no such task{near}")
    task = _task(name, params)

    def draw(state: Any) -> np.ndarray:
        height, width = _SIZE
        try:
            return np.asarray(image.render_array(task.sys, state.pipeline_state, height, width))
        except (RuntimeError, AttributeError, ImportError, mujoco.FatalError) as error:
            raise rows.undrawable(error) from error

    return rows.JaxRows(
        rows.Simulation(
            reset=task.reset,
            step=task.step,
            draw=draw,
            action_size=int(task.action_size),
            max_episode_steps=int(params.get("max_episode_steps") or 1000),
            fps=max(1, round(1.0 / float(task.dt))),
        ),
        num_envs,
    )


def _task(name: str, params: Mapping[str, Any]) -> Any:
    settings = dict(params.get("kwargs") or {})
    engine = params.get("backend")
    if engine is not None:
        if engine not in ENGINES:
            raise spelling.not_one_of("env.backend", engine, ENGINES)
        settings["backend"] = engine
    try:
        return envs.get_environment(name, **settings)
    except TypeError as error:
        raise UsageError(
            f"brax/{name} cannot be made: {error}; env.kwargs holds its arguments"
        ) from error
