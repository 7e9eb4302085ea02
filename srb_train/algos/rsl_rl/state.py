"""What a checkpoint of rsl_rl holds, and the way back into a fresh algorithm.

model.pt       rsl_rl's own file: networks with their normalisers, the optimizer, `iter`
rsl_rl.json    the number of finished iterations
rsl_rl.npz     what recurrent networks remember of each row, where there are any
"""

import json
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from srb_train.algos.rsl_rl.framework import Algorithm
from srb_train.contracts import Array
from srb_train.errors import IntegrityError, UsageError
from srb_train.stored import compare, read_arrays

MODEL = "model.pt"
NUMBERS = "rsl_rl.json"
MEMORY = "rsl_rl.npz"

_SUFFIX = "_state_dict"
_OPTIMIZER = f"optimizer{_SUFFIX}"
_REMEMBERING = ("actor", "critic")


def save(algorithm: Algorithm, folder: Path, iterations: int) -> list[str]:
    """Write all that going on needs; returns what that is."""
    # rsl_rl counts from 0 and keeps the index of the iteration that was finished last.
    numbers = {"iter": max(0, iterations - 1), "infos": None}
    torch.save({**algorithm.save(), **numbers}, folder / MODEL)
    (folder / NUMBERS).write_text(json.dumps({"iterations": iterations}), encoding="utf-8")
    memory = _memory(algorithm)
    if memory:
        np.savez(folder / MEMORY, **memory)
    return ["weights", "normalisers", "optimizer", "learning rate", *(["memory"] if memory else [])]


def restore(algorithm: Algorithm, folder: Path, *, goes_on: bool) -> int:
    """Fill a fresh algorithm; returns the number of finished iterations.

    Where episodes do not go on, what was remembered of them is left out.
    """
    stored = read(folder / MODEL)
    for name in algorithm.save():
        _part(stored, name, folder / MODEL)
    for role, network in networks(algorithm).items():
        _check(network, stored[f"{role}{_SUFFIX}"], folder / MODEL)
    try:
        algorithm.load(stored, None, strict=True)
        iterations = int(json.loads((folder / NUMBERS).read_text(encoding="utf-8"))["iterations"])
        if goes_on and (folder / MEMORY).is_file():
            _remember(algorithm, read_arrays(folder / MEMORY))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise IntegrityError(f"{folder} cannot be read: {error}; use another checkpoint") from error
    return iterations


def restore_network(network: nn.Module, role: str, path: Path) -> None:
    """Fill one network by what a file has of a role: actor, critic, student."""
    stored = _part(read(path), f"{role}{_SUFFIX}", path)
    _check(network, stored, path)
    network.load_state_dict(stored)


def import_weights(algorithm: Algorithm, path: Path) -> list[str]:
    """Take the networks of any file of rsl_rl, not its optimizer; returns whose they are."""
    if not path.is_file():
        raise UsageError(f"--model {path}: no such file")
    roles = [role for role in networks(algorithm) if role != "teacher"]
    try:
        for role in roles:
            restore_network(networks(algorithm)[role], role, path)
    except IntegrityError as error:
        raise UsageError(f"--model {error}") from error
    return roles


def networks(algorithm: Algorithm) -> dict[str, nn.Module]:
    """Return the networks by their roles: actor and critic, or student and teacher."""
    roles = [name.removesuffix(_SUFFIX) for name in algorithm.save() if name != _OPTIMIZER]
    return {role: getattr(algorithm, role) for role in roles}


def read(path: Path) -> Mapping[str, Any]:
    """Read a file of rsl_rl without executing anything that it holds."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (
        OSError,
        RuntimeError,
        ValueError,
        EOFError,
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise IntegrityError(f"{path} is no readable file of rsl_rl: {reason}") from error
    if not isinstance(found, Mapping):
        raise IntegrityError(f"{path} is no file of rsl_rl: it holds a {type(found).__name__}")
    return found


def _part(stored: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    if not isinstance(stored.get(name), Mapping):
        there = ", ".join(map(str, stored)) or "nothing"
        raise IntegrityError(f"{path} has no {name}; it holds {there}")
    return stored[name]


def _check(network: nn.Module, stored: Mapping[str, Any], path: Path) -> None:
    """Compare the tensors of a file with those that a network needs, by name and shape."""
    compare(
        {name: tuple(getattr(value, "shape", ())) for name, value in stored.items()},
        {name: tuple(value.shape) for name, value in network.state_dict().items()},
        path,
    )


def _memory(algorithm: Algorithm) -> dict[str, Array]:
    """Return what recurrent networks remember, (layers, N, hidden) by role and place."""
    found = {}
    for role in _REMEMBERING:
        kept = getattr(algorithm, role).get_hidden_state() if hasattr(algorithm, role) else None
        parts: Sequence[torch.Tensor] = kept if isinstance(kept, tuple) else (kept,)
        found.update({f"{role}.{i}": part for i, part in enumerate(parts) if part is not None})
    return {name: part.cpu().numpy() for name, part in found.items()}


def _remember(algorithm: Algorithm, arrays: Mapping[str, Array]) -> None:
    """Put back what `_memory` gave; a single part is the memory of a GRU."""
    for role in _REMEMBERING:
        names = sorted(name for name in arrays if name.startswith(f"{role}."))
        parts = tuple(torch.from_numpy(arrays[name]).to(algorithm.device) for name in names)
        if parts:
            getattr(algorithm, role).reset(hidden_state=parts if len(parts) > 1 else parts[0])
