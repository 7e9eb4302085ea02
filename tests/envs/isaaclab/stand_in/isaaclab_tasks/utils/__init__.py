"""The configuration of a registered task."""

import importlib

import gymnasium
from isaaclab.app import require_app

require_app()


def parse_env_cfg(task_name, device="cuda:0", num_envs=None, use_fabric=None):
    module, _, name = gymnasium.spec(task_name).kwargs["env_cfg_entry_point"].partition(":")
    cfg = getattr(importlib.import_module(module), name)()
    cfg.sim.device = device
    if num_envs is not None:
        cfg.scene.num_envs = num_envs
    return cfg
