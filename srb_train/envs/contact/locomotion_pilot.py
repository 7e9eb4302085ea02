"""A hand-written controller for locomotion: what a trained policy is measured against.

A trot after the task's clock. Feet on the ground move against the wanted velocity, those in the air
forwards, along a sine; where they land is shifted by what is missing of the velocity (Raibert 1986,
ch. 2), and feet under the lower side of a leaning trunk are stretched.
"""

import numpy as np

from srb_train.envs.contact import quadruped
from srb_train.envs.contact.locomotion import CLOCK, DIAGONAL, REACH

_LIFT = 0.05  # m that a foot is raised
_LANDING = 0.14  # s of what is missing of the velocity, by which a foot lands away from its hip
_CATCH_UP = 0.6  # of what is missing, that is added to what is wanted
_BEHIND = 0.05  # m behind the hips: without it the trot drifts backwards
_GAIN = 1.4  # of what is wanted, that the feet are moved by: they slip
_LEVEL = 1.0  # m by which a leg is stretched for each metre that its hip is low
_CARRIED = 50.0  # N on each foot of a diagonal; half the weight would be 62.5 N
_SWING = 0.5  # of a stride


def scripted(observation: np.ndarray) -> np.ndarray:
    """Return the (N, 12) actions for (N, 50) observations, of `env.observe: state`."""
    seen = observation.astype(np.float64)
    wanted = seen[:, :3] * np.array([0.5, 0.5, 1.0])
    moving = np.stack([seen[:, 3] * 0.5, seen[:, 4] * 0.5, seen[:, 8] * 4.0], 1)
    clock = np.arctan2(seen[:, 12], seen[:, 13]) / (2.0 * np.pi)
    aim = _GAIN * wanted + _CATCH_UP * (wanted - moving)
    leg = (clock[:, None] + DIAGONAL) % 1.0
    feet = _trot(leg, _at_feet(aim), _at_feet(moving - wanted))
    feet[:, :, 2] += _levelled(seen[:, 9:11])
    targets = quadruped.angles(feet)
    targets = targets + quadruped.give(targets, _CARRIED * (leg < _SWING))
    targets = (targets - quadruped.HOME) / REACH
    actions: np.ndarray = targets.clip(-1.0, 1.0).astype(np.float32)
    return actions


def _at_feet(motion: np.ndarray) -> np.ndarray:
    """Return the velocity (N, 4, 2) at each foot of a trunk's planar motion (N, 3)."""
    ahead, left = quadruped.AHEAD, quadruped.LEFT + quadruped.SIDE * quadruped.HIP_OUT
    turn = motion[:, 2:]
    return np.stack([motion[:, :1] - turn * left, motion[:, 1:2] + turn * ahead], 2)


def _trot(leg: np.ndarray, velocity: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return where the feet (N, 4, 3) belong, from their hips, at their places in the stride."""
    stands = leg < _SWING
    share = np.where(stands, leg, leg - _SWING) / _SWING
    along = np.where(stands, 0.5 - share, -0.5 * np.cos(np.pi * share))
    way = velocity * (_SWING / CLOCK)
    flat = along[:, :, None] * way + _LANDING * error
    flat[:, :, 0] -= _BEHIND
    flat[:, :, 1] += quadruped.SIDE * quadruped.HIP_OUT
    lift = np.where(stands, 0.0, _LIFT * np.sin(np.pi * share))
    return np.concatenate([flat, (lift - quadruped.STANCE)[:, :, None]], 2)


def _levelled(down: np.ndarray) -> np.ndarray:
    """Return by how much (N, 4) the feet are raised, for gravity's direction (N, 2) in the trunk.

    Gravity points to the side that is low.
    """
    left = quadruped.LEFT + quadruped.SIDE * quadruped.HIP_OUT
    lean = down[:, :1] * quadruped.AHEAD + down[:, 1:] * left
    raised: np.ndarray = -_LEVEL * lean
    return raised
