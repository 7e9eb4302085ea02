"""The tracked environment as an SB3 `VecEnv`, with the wrappers that its observations need.

SB3 holds whole batches but describes each row by a dict of its own. Rows that go on share one empty
dict, so a step costs no more objects than it has ended rows.
"""

import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
from stable_baselines3.common.vec_env import (
    VecEnv,
    VecEnvWrapper,
    VecNormalize,
    VecTransposeImage,
)

from srb_train.contracts import Array, BatchedEnv, Step
from srb_train.errors import UnsupportedError


class Bridge(VecEnv):
    """N rows of a `BatchedEnv` as SB3 expects them; episodes are already going on."""

    def __init__(self, env: BatchedEnv) -> None:
        """Present the environment's spaces in the forms that SB3 can work with."""
        self.env = env
        self._actions: Array = None
        self._going_on: list[dict[str, Any]] = [{}] * env.num_envs
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, dtype=np.int64)
        self._began = time.monotonic()
        self._first_action = first_action(env.action_space)
        super().__init__(
            env.num_envs, observation_space(env.observation_space), action_space(env.action_space)
        )

    def reset(self) -> Array:
        """Return what the rows see now; the context has reset or restored them."""
        return single_precision(self.env.last_obs)  # type: ignore[attr-defined]

    def step_async(self, actions: Array) -> None:
        """Keep the actions for `step_wait`, in the type of the action space."""
        actions = actions.astype(self.action_space.dtype, copy=False)
        self._actions = actions + self._first_action if self._first_action else actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Step all rows; only rows that ended get an info dict of their own."""
        step = self.env.step(self._actions)
        self._returns += step.reward
        self._lengths += 1
        if step.final_obs is None:
            return single_precision(step.obs), step.reward, step.terminated, self._going_on
        done = step.terminated | step.truncated
        infos = self._infos(step, done)
        # SB3 adds the value of a truncated state to the rewards in place.
        return single_precision(step.obs), step.reward.copy(), done, infos

    def _infos(self, step: Step, done: Array) -> list[dict[str, Any]]:
        infos = list(self._going_on)
        final = single_precision(step.final_obs)
        rows = done.nonzero()[0]
        elapsed = time.monotonic() - self._began
        success = step.info.get("success")
        # Lists of Python's own numbers: taking them from arrays one by one is slower.
        columns = (self._returns[rows], self._lengths[rows], step.truncated[rows])
        facts = zip(rows.tolist(), *(column.tolist() for column in columns), strict=True)
        for place, (row, earned, length, cut) in enumerate(facts):
            infos[row] = {
                "terminal_observation": _row(final, place),
                "TimeLimit.truncated": cut,
                "episode": {"r": earned, "l": length, "t": elapsed},
            }
            if success is not None:
                infos[row]["is_success"] = bool(success[place])
        self._returns[rows] = 0.0
        self._lengths[rows] = 0
        return infos

    def state_dict(self) -> dict[str, Array]:
        """Return the accumulators of the running episodes."""
        return {"returns": self._returns.copy(), "lengths": self._lengths.copy()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Go on with the accumulators of `state_dict`."""
        self._returns[:] = state["returns"]
        self._lengths[:] = state["lengths"]

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Do nothing: the context has seeded the environment."""
        return [seed] * self.num_envs

    def close(self) -> None:
        """Do nothing: the environment belongs to the context."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return None for every row: rows have no attributes of their own, SB3 only asks."""
        return [None] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: a row is not an object."""
        raise UnsupportedError(f"rows of a batched environment have no attribute {attr_name}")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kw: Any) -> list[Any]:
        """Refuse: a row is not an object."""
        raise UnsupportedError(f"rows of a batched environment have no method {method_name}")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return False for every row."""
        return [False] * len(list(self._get_indices(indices)))


def wrap(env: BatchedEnv, agent: Mapping[str, Any], say: Callable[[str], None]) -> VecEnv:
    """Return the bridge with the image transposer and the normaliser that it needs."""
    venv: VecEnv = Bridge(env)
    if any(_transposes(space) for space in parts(venv.observation_space).values()):
        venv = VecTransposeImage(venv)
    keys = _normalized_keys(venv.observation_space) if agent["normalize_observation"] else []
    if agent["normalize_observation"] and not keys:
        say("agent.normalize_observation: images and discrete observations stay as they are")
    if not keys and not agent["normalize_reward"]:
        return venv
    several = isinstance(venv.observation_space, spaces.Dict)
    return VecNormalize(
        venv,
        norm_obs=bool(keys),
        norm_reward=agent["normalize_reward"],
        clip_obs=agent["clip_obs"],
        gamma=agent.get("gamma", 0.99),
        norm_obs_keys=keys if several and keys else None,
    )


def observe(venv: VecEnv, obs: Array) -> Array:
    """Turn raw observations (N, *obs) into what a policy trained on `venv` sees."""
    if isinstance(venv, VecNormalize):
        return venv.normalize_obs(observe(venv.venv, obs))
    if isinstance(venv, VecTransposeImage):
        return venv.transpose_observations(observe(venv.venv, obs))
    return observe(venv.venv, obs) if isinstance(venv, VecEnvWrapper) else single_precision(obs)


def single_precision(obs: Array) -> Array:
    """Return float64 observations as float32, others as they are."""
    if isinstance(obs, Mapping):
        return {key: single_precision(part) for key, part in obs.items()}
    return obs.astype(np.float32) if obs.dtype == np.float64 else obs


def observation_space(space: spaces.Space) -> spaces.Space:
    """Return the space in single precision; nested ones and tuples are unsupported."""
    if isinstance(space, spaces.Dict) and not any(
        isinstance(part, spaces.Dict) for part in space.values()
    ):
        return spaces.Dict({key: observation_space(part) for key, part in space.items()})
    if isinstance(space, spaces.Dict | spaces.Tuple):
        raise UnsupportedError(
            f"Stable-Baselines3 takes one array or a flat Dict as observation, not {space}"
        )
    if isinstance(space, spaces.Box) and space.dtype == np.float64:
        with np.errstate(over="ignore"):
            low, high = space.low.astype(np.float32), space.high.astype(np.float32)
        return spaces.Box(low, high, dtype=np.float32)
    return space


def action_space(space: spaces.Space) -> spaces.Space:
    """Return a copy with a generator of its own; SB3 counts discrete actions from 0."""
    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(int(space.n))
    if isinstance(space, spaces.Box) and not (
        np.isfinite(space.low).all() and np.isfinite(space.high).all()
    ):
        raise UnsupportedError(
            f"actions must have finite bounds, this task has {space}: "
            "rescale its actions to [-1, 1] where the environment is defined"
        )
    return deepcopy(space)


def _row(obs: Array, place: int) -> Array:
    if isinstance(obs, Mapping):
        return {key: part[place] for key, part in obs.items()}
    return obs[place]


def first_action(space: spaces.Space) -> int:
    """Return the number of a task's first discrete action; SB3 counts from 0."""
    return int(getattr(space, "start", 0))


def parts(space: spaces.Space) -> Mapping[str, spaces.Space]:
    """Return the spaces of a Dict by key, any other space under an empty key."""
    return space.spaces if isinstance(space, spaces.Dict) else {"": space}


def _transposes(space: spaces.Space) -> bool:
    return is_image_space(space) and not is_image_space_channels_first(space)


def _normalized_keys(space: spaces.Space) -> list[str]:
    return [
        key
        for key, part in parts(space).items()
        if isinstance(part, spaces.Box) and not is_image_space(part)
    ]
