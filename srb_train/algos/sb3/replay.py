"""The filled rows of a replay buffer as one uncompressed file, and back."""

from pathlib import Path

import numpy as np
from stable_baselines3.common.buffers import ReplayBuffer

from srb_train.algos.sb3 import state
from srb_train.contracts import Array
from srb_train.errors import IntegrityError
from srb_train.stored import read_arrays

REPLAY = "replay.npz"

_FIELDS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def save(buffer: ReplayBuffer, folder: Path) -> None:
    """Write the rows that hold transitions; they are shaped (filled, N, *)."""
    rows = {name: array[: buffer.size()] for name, array in _arrays(buffer).items()}
    np.savez(folder / REPLAY, pos=buffer.pos, full=buffer.full, **rows)


def restore(buffer: ReplayBuffer, folder: Path) -> None:
    """Fill a fresh buffer of the same size with what `save` wrote."""
    stored = read_arrays(folder / REPLAY)
    for name, array in _arrays(buffer).items():
        rows = stored.get(name)
        if rows is None or rows.shape[1:] != array.shape[1:] or len(rows) > len(array):
            found = "absent" if rows is None else f"shaped {rows.shape}"
            raise IntegrityError(
                f"{folder / REPLAY}: {name} is {found}, the buffer has {array.shape}; "
                "use another checkpoint"
            )
        array[: len(rows)] = rows
    buffer.pos, buffer.full = int(stored["pos"]), bool(stored["full"])


def _arrays(buffer: ReplayBuffer) -> dict[str, Array]:
    """Return the buffer's arrays (capacity, N, *) by dotted name."""
    found: dict[str, Array] = {}
    for name in _FIELDS:
        found.update(state.flat(name, getattr(buffer, name)))
    return found
