"""Reference behaviour to imitate: pairs of observations in an .npz file.

`observations` and `next_observations` are (M, *obs) each; row i of the second is what one control
step led to from row i of the first.
"""

import zipfile
from pathlib import Path

import numpy as np
import torch

from srb_train.algos.skrl.bridge import Rows
from srb_train.contracts import Array
from srb_train.errors import UsageError

NAMES = ("observations", "next_observations")


class Motions:
    """Pairs (M, 2 D) from which batches are drawn."""

    def __init__(self, path: Path, rows: Rows) -> None:
        """Read a file; one that does not fit the task is an error that says why."""
        seen, then = _read(path)
        size = rows.observation_space.shape[0]
        for name, part in zip(NAMES, (seen, then), strict=True):
            if len(part) != len(seen) or not len(part) or part[0].size != size:
                raise UsageError(
                    f"agent.motions={path}: {name} is {part.shape}, observations {seen.shape}; "
                    f"both must be as many rows of this task's {size} numbers"
                )
            if not np.isfinite(part).all():
                raise UsageError(f"agent.motions={path}: {name} holds NaN or infinity")
        self._pairs = pair(rows.observe(seen), rows.observe(then))

    def draw(self, count: int) -> torch.Tensor:
        """Return `count` pairs at random, (count, 2 D)."""
        return self._pairs[torch.randint(len(self._pairs), (count,))]


def pair(obs: torch.Tensor, next_obs: torch.Tensor) -> torch.Tensor:
    """Return what the discriminator sees of a step, (N, 2 D)."""
    return torch.cat([obs, next_obs], dim=1)


def _read(path: Path) -> list[Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return [stored[name] for name in NAMES]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"agent.motions={path} is no .npz with the arrays {' and '.join(NAMES)}: {error}"
        ) from error
