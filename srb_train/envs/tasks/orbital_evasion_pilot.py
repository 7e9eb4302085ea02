"""A hand-written guidance law for orbital evasion: what a trained policy is measured against.

It weighs velocities that it could turn to by how near each would come to the rocks, which is the
velocity obstacle of Fiorini and Shiller (Int. J. Robotics Research 17(7), 1998), with the time that
turning takes.
"""

import math
from functools import cache

import numpy as np

from srb_train.envs.tasks import orbital_evasion
from srb_train.envs.tasks import orbital_evasion_field as field
from srb_train.envs.tasks.batch import Batch, State
from srb_train.envs.tasks.closest import length, nearest
from srb_train.errors import UnsupportedError

HORIZON = 10.0  # s ahead
WANTED_ROOM = 1.0  # m of clearance, beyond which more is worth nothing
_GAIN = 1.5  # 1/s


def scripted(env: Batch) -> np.ndarray:
    """Return the (N, 3) actions for the rows of an evasion environment, as they are now."""
    task, state = env.task, env.state
    if not isinstance(task, orbital_evasion.OrbitalEvasion):
        raise UnsupportedError("this scripted pilot flies orbital_evasion")
    choices = _choices(state)
    best = _worth(state, choices).argmax(0)
    wanted = np.take_along_axis(choices, best[None, None], 1)[:, 0]
    action: np.ndarray = (_GAIN * (wanted - state["velocity"]) / field.ACCELERATION).T
    return action.clip(-1.0, 1.0).astype(np.float32)


def _choices(state: State) -> np.ndarray:
    """Return (3, K, N) velocities: about the way to the goal, at full and at reduced speed."""
    goal = np.array([[field.GOAL], [0.0], [0.0]], dtype=np.float32)
    way = goal - state["position"]
    distance = np.maximum(length(np, way), 1e-6)
    ahead = way / distance
    side = np.stack([-ahead[1], ahead[0], 0.0 * ahead[0]])
    side = side / np.maximum(length(np, side), 1e-6)
    up = np.cross(ahead, side, axis=0)
    forward, right, above = (part[:, :, None] for part in _directions())
    unit = forward * ahead[:, None] + right * side[:, None] + above * up[:, None]
    speed = orbital_evasion.pace(np, distance)
    return np.concatenate([unit * speed, unit * (0.5 * speed), unit[:, :1] * 0.0], 1)


@cache
def _directions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (1, K) parts along three axes of directions in rings about the first."""
    angles = [(0.0, 0.0)]
    for ring, count in ((0.25, 6), (0.55, 10), (1.0, 10), (1.7, 6)):
        angles += [(ring, 2.0 * math.pi * (place + 0.5) / count) for place in range(count)]
    off, about = np.array(angles, dtype=np.float32).T
    return (
        np.cos(off)[None],
        (np.sin(off) * np.cos(about))[None],
        (np.sin(off) * np.sin(about))[None],
    )


def _worth(state: State, choices: np.ndarray) -> np.ndarray:
    """Return (K, N): nearness to the wanted velocity, less what it lacks in room."""
    straight = choices[:, :1]
    turn = choices - state["velocity"][:, None]
    # Turning takes |turn| / a, during which the craft flies at the mean of both velocities.
    late = 0.5 * turn * (length(np, turn) / field.ACCELERATION)
    ways = (state["rocks"] - state["position"][:, None])[:, None] + late[:, :, None]
    passing = (state["drift"][:, None] - choices[:, :, None]) * HORIZON
    room = (nearest(np, ways, ways + passing) - state["radius"]).min(1) - field.CRAFT
    lacking = np.maximum(WANTED_ROOM - room, 0.0) + 20.0 * np.maximum(0.1 - room, 0.0)
    worth: np.ndarray = -length(np, choices - straight) - 4.0 * lacking
    return worth
