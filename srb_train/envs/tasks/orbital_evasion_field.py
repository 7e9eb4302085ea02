"""What the craft has to cross: sizes, and fields of rocks that lie a least distance apart.

Throwing darts until all rocks of an episode lie apart takes a number of tries that differs from row
to row, which a batch of pure functions cannot do. So the darts are thrown here, when a task is
built, into many boxes at once; an episode then picks a box and mirrors it. The darts come from
the counter hash, so the table is the same on every machine.
"""

import numpy as np

from srb_train.envs.tasks import counter
from srb_train.errors import UsageError

GOAL = 50.0  # m along x
GOAL_REACH = 2.0  # m
GOAL_SPEED = 1.0  # m/s below which the craft counts as arrived
ACCELERATION = 0.5  # m/s^2 along each axis
CRAFT = 0.3  # m, its radius
SAFE = 2.0  # m of clearance; less is penalised

TRIES = 1000
"""Darts for one rock of one box; more are needed only where the rocks do not fit."""


def throw(boxes: int, rocks: int, spacing: float, half: np.ndarray) -> np.ndarray:
    """Return (3, rocks, boxes) places about the middle of boxes with half widths `half`, (3,).

    In a box, each rock lies where its first dart does that is `spacing` away from all rocks before
    it. Raises `UsageError` where there is no room.
    """
    placed = np.empty((3, rocks, boxes), dtype=np.float32)
    for rock in range(rocks):
        waiting = np.arange(boxes)
        for dart in range(TRIES):
            spots = _darts(waiting, rock * TRIES + dart, half)
            gaps = placed[:, :rock, waiting] - spots[:, None]
            free = ((gaps * gaps).sum(0) >= spacing * spacing).all(0)
            placed[:, rock, waiting[free]] = spots[:, free]
            waiting = waiting[~free]
            if not waiting.size:
                break
        if waiting.size:
            raise UsageError(
                f"{rocks} rocks do not fit {spacing:g} m apart into a box of "
                f"{' x '.join(f'{2 * width:g}' for width in half)} m: fewer, or closer together"
            )
    return placed


def _darts(boxes: np.ndarray, dart: int, half: np.ndarray) -> np.ndarray:
    drawn = counter.uniform(np, boxes, np.full_like(boxes, dart), np.arange(3))
    spots: np.ndarray = (2.0 * drawn - 1.0) * half[:, None].astype(np.float32)
    return spots
