"""The tracked environment as rsl_rl's algorithms see it: named groups of tensors, one row a copy.

On the CPU nothing is copied that can be shared: observations and rewards are tensors over the
environment's arrays, actions are arrays over the policy's tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from tensordict import TensorDict

from srb_train.contracts import Array, BatchedEnv
from srb_train.errors import UnsupportedError

POLICY = "policy"
"""The group of a task whose observation is one array."""

_COLOURS = (1, 3, 4)


@dataclass(frozen=True)
class Group:
    """One part of an observation, in the float32 shape that networks take it in."""

    shape: tuple[int, ...]
    """(D,) of a vector, (channels, height, width) of an image, whose values are 0 to 1."""
    colours_last: bool = False
    """Whether the environment has the channels of an image last."""

    @property
    def image(self) -> bool:
        """Whether this is an image."""
        return len(self.shape) == 3

    def tensor(self, array: Array) -> torch.Tensor:
        """Return (N, *shape) of an (N, *obs) array; a float32 vector shares its memory."""
        if self.image:
            pixels = torch.from_numpy(array)
            return (pixels.permute(0, 3, 1, 2) if self.colours_last else pixels).float() / 255.0
        vector = array.astype(np.float32, copy=False)
        return torch.from_numpy(vector if vector.ndim == 2 else vector.reshape(len(vector), -1))


def groups_of(space: spaces.Space) -> dict[str, Group]:
    """Return the groups of an observation space by name; what has no group is unsupported."""
    if isinstance(space, spaces.Dict):
        return {key: _group(key, part) for key, part in space.items()}
    return {POLICY: _group(POLICY, space)}


def _group(name: str, space: spaces.Space) -> Group:
    if not isinstance(space, spaces.Box):
        raise UnsupportedError(
            f"rsl_rl takes arrays of numbers as observations, {name} is {space}: "
            "turn it into a Box where the environment is defined"
        )
    if space.dtype != np.uint8 or len(space.shape) != 3:
        return Group((int(np.prod(space.shape)),))
    last = space.shape[-1] in _COLOURS
    height, width, channels = space.shape if last else (*space.shape[1:], space.shape[0])
    return Group((channels, height, width), colours_last=last)


class Moved(NamedTuple):
    """What one step of all rows gave, as tensors."""

    obs: TensorDict
    """Groups of (N, *shape); rows that ended hold the first of their next episode."""
    rewards: torch.Tensor
    """(N,) float32."""
    dones: torch.Tensor
    """(N,) bool."""
    cut: torch.Tensor | None = None
    """(K,) the rows that a limit ended; None where there are none."""
    last_obs: TensorDict | None = None
    """Groups of (K, *shape): what these rows saw last."""


class Bridge:
    """N rows of a `BatchedEnv` as rsl_rl asks for them; the attributes are named by rsl_rl."""

    def __init__(self, env: BatchedEnv, groups: Mapping[str, Group], device: torch.device) -> None:
        """Show the `groups` of a task's observations on a device."""
        space = env.action_space
        self.env = env
        self.groups = groups
        self.device = device
        self.num_envs = env.num_envs
        self.num_actions = int(np.prod(space.shape))
        self._here = device.type == "cpu"
        self._shape, self._dtype = space.shape, space.dtype
        lowest, highest = self._bound(space.low), self._bound(space.high)
        bounded = torch.isfinite(lowest) & torch.isfinite(highest)
        # Half of each bound first: their difference may be more than a float32 holds.
        low, high = lowest / 2, highest / 2
        self._middle = torch.where(bounded, high + low, 0.0)
        self._half = torch.where(bounded, high - low, 1.0)
        self._scales = bool((self._middle != 0.0).any() or (self._half != 1.0).any())
        self._limits = _limits(lowest, highest)

    def observe(self, obs: Array) -> TensorDict:
        """Return the groups of (N, *obs) observations."""
        parts = obs if isinstance(obs, Mapping) else {POLICY: obs}
        seen = {name: group.tensor(parts[name]) for name, group in self.groups.items()}
        found = TensorDict(seen, batch_size=[len(next(iter(seen.values())))])
        return found if self._here else found.to(self.device)

    def blank(self) -> TensorDict:
        """Return observations (1, *shape) of zeros, for their shapes."""
        zeros = {name: torch.zeros(1, *group.shape) for name, group in self.groups.items()}
        return TensorDict(zeros, batch_size=[1]).to(self.device)

    def to_task(self, actions: torch.Tensor) -> Array:
        """Return a policy's actions (N, A) as the task takes them: scaled and within the bounds.

        Policies of rsl_rl act around 0 with a deviation of 1: from -1 to 1 is from bound to bound.
        """
        # Torch is ten times faster than NumPy where a row of bounds meets many rows.
        if self._scales:
            actions = actions * self._half + self._middle
        array = torch.clamp(actions, *self._limits).cpu().numpy()
        if len(self._shape) != 1:
            array = array.reshape(len(array), *self._shape)
        return array.astype(self._dtype, copy=False)

    def step(self, actions: torch.Tensor) -> Moved:
        """Step all rows by a policy's actions (N, A)."""
        step = self.env.step(self.to_task(actions))
        obs, rewards = self.observe(step.obs), self._sent(step.reward)
        if step.final_obs is None:
            return Moved(obs, rewards, self._sent(step.terminated))
        done = step.terminated | step.truncated
        rows, last = done.nonzero()[0], step.final_obs
        cut = step.truncated[rows]
        count = np.count_nonzero(cut)
        if not count:
            return Moved(obs, rewards, self._sent(done))
        if count < len(rows):
            rows, last = rows[cut], _rows(last, cut)
        return Moved(obs, rewards, self._sent(done), self._sent(rows), self.observe(last))

    def _bound(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(values.ravel().astype(np.float32)).to(self.device)

    def _sent(self, array: Array) -> torch.Tensor:
        tensor = torch.from_numpy(array)
        return tensor if self._here else tensor.to(self.device)


def _limits(low: torch.Tensor, high: torch.Tensor) -> tuple[Any, Any]:
    """Return bounds (A,) as one number each where all actions share them: that is faster."""
    if (low == low[0]).all() and (high == high[0]).all():
        return low[0].item(), high[0].item()
    return low, high


def _rows(obs: Array, chosen: Array) -> Array:
    if isinstance(obs, Mapping):
        return {key: part[chosen] for key, part in obs.items()}
    return obs[chosen]
