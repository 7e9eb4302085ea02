"""What every family reads from a checkpoint: arrays without code, and tensors that fit."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from srb_train.contracts import Array
from srb_train.errors import IntegrityError, UsageError

MOST_SHOWN = 5
"""Tensors that do not fit which a message names."""


def read_arrays(path: Path) -> dict[str, Array]:
    """Read an .npz without executing anything that it holds."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return dict(stored.items())
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise IntegrityError(f"{path} cannot be read: {error}; use another checkpoint") from error


def compare(
    found: Mapping[str, tuple[int, ...]], needed: Mapping[str, tuple[int, ...]], path: Path
) -> None:
    """Refuse a file whose tensors, by name, are shaped otherwise than the settings need."""
    wrong = [
        f"  {name}: the file has {found.get(name, 'none')}, "
        f"these settings need {needed.get(name, 'none')}"
        for name in sorted(found.keys() | needed.keys())
        if found.get(name) != needed.get(name)
    ]
    if wrong:
        more = [f"  and {len(wrong) - MOST_SHOWN} more"] if len(wrong) > MOST_SHOWN else []
        head = f"{path} does not fit this label, task and network:"
        raise UsageError("\n".join([head, *wrong[:MOST_SHOWN], *more]))
