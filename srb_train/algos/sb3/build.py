"""A label and its settings become an SB3 model; what SB3 would refuse is told in our words."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.save_util import recursive_getattr
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from srb_train import spelling
from srb_train.algos.sb3 import PLATE, settings
from srb_train.algos.sb3.ars import SteppedARS
from srb_train.contracts import Family
from srb_train.errors import UnsupportedError, UsageError

ALGORITHMS: Mapping[str, type[BaseAlgorithm]] = {
    "sb3_ppo": stable_baselines3.PPO,
    "sb3_a2c": stable_baselines3.A2C,
    "sb3_ppo_lstm": sb3_contrib.RecurrentPPO,
    "sb3_trpo": sb3_contrib.TRPO,
    "sb3_ars": SteppedARS,
    "sb3_dqn": stable_baselines3.DQN,
    "sb3_qrdqn": sb3_contrib.QRDQN,
    "sb3_ddpg": stable_baselines3.DDPG,
    "sb3_td3": stable_baselines3.TD3,
    "sb3_sac": stable_baselines3.SAC,
    "sb3_tqc": sb3_contrib.TQC,
    "sb3_crossq": sb3_contrib.CrossQ,
}
SMALLEST_IMAGE = 36
"""Pixels a side below which SB3's convolutions have nothing left."""

_OURS = frozenset(
    {
        "policy",
        "policy_kwargs",
        "normalize_observation",
        "normalize_reward",
        "clip_obs",
        "action_noise",
        "action_noise_std",
    }
)


def model(
    label: str, agent: Mapping[str, Any], venv: VecEnv, *, device: str, seed: int | None
) -> BaseAlgorithm:
    """Build a fresh model; `seed` None leaves the generators of the process alone."""
    algorithm = ALGORITHMS[label]
    check_actions(label, venv.action_space, PLATE)
    words = arguments(agent, venv.action_space)
    words["policy_kwargs"] = _policy_kwargs(agent["policy_kwargs"])
    words["policy"] = _policy(label, agent["policy"], venv.observation_space)
    words["device"] = _device(device)
    built = construct(label, algorithm, env=venv, seed=seed, **words)
    _fuse(built)
    return built


def arguments(agent: Mapping[str, Any], actions: Any) -> dict[str, Any]:
    """Return what an algorithm's constructor takes of the settings, but for its networks."""
    found: dict[str, Any] = {
        key: _schedule(value) if key in settings.SCHEDULES else value
        for key, value in agent.items()
        if key not in _OURS
    }
    if agent.get("action_noise"):
        found["action_noise"] = _noise(agent, actions)
    return found


def construct(label: str, algorithm: type[BaseAlgorithm], **words: Any) -> BaseAlgorithm:
    """Call a constructor; what it refuses is the user's to mend."""
    try:
        return algorithm(**words)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"{label} cannot be built from these settings: {error}") from error


def _fuse(model: BaseAlgorithm) -> None:
    """Let Adam update all tensors in one call, see docs/decisions/0005-adam-is-fused.md."""
    names, _ = model._get_torch_save_params()
    for optimizer in (recursive_getattr(model, name) for name in names):
        if isinstance(optimizer, torch.optim.Adam):
            for group in optimizer.param_groups:
                group["fused"] = True


def check_actions(label: str, space: spaces.Space, plate: Family) -> None:
    """Refuse the kind of actions that the plate does not promise, and name labels that do."""
    kind = "continuous" if isinstance(space, spaces.Box) else "discrete"
    if kind not in plate.labels[label].actions:
        others = [name for name, other in plate.labels.items() if kind in other.actions]
        raise UnsupportedError(
            f"{label} does not take {kind} actions, this task has {space}: use {', '.join(others)}"
        )


def _policy(label: str, name: str, space: spaces.Space) -> str:
    """Resolve `auto`, and plain names for the recurrent label."""
    known = list(ALGORITHMS[label].policy_aliases)
    lstm = "Lstm" if label == "sb3_ppo_lstm" else ""
    if name != "auto" and name not in known:
        name = name.replace("Policy", f"{lstm}Policy")
    return policy(label, name, f"{network(space)}{lstm}Policy", known)


def policy(label: str, name: str, fitting: str, known: Sequence[str]) -> str:
    """Return the policy of a name, of which `auto` means the one that fits the observations."""
    if name == "auto":
        if fitting not in known:
            raise UnsupportedError(f"{label} has no {fitting}, which these observations need")
        return fitting
    if name not in known:
        raise spelling.not_one_of("agent.policy", name, ["auto", *known])
    return name


def network(space: Any) -> str:
    """Return the kind of network that observations need: MultiInput, Cnn or Mlp."""
    if isinstance(space, spaces.Dict):
        return "MultiInput"
    if is_image_space(space) and min(space.shape[1:], default=0) >= SMALLEST_IMAGE:
        return "Cnn"
    return "Mlp"


def _policy_kwargs(given: Mapping[str, Any]) -> dict[str, Any]:
    # SB3 writes into what it is given.
    kwargs = deepcopy(dict(given))
    if kwargs.get("activation_fn") is not None:
        kwargs["activation_fn"] = getattr(nn, settings.ACTIVATIONS[kwargs["activation_fn"]])
    return kwargs


def _schedule(value: float | str | None) -> float | LinearSchedule | None:
    start = settings.linear_start(value)
    if start is not None:
        return LinearSchedule(start, 0.0, 1.0)
    return None if value is None else float(value)


def _noise(
    agent: Mapping[str, Any], space: spaces.Box
) -> NormalActionNoise | OrnsteinUhlenbeckActionNoise:
    kinds = {"normal": NormalActionNoise, "ornstein_uhlenbeck": OrnsteinUhlenbeckActionNoise}
    deviation = np.full(space.shape, agent["action_noise_std"], dtype=np.float32)
    return kinds[agent["action_noise"]](np.zeros_like(deviation), deviation)


def _device(name: str) -> torch.device:
    """Return the device; one that this machine lacks is unsupported."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"device {name!r} is not cpu, cuda or cuda:<number>") from error
    if device.type not in ("cpu", "cuda"):
        raise UnsupportedError(f"device {name!r}: Stable-Baselines3 runs on cpu and cuda here")
    found = torch.cuda.device_count() if device.type == "cuda" else 1
    if found == 0 or (device.index or 0) >= found:
        raise UnsupportedError(
            f"device {name!r} is not on this machine ({found} CUDA devices); use run.device=cpu"
        )
    return device
