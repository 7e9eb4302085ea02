"""Tensors from skrl's own files into an agent: never pickled code, never a silent mismatch."""

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from skrl.agents.torch import Agent
from torch import nn

from srb_train.errors import IntegrityError, UsageError
from srb_train.stored import compare

MODEL = "agent.pt"


def restore(agent: Agent, path: Path) -> None:
    """Fill networks, preprocessors and optimizers from a checkpoint's file."""
    stored = read(path)
    wanted = set(agent.checkpoint_modules)
    if set(stored) != wanted:
        raise UsageError(
            f"{path} holds {', '.join(sorted(stored))}; "
            f"these settings need {', '.join(sorted(wanted))}"
        )
    for name, module in agent.checkpoint_modules.items():
        if isinstance(module, nn.Module):
            fill(module, name, stored, path)
        else:
            module.load_state_dict(stored[name])


def load_native(agent: Agent, path: Path, say: Callable[[str], None]) -> None:
    """Take networks and preprocessors of any file that skrl saved; optimizers stay fresh."""
    if not path.is_file():
        raise UsageError(f"--model {path}: no such file")
    modules = {n: m for n, m in agent.checkpoint_modules.items() if isinstance(m, nn.Module)}
    try:
        stored = read(path)
        acting = {"policy", "q_network"} & modules.keys()
        spare = {name for name in stored if name.endswith("preprocessor")} - modules.keys()
        if not acting <= stored.keys() or spare:
            wrong = f"it has no {', '.join(acting)}" if not spare else f"agent.{spare.pop()} is off"
            raise UsageError(f"{path} does not fit: {wrong}; it holds {', '.join(sorted(stored))}")
        for name in sorted(modules.keys() & stored.keys()):
            fill(modules[name], name, stored, path)
    except (IntegrityError, UsageError) as error:
        raise UsageError(f"--model {error}") from error
    absent = sorted(modules.keys() - stored.keys())
    if absent:
        say(f"the file has no {', '.join(absent)}: these start anew")


def read(path: Path) -> Mapping[str, Any]:
    """Return state dicts by name."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise IntegrityError(f"{path} is no readable skrl file: {error}") from error
    if not isinstance(found, Mapping) or not all(isinstance(v, Mapping) for v in found.values()):
        raise IntegrityError(f"{path} is no skrl file: it holds no state dicts by name")
    return found


def fill(module: nn.Module, name: str, stored: Mapping[str, Any], path: Path) -> None:
    """Put stored tensors into a network that has the same ones, by name and shape."""
    compare(
        {f"{name}.{key}": tuple(part.shape) for key, part in stored.get(name, {}).items()},
        {f"{name}.{key}": tuple(part.shape) for key, part in module.state_dict().items()},
        path,
    )
    module.load_state_dict(stored[name])
