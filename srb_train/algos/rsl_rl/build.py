"""A label and its settings become an algorithm of rsl_rl; what it would refuse is told here.

Classes are looked up in tables and handed over as they are: a name that reached rsl_rl would be
imported from wherever it pointed to.
"""

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from gymnasium import spaces
from torch import nn

from srb_train import spelling
from srb_train.algos.rsl_rl import bridge, framework, settings
from srb_train.algos.rsl_rl.bridge import Bridge, Group
from srb_train.contracts import PRIVILEGED, BatchedEnv
from srb_train.errors import UnsupportedError, UsageError
from srb_train.spec import RunSpec

_ALGORITHMS: Mapping[str, type[framework.Algorithm]] = {
    "rsl_rl_ppo": framework.PPO,
    settings.RECURRENT: framework.PPO,
    settings.DISTILLATION: framework.Distillation,
}
_MODELS: Mapping[str, type[nn.Module]] = {
    "MLPModel": framework.MLPModel,
    "CNNModel": framework.CNNModel,
    "RNNModel": framework.RNNModel,
}
_DISTRIBUTIONS: Mapping[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    "GaussianDistribution": (
        framework.GaussianDistribution,
        ("init_std", "std_range", "std_type", "learn_std"),
    ),
    "HeteroscedasticGaussianDistribution": (
        framework.HeteroscedasticGaussianDistribution,
        ("init_std", "std_range", "std_type"),
    ),
    "BetaDistribution": (framework.BetaDistribution, ()),
}
"""Each with the settings that it takes."""
_MEMORY = ("rnn_type", "rnn_hidden_dim", "rnn_num_layers")
_REFUSALS = (AttributeError, KeyError, RuntimeError, TypeError, ValueError, ZeroDivisionError)


class Built:
    """What a spec asks for on an environment, ready to be put together."""

    def __init__(self, spec: RunSpec, env: BatchedEnv, *, acts_only: bool = False) -> None:
        """Read the task's spaces; kinds that the label does not take are refused.

        With `acts_only` the task need not show what only the other networks see.
        """
        self.label = spec.algo
        self.agent = spec.agent_params
        _check_actions(self.label, env.action_space)
        groups = bridge.groups_of(env.observation_space)
        roles = settings.SETS[self.label][: 1 if acts_only else None]
        self.sets = _sets(roles, self.agent, list(groups))
        used = [name for name in groups if any(name in chosen for chosen in self.sets.values())]
        self.groups = {name: groups[name] for name in used}
        self.device = _device(spec.device)
        self.bridge = Bridge(env, self.groups, self.device)

    def algorithm(self, obs: Any) -> framework.Algorithm:
        """Build a fresh algorithm for observations (N, *shape) by group."""
        made = _ALGORITHMS[self.label]
        config = {
            "num_steps_per_env": self.agent["num_steps_per_env"],
            "obs_groups": dict(self.sets),
            "algorithm": {"class_name": made, **self.agent["algorithm"]},
            "multi_gpu": None,
            **{role: self._network(role) for role in self.sets},
        }
        device = str(self.device)
        algorithm = self._quietly(
            lambda: made.construct_algorithm(obs, self.bridge, config, device)
        )
        for role in self.sets:
            network = getattr(algorithm, role)
            if isinstance(network, framework.CNNModel):
                # That an image is too small for its convolutions shows at the first look only.
                self._quietly(partial(network, self.bridge.blank()))
        _fuse(algorithm.optimizer)
        return algorithm

    def policy(self) -> nn.Module:
        """Build the network that acts, alone and untrained."""
        role = next(iter(self.sets))
        config = self._network(role)
        made = config.pop("class_name")
        sizes = (self.bridge.blank(), self.sets, role, self.bridge.num_actions)
        return self._quietly(lambda: made(*sizes, **config).to(self.device))

    def _quietly(self, build: Callable[[], Any]) -> Any:
        """Build without the prints of rsl_rl, and tell in our words what it refuses."""
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                return build()
        except _REFUSALS as error:
            raise UsageError(
                f"{self.label} cannot be built from these settings: {error}"
            ) from error

    def _network(self, role: str) -> dict[str, Any]:
        """Return a network's settings as rsl_rl takes them."""
        given = self.agent["teacher_model" if role == "teacher" else role]
        seen = [self.groups[name] for name in self.sets[role]]
        name = _model(f"agent.{role}", given["class_name"], seen)
        config = {
            "class_name": _MODELS[name],
            "hidden_dims": list(given["hidden_dims"]),
            "activation": given["activation"],
            # With images alone there is nothing that rsl_rl could normalise.
            "obs_normalization": given["obs_normalization"] and not all(g.image for g in seen),
        }
        if "distribution_cfg" in given:
            chosen = given["distribution_cfg"]
            made, keys = _DISTRIBUTIONS[chosen["class_name"]]
            config["distribution_cfg"] = {"class_name": made} | {key: chosen[key] for key in keys}
        if name == "CNNModel":
            config["cnn_cfg"] = deepcopy(dict(given["cnn_cfg"]))
        if name == "RNNModel":
            config |= {key: given[key] for key in _MEMORY}
        return config


def _model(where: str, name: str, seen: Sequence[Group]) -> str:
    """Return the class of a network; one that cannot take what it is to see is refused."""
    images = any(group.image for group in seen)
    if name == settings.AUTO:
        return "CNNModel" if images else "MLPModel"
    if images and name != "CNNModel":
        raise UnsupportedError(
            f"{where}.class_name={name} takes no images; leave them out of agent.obs_groups, "
            "or use rsl_rl_ppo with class_name auto or CNNModel"
        )
    if name == "CNNModel" and not images:
        raise UnsupportedError(f"{where}.class_name=CNNModel needs an image; use auto or MLPModel")
    return name


def _sets(roles: Sequence[str], agent: Mapping[str, Any], known: list[str]) -> dict[str, list[str]]:
    """Return which observation groups each network sees; null is all that it may see."""
    found = {}
    for role in roles:
        open_to = [name for name in known if role == "critic" or name != PRIVILEGED]
        wanted = agent["obs_groups"][role]
        if wanted is None and role == "teacher":
            wanted = agent["teacher_model"]["groups"]
        for name in wanted or ():
            if name == PRIVILEGED and role != "critic":
                raise UsageError(
                    f"agent.obs_groups.{role}: only a critic may see {PRIVILEGED}; leave it out"
                )
            if name not in open_to:
                raise spelling.not_one_of(f"agent.obs_groups.{role}", name, open_to)
        found[role] = list(wanted or open_to)
    return found


def _check_actions(label: str, space: spaces.Space) -> None:
    if not isinstance(space, spaces.Box):
        raise UnsupportedError(
            f"{label} takes continuous actions only, this task has {space}: "
            "`srb ls algos` shows which labels take discrete actions"
        )


def _device(name: str) -> torch.device:
    """Return the device; what it cannot be, here or at all, is told apart."""
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise UsageError(f"run.device={name}: rsl_rl runs on cpu, cuda or cuda:<number> here")
    available = torch.cuda.device_count()
    if kind == "cuda" and int(number or 0) >= available:
        raise UnsupportedError(
            f"run.device={name}: this machine has {available} CUDA devices; use run.device=cpu"
        )
    return torch.device(name)


def _fuse(optimizer: torch.optim.Optimizer) -> None:
    """Have Adam update all tensors in one call, see docs/decisions/0005-adam-is-fused.md."""
    if isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW):
        optimizer.param_groups[0]["fused"] = True
