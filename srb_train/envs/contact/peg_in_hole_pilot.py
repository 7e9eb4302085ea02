"""A hand-written controller for peg_in_hole: what a trained policy is measured against.

It brings the peg over the hole, upright and turned to fit, and lowers it while it stays centred.
"""

import numpy as np

from srb_train.envs.contact import peg_in_hole
from srb_train.envs.contact import peg_in_hole_model as arm
from srb_train.envs.contact.batch import ContactBatch
from srb_train.errors import UnsupportedError

_CENTRED = 0.0015  # m from the axis, within which the peg is lowered
_ABOVE = 0.01  # m over the entrance, where it waits
_HASTE, _TURN = 30.0, 8.0  # of an action a metre and a radian of error


def scripted(env: ContactBatch) -> np.ndarray:
    """Return the (N, 6) actions for the rows of a peg_in_hole environment, as they are now.

    It knows of the hole what the observation tells: the sensing error included.
    """
    task, world = env.task, env.world
    if not isinstance(task, peg_in_hole.PegInHole):
        raise UnsupportedError("this scripted pilot plays peg_in_hole")
    sight = task.sight(world)
    way = sight.way.copy()
    way[:, :2] += world.memory["told_wrong"]
    lateral = np.hypot(way[:, 0], way[:, 1])
    hold = np.where(way[:, 2] < -0.002, way[:, 2], _ABOVE)
    goal = np.where(lateral > _CENTRED, hold, -arm.DEPTH - 0.005)
    step = np.stack([-way[:, 0], -way[:, 1], goal - way[:, 2]], 1) * _HASTE
    x, y, _ = sight.along.T
    turn = np.stack([-y, x, -peg_in_hole.twist(sight)], 1) * _TURN
    actions: np.ndarray = np.concatenate([step, turn], 1).astype(np.float32)
    return actions.clip(-1.0, 1.0)
