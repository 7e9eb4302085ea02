"""A hand-written guidance law for landing: what a trained policy is measured against.

It follows the same velocity profile as the reward (`landing.braking`, `landing.homing`), tilts the
thrust towards the wanted acceleration, and waits over the ground while it is off the pad.
"""

import numpy as np

from srb_train.envs.tasks import lander, lander_controls, landing
from srb_train.envs.tasks.batch import Batch
from srb_train.errors import UnsupportedError

_SIDE_GAIN, _DOWN_GAIN = 0.5, 1.2  # 1/s


def scripted(env: Batch) -> np.ndarray:
    """Return the (N, 4) actions for the rows of a landing environment, as they are now."""
    task, state = env.task, env.state
    if not isinstance(task, landing.Landing) or task.control not in ("attitude", "rates", "torque"):
        raise UnsupportedError("the scripted pilot flies landing by attitude, rates or torque")
    turned = lander.axes(np, state["attitude"])
    wanted = _acceleration(state)
    thrust_axis = np.stack([turned.thrust_x, turned.thrust_y, turned.thrust_z])
    mass = lander.DRY_MASS + state["propellant"]
    newtons = mass * (wanted * thrust_axis).sum(0)
    throttle = np.clip(newtons / state["main_thrust"], 0.0, 1.0)
    x, y, _ = np.einsum("jin,jn->in", _matrix(state), wanted / np.sqrt((wanted**2).sum(0)))
    angles = np.stack([turned.up_y - y, x - turned.up_x])
    turns = _turns(task.control, state, turned, angles)
    action: np.ndarray = np.stack([2.0 * throttle - 1.0, *turns], -1).astype(np.float32)
    return action.clip(-1.0, 1.0)


def _acceleration(state: lander.State) -> np.ndarray:
    """Return the (3, N) acceleration that the engines should give, in the world."""
    (x, y, z), velocity = state["position"], state["velocity"]
    height, distance = z - lander.FOOT_DEPTH, np.hypot(x, y)
    pull = landing.homing(np, distance)
    waiting = (distance > 2.0) & (height < 10.0)
    down = np.where(waiting, 0.0, landing.braking(np, height))
    target = np.stack([-pull * x, -pull * y, down])
    wanted: np.ndarray = np.array([[_SIDE_GAIN], [_SIDE_GAIN], [_DOWN_GAIN]]) * (target - velocity)
    wanted[2] = np.maximum(wanted[2] + lander.GRAVITY, 0.4)
    steepest = np.where(height < 6.0, 0.1, 0.35) * wanted[2]
    wanted[:2] *= np.minimum(1.0, steepest / (np.hypot(wanted[0], wanted[1]) + 1e-6))
    return wanted


def _matrix(state: dict[str, np.ndarray]) -> np.ndarray:
    return np.array(landing.rotation(state["attitude"]))


def _turns(
    control: str,
    state: dict[str, np.ndarray],
    turned: lander.Axes,
    angles: np.ndarray,
) -> list[np.ndarray]:
    """Return the last three commands of an action for wanted roll and pitch, (2, N) rad."""
    still = 0.0 * angles[0]
    if control == "attitude":
        return [*(angles / lander_controls.TILT_COMMAND), still]
    rates = np.stack([*lander_controls.attitude_rates(np, angles, turned), still])
    if control == "rates":
        return list(rates / lander_controls.RATE_LIMIT)
    torques = lander_controls.rate_torques(np, rates, state)
    return [torque / limit for torque, limit in zip(torques, lander.TORQUE_LIMITS, strict=True)]
