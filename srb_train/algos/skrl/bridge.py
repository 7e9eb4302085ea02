"""The tracked environment as tensors: flat observations in, actions within bounds out.

On a CPU nothing is copied that NumPy and Torch can share.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces

from srb_train.algos.skrl import PLATE
from srb_train.contracts import PRIVILEGED, Array, BatchedEnv, Tracked
from srb_train.errors import UnsupportedError

IMAGE_AXES = 3


class Seen(NamedTuple):
    """One step of N rows as skrl records it."""

    obs: torch.Tensor
    """(N, D) what the rows act on next."""
    reward: torch.Tensor
    """(N, 1), not shared with the environment where a row ended: skrl adds to it."""
    terminated: torch.Tensor
    """(N, 1) bool."""
    truncated: torch.Tensor
    """(N, 1) bool."""
    next_obs: torch.Tensor
    """(N, D) what the step led to: the last observation of its episode where a row ended."""
    states: torch.Tensor | None = None
    """(N, S) what a critic may see besides `obs`; None where there is nothing."""
    next_states: torch.Tensor | None = None
    """(N, S) what it may see besides `next_obs`."""


class Rows:
    """N rows of an environment, seen and moved through tensors on one device."""

    def __init__(self, env: BatchedEnv, label: str, device: torch.device) -> None:
        """Work out the flat spaces; a kind that the label does not take is unsupported."""
        self.num_envs = env.num_envs
        self.device = device
        self._env = env
        self._keys = _keys(env.observation_space, label)
        self.observation_space = _flat_space(_parts(env.observation_space))
        self.state_space = _privileged(env.observation_space, label)
        self.action_space = _actions(env.action_space, label)
        self._on_cpu = device.type == "cpu"
        self._first = int(getattr(env.action_space, "start", 0))
        if isinstance(self.action_space, spaces.Box):
            self._low, self._high = (_limit(self.action_space.low), _limit(self.action_space.high))

    def observe(self, obs: Array | Mapping[str, Array]) -> torch.Tensor:
        """Return observations (N, *obs) as a tensor (N, D); a dict's parts in its space's order."""
        return self._tensor(self._join(obs))

    def states(self, obs: Array | Mapping[str, Array]) -> torch.Tensor | None:
        """Return the part (N, S) of observations that only a critic may see, if there is one."""
        if self.state_space is None:
            return None
        return self._tensor(_flat(obs[PRIVILEGED]))

    def act(self, actions: torch.Tensor) -> Array:
        """Return actions (N, A) as the environment takes them, within its bounds."""
        space = self._env.action_space
        if not isinstance(space, spaces.Box):
            return actions.reshape(-1).cpu().numpy().astype(np.int64) + self._first
        # Two ufuncs take half the time of np.clip on arrays of this size.
        inside = np.minimum(np.maximum(actions.cpu().numpy(), self._low), self._high)
        return inside.reshape(-1, *space.shape).astype(space.dtype, copy=False)

    def step(self, actions: torch.Tensor) -> Seen:
        """Act in all rows."""
        step = self._env.step(self.act(actions))
        flat = self._join(step.obs)
        obs = self._tensor(flat)
        final = step.final_obs
        # skrl adds the value of a truncated state to the rewards in place.
        reward = step.reward if final is None else step.reward.copy()
        # A column is made faster by NumPy than by Torch.
        columns = (each[:, None] for each in (reward, step.terminated, step.truncated))
        reward, terminated, truncated = (self._tensor(each) for each in columns)
        if final is None:
            states = self.states(step.obs)
            return Seen(obs, reward, terminated, truncated, obs, states, states)
        rows = (step.terminated | step.truncated).nonzero()[0]
        after = flat.copy()
        after[rows] = self._join(final)
        seen = Seen(obs, reward, terminated, truncated, self._tensor(after))
        if self.state_space is None:
            return seen
        then = _flat(step.obs[PRIVILEGED]).copy()
        then[rows] = _flat(final[PRIVILEGED])
        return seen._replace(states=self.states(step.obs), next_states=self._tensor(then))

    def current(self) -> torch.Tensor:
        """Return what the rows of a tracked environment see now."""
        return self.observe(self._last_obs)

    def current_states(self) -> torch.Tensor | None:
        """Return what only a critic may see now of the rows of a tracked environment."""
        return self.states(self._last_obs)

    @property
    def _last_obs(self) -> Array:
        env: Tracked = self._env  # type: ignore[assignment]
        return env.last_obs

    def _join(self, obs: Array | Mapping[str, Array]) -> Array:
        if self._keys:
            return np.concatenate([_flat(obs[key]) for key in self._keys], axis=1)
        return _flat(obs)

    def _tensor(self, values: Array) -> torch.Tensor:
        tensor = torch.from_numpy(values)
        return tensor if self._on_cpu else tensor.to(self.device)


def bounds(space: Any, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the limits (A,) of a flat action space as tensors."""
    low, high = (torch.from_numpy(each.astype(np.float32)) for each in (space.low, space.high))
    return low.to(device), high.to(device)


