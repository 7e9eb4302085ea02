"""Launch Isaac Sim, then make N copies of a task that is registered for Isaac Lab.

The order is the simulator's: nothing of it may be imported before its app runs, it runs once a
process, and closing it ends the process.
"""

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import gymnasium
from isaaclab.app import AppLauncher

from srb_train import spelling
from srb_train.contracts import BatchedEnv
from srb_train.envs.isaaclab import launch
from srb_train.envs.tensor_rows import TensorRows, lay
from srb_train.errors import MissingDependency, UsageError

TASKS = "isaaclab_tasks"
"""The module that registers the tasks which come with Isaac Lab."""
ENTRY = "env_cfg_entry_point"
"""What a registered id has when it is a task of Isaac Lab's."""
_NOTE = (
    "Isaac Lab restarts ended rows within its step: what they saw before their last step stands "
    "for what they saw last"
)


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Launch the app with the simulator options among `params` and build the task.

    Params: `device` of the simulator, `groups` of the observation, `action_limit` where actions
    have no bounds, `cfg` (settings of the task by their paths), and the options of the plate.
    """
    module, _, task = name.rpartition(":")
    app = AppLauncher(launch.arguments(params, os.environ)).app
    _imported(module or TASKS, name)
    utils = _imported(f"{TASKS}.utils", name)
    _check_task(task, name)
    cfg = utils.parse_env_cfg(task, device=params["device"], num_envs=num_envs)
    # What is drawn once, when the scene is built, is drawn from here on.
    cfg.seed = 0
    lay(cfg, params.get("cfg") or {})
    pictures = "rgb_array" if params.get("enable_cameras") else None
    env = gymnasium.make(task, cfg=cfg, render_mode=pictures)
    print(f"{name}: {_NOTE}", flush=True)
    return TensorRows(env, params["groups"], params["action_limit"], closed=app.close)


def _imported(module: str, name: str) -> ModuleType:
    """Import what the app has to run for."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise UsageError(
                f"isaaclab/{name}: there is no module {module}; install it where Isaac Lab is"
            ) from error
        raise MissingDependency(
            f"isaaclab/{name} needs {error.name}, which is not installed: pip install {error.name}"
        ) from error


def _check_task(task: str, name: str) -> None:
    known = [each for each, spec in gymnasium.registry.items() if ENTRY in spec.kwargs]
    if task not in known:
        raise UsageError(
            f"isaaclab/{name}: no such task is registered{spelling.nearest(task, known, most=3)} "
            "(isaaclab/<module>:<id> imports the module that registers it)"
        )
