"""Make N copies of a task that is registered with mjlab.

Ended rows are restarted by us, so that what they saw last is known exactly. That costs a second
look at all rows where one has ended; `env.cfg.auto_reset=true` leaves it to mjlab, and what a row
saw before its last step stands for what it saw last.
"""

from collections.abc import Mapping
from typing import Any

import mjlab.tasks  # noqa: F401 - registers the tasks
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.registry import list_tasks, load_env_cfg

from srb_train import spelling
from srb_train.contracts import BatchedEnv
from srb_train.envs.tensor_rows import TensorRows, lay, restarted, seen_before
from srb_train.errors import UsageError


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build `name`, an id such as `Mjlab-Cartpole-Balance`.

    Params: `device` of the simulator, `groups` of the observation, `action_limit` where actions
    have no bounds, `cfg` (settings of the task by their paths), `pictures` (whether it can draw).
    """
    known = list_tasks()
    if name not in known:
        raise UsageError(
            f"mjlab/{name}: no such task is registered{spelling.nearest(name, known, most=3)}"
        )
    cfg = load_env_cfg(name)
    cfg.scene.num_envs = num_envs
    cfg.auto_reset = False
    # What is drawn once, when the scene is built, is drawn from here on.
    cfg.seed = 0
    lay(cfg, params.get("cfg") or {})
    pictures = "rgb_array" if params.get("pictures") else None
    env = ManagerBasedRlEnv(cfg, device=params["device"], render_mode=pictures)

    def restart(rows: np.ndarray) -> Mapping[str, Any]:
        return env.reset(env_ids=torch.as_tensor(rows, device=env.device))[0]

    last = seen_before if cfg.auto_reset else restarted(restart)
    return TensorRows(env, params["groups"], params["action_limit"], last=last)