def _limit(bound: Array) -> Array:
    """Return the bound (A,), as one number where it is the same for all actions: that is faster."""
    return bound.min() if bound.min() == bound.max() else bound


def _flat(part: Array) -> Array:
    return np.asarray(part, dtype=np.float32).reshape(len(part), -1)


def _open(space: spaces.Dict) -> dict[str, Any]:
    """Return the parts of a dict that an actor may see, in its space's order."""
    return {key: part for key, part in space.items() if key != PRIVILEGED}


def _parts(space: spaces.Space) -> list[Any]:
    return list(_open(space).values()) if isinstance(space, spaces.Dict) else [space]


def _flat_space(parts: list[Any]) -> spaces.Box:
    size = sum(int(np.prod(part.shape)) for part in parts)
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def _privileged(space: spaces.Space, label: str) -> spaces.Box | None:
    """Return the space of what the critic of a label may see beyond its actor, if there is any."""
    part = space.spaces.get(PRIVILEGED) if isinstance(space, spaces.Dict) else None
    if part is None or not PLATE.labels[label].privileged:
        return None
    _check_vector(part, space, label)
    return _flat_space([part])


def _keys(space: spaces.Space, label: str) -> list[str]:
    """Return the keys of a dict in its space's order; what is no vector is unsupported."""
    for part in _parts(space):
        _check_vector(part, space, label)
    if not isinstance(space, spaces.Dict):
        return []
    if "dict" not in PLATE.labels[label].observations:
        raise UnsupportedError(f"{label} takes one vector as observation, this task has {space}")
    return list(_open(space))


def _check_vector(part: spaces.Space, space: spaces.Space, label: str) -> None:
    if not isinstance(part, spaces.Box) or _is_image(part):
        raise UnsupportedError(
            f"{label} takes observations that are vectors or a flat dict of them, "
            f"this task has {space}: use a label whose framework takes it, see `srb ls algos`"
        )


def _is_image(space: spaces.Box) -> bool:
    return bool(space.dtype == np.uint8) and len(space.shape) >= IMAGE_AXES


def _actions(space: spaces.Space, label: str) -> spaces.Box | spaces.Discrete:
    """Return the space flat and counted from 0; a kind the plate does not promise is refused."""
    taken = PLATE.labels[label].actions
    if isinstance(space, spaces.Box) and "continuous" in taken:
        low, high = (each.astype(np.float32).ravel() for each in (space.low, space.high))
        return spaces.Box(low, high, dtype=np.float32)
    if isinstance(space, spaces.Discrete) and "discrete" in taken:
        return spaces.Discrete(int(space.n))
    kind = {spaces.Box: "continuous", spaces.Discrete: "discrete"}.get(type(space), "such")
    others = [name for name, other in PLATE.labels.items() if kind in other.actions]
    hint = f"use {', '.join(others)}" if others else "no label of skrl does"
    raise UnsupportedError(f"{label} does not take {kind} actions, this task has {space}: {hint}")
