"""A hand-written guidance law for rendezvous: what a trained policy is measured against.

It follows the approach that the reward asks for (`rendezvous.closing`) and cancels the tide.
"""

import numpy as np

from srb_train.envs.tasks import rendezvous, rendezvous_orbit
from srb_train.envs.tasks import rendezvous_satellites as satellites
from srb_train.envs.tasks.batch import Batch
from srb_train.envs.tasks.closest import length
from srb_train.errors import UnsupportedError

_GAIN = 0.5  # 1/s


def scripted(env: Batch) -> np.ndarray:
    """Return the (N, 3) actions for the rows of a rendezvous environment, as they are now."""
    task, state = env.task, env.state
    if not isinstance(task, rendezvous.Rendezvous):
        raise UnsupportedError("this scripted pilot flies rendezvous")
    way = np.array([[0.0], [satellites.PORT], [0.0]]) - state["position"]
    distance = length(np, way)
    wanted = way * (rendezvous.closing(np, distance) / np.maximum(distance, 1e-6))
    tide = rendezvous_orbit.tide(np, state["position"], state["velocity"], task.mean_motion)
    push = _GAIN * (wanted - state["velocity"]) - tide
    newtons = push * (satellites.DRY_MASS + state["propellant"])
    action: np.ndarray = (newtons / state["thrust"]).T.astype(np.float32)
    return action.clip(-1.0, 1.0)
