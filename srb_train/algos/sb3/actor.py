"""A trained policy for acting only."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from srb_train.algos.sb3 import bridge, state
from srb_train.contracts import Array, BatchedEnv


class Actor:
    """A trained policy for N rows that acts the same way every time."""

    def __init__(self, model: BaseAlgorithm, venv: VecEnv, env: BatchedEnv) -> None:
        """Act by the model's policy on what its wrappers make of an observation."""
        self._policy = model.policy
        self._venv = venv
        self._space = venv.action_space
        self._first_action = bridge.first_action(env.action_space)
        self._memory: Any = None
        self._starts = np.ones(venv.num_envs, dtype=bool)

    def act(self, obs: Array) -> Array:
        """Return deterministic actions (N, *action) within the action space."""
        seen = bridge.observe(self._venv, obs)
        actions, self._memory = self._policy.predict(
            seen, self._memory, self._starts, deterministic=True
        )
        self._starts[:] = False
        if isinstance(self._space, spaces.Box):
            return np.clip(actions, self._space.low, self._space.high)
        return actions + self._first_action

    def reset(self, rows: Array) -> None:
        """Forget the memory of the rows (N,) where the mask is true."""
        self._starts |= np.asarray(rows, dtype=bool)


def wrap(env: BatchedEnv, agent: Mapping[str, Any], checkpoint: Path) -> VecEnv:
    """Return what a policy was trained on, with the normaliser of the checkpoint, frozen."""
    venv = bridge.wrap(env, agent, say=_unsaid)
    if isinstance(venv, VecNormalize):
        venv.training = False
        state.restore_normalizer(venv, checkpoint)
    return venv


def smallest(agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Return the settings with buffers as small as a model that never learns can have."""
    least = {"n_steps": 2, "batch_size": 2 * num_envs, "buffer_size": 2 * num_envs}
    if "train_freq" in agent:
        least["n_steps"] = 1
    return {key: least.get(key, value) for key, value in agent.items()}


def _unsaid(text: str) -> None:
    """Drop a remark that training has made already."""
