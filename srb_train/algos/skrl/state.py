"""What skrl forgets: everything beside networks and optimizers that exact continuation needs.

agent.pt     skrl's own file, which `Agent.load` takes: networks, optimizers, preprocessors
skrl.json    counters, schedules, scalars that were not logged yet
skrl.npz     memories of recurrent rows, the entropy coefficient, exploration that walks
memory.npz   the filled part of replay buffers, where it is saved
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from skrl.memories.torch import Memory

from srb_train.algos.skrl.build import Learner, LinearLR
from srb_train.contracts import Array
from srb_train.errors import IntegrityError
from srb_train.stored import read_arrays

NUMBERS = "skrl.json"
ARRAYS = "skrl.npz"
MEMORY = "memory.npz"

_COUNTER = "_update_counter"
_TIMES = "Stats / "
"""Scalars that say how long something took: two equal runs are to leave equal files."""


def save(learner: Learner, folder: Path) -> None:
    """Write counters and arrays."""
    (folder / NUMBERS).write_text(json.dumps(_numbers(learner)), encoding="utf-8")
    np.savez(folder / ARRAYS, **_arrays(learner))


def restore(learner: Learner, folder: Path, *, goes_on: bool) -> None:
    """Put back what `save` wrote, once the optimizers are; running episodes only if they go on."""
    numbers, arrays = _read_numbers(folder), read_arrays(folder / ARRAYS)
    agent = learner.agent
    if hasattr(agent, _COUNTER):
        setattr(agent, _COUNTER, numbers["updates"])
    delay(learner, numbers["warmup_from"])
    _restore_rates(learner, numbers)
    for tag, values in numbers["tracking"].items():
        agent.tracking_data[tag].extend(values)
    _restore_entropy(agent, arrays)
    if not goes_on:
        return
    for role, place, _ in _recurrent(agent):
        agent._rnn_initial_states[role][place] = _tensor(learner, arrays[f"rnn.{role}.{place}"])
    if "noise" in arrays:
        agent._exploration_noise.state = _tensor(learner, arrays["noise"])


def delay(learner: Learner, timestep: int) -> None:
    """Count `learning_starts` from a later step, for a memory that began empty there."""
    if timestep > learner.warmup_from:
        learner.agent.cfg.learning_starts += timestep - learner.warmup_from
        learner.warmup_from = timestep


def save_memories(learner: Learner, folder: Path) -> None:
    """Write the rows of replay buffers that hold something."""
    found: dict[str, Array] = {}
    for name, memory in learner.memories.items():
        filled = memory.memory_size if memory.filled else memory.memory_index
        found[f"{name}.filled"] = np.array(memory.filled)
        found[f"{name}.index"] = np.array(memory.memory_index)
        for key, tensor in memory.tensors.items():
            found[f"{name}.{key}"] = tensor[:filled].cpu().numpy()
    np.savez(folder / MEMORY, **found)


def restore_memories(learner: Learner, folder: Path) -> None:
    """Fill fresh replay buffers of the same size with what `save_memories` wrote.

    skrl's own `Memory.load` reads a file and changes nothing that is sampled from.
    """
    stored = read_arrays(folder / MEMORY)
    for name, memory in learner.memories.items():
        for key, tensor in memory.tensors.items():
            tensor[: _fitting(stored, f"{name}.{key}", tensor, folder / MEMORY)].copy_(
                torch.from_numpy(stored[f"{name}.{key}"])
            )
        _check_full(stored, name, memory, folder / MEMORY)
        memory.filled = bool(stored[f"{name}.filled"])
        memory.memory_index = int(stored[f"{name}.index"])


def _numbers(learner: Learner) -> dict[str, Any]:
    agent = learner.agent
    linear = {n: s.epoch for n, s in learner.schedulers.items() if isinstance(s, LinearLR)}
    return {
        "updates": getattr(agent, _COUNTER, 0),
        "warmup_from": learner.warmup_from,
        "rates": dict(learner.rates),
        "epochs": linear,
        "tracking": {
            tag: [float(value) for value in values if math.isfinite(value)]
            for tag, values in agent.tracking_data.items()
            if not tag.startswith(_TIMES)
        },
    }


def _read_numbers(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{folder / NUMBERS}: {error}; use another checkpoint") from error
    return found


def _arrays(learner: Learner) -> dict[str, Array]:
    agent = learner.agent
    found = {f"rnn.{role}.{place}": part.cpu().numpy() for role, place, part in _recurrent(agent)}
    if hasattr(agent, "log_entropy_coefficient"):
        found["entropy.log"] = agent.log_entropy_coefficient.detach().cpu().numpy()
        # It is a plain number until the first update.
        if isinstance(agent._entropy_coefficient, torch.Tensor):
            found["entropy.coefficient"] = agent._entropy_coefficient.cpu().numpy()
    walk = getattr(getattr(agent, "_exploration_noise", None), "state", None)
    if isinstance(walk, torch.Tensor):
        found["noise"] = walk.cpu().numpy()
    return found


def _restore_entropy(agent: Any, arrays: Mapping[str, Array]) -> None:
    if "entropy.log" in arrays:
        with torch.no_grad():
            agent.log_entropy_coefficient.copy_(torch.from_numpy(arrays["entropy.log"]))
    if "entropy.coefficient" in arrays:
        stored = torch.from_numpy(arrays["entropy.coefficient"])
        agent._entropy_coefficient = stored.to(agent.device)


def _restore_rates(learner: Learner, numbers: Mapping[str, Any]) -> None:
    """Let learning rates follow the settings, unless they were adapted and the settings stand."""
    for name, rate in learner.rates.items():
        scheduler = learner.schedulers.get(name)
        groups = getattr(learner.agent, name).param_groups
        if isinstance(scheduler, LinearLR):
            scheduler.epoch = numbers["epochs"][name]
            scheduler.apply()
            continue
        if scheduler is None or numbers["rates"][name] != rate:
            for group in groups:
                group["lr"] = rate
        if scheduler is not None:
            scheduler._last_lr = [group["lr"] for group in groups]


def _recurrent(agent: Any) -> Iterator[tuple[str, int, torch.Tensor]]:
    """Yield the memories (layers, N, hidden) of recurrent rows by network and place."""
    for role, parts in getattr(agent, "_rnn_initial_states", {}).items():
        for place, part in enumerate(parts):
            yield role, place, part


def _tensor(learner: Learner, values: Array) -> torch.Tensor:
    return torch.from_numpy(values).to(learner.rows.device)


def _fitting(stored: Mapping[str, Array], name: str, tensor: torch.Tensor, path: Path) -> int:
    """Return the stored rows of a tensor that has room for them."""
    rows = stored.get(name)
    if rows is None or rows.shape[1:] != tuple(tensor.shape[1:]) or len(rows) > len(tensor):
        found = "absent" if rows is None else f"shaped {rows.shape}"
        raise IntegrityError(
            f"{path}: {name} is {found}, the memory has {tuple(tensor.shape)}; "
            "use another checkpoint"
        )
    return len(rows)


def _check_full(stored: Mapping[str, Array], name: str, memory: Memory, path: Path) -> None:
    """Refuse a buffer that has gone around in a smaller memory: it would leave a gap."""
    key = next(iter(memory.tensors))
    if stored[f"{name}.filled"] and len(stored[f"{name}.{key}"]) != memory.memory_size:
        raise IntegrityError(
            f"{path}: {name} was full with {len(stored[f'{name}.{key}']):,} rows, "
            f"now it has {memory.memory_size:,}; keep its size"
        )
