"""The robot of locomotion: a quadruped of 12.7 kg, where its numbers lie, and its legs' kinematics.

Lengths, masses, joint limits and torque limits are those that Unitree publishes for the Go1 (its
URDF `go1_description`). Every link is a plain shape of even density; the trunk's box has moments of
inertia within 7 % of the published ones. A joint follows its target by a torque of
40 N m/rad (target - angle) - 1.1 N m s/rad rate, up to the limits; walking policies of such robots
use 20 to 100 N m/rad.

The order of legs is front left, front right, rear left, rear right; of a leg's joints hip (about x:
abduction), thigh and knee (about y). A foot is the middle of its sphere.
"""

from importlib import resources
from typing import Any, NamedTuple

import mujoco
import numpy as np

from srb_train.envs.contact.physics import Layout

LEGS = ("fl", "fr", "rl", "rr")
JOINTS = 12
THIGH = SHANK = 0.213  # m
FOOT = 0.023  # m, radius
HIP_OUT = 0.08  # m from the hip's axis sideways to the thigh
AHEAD = np.array([0.1881, 0.1881, -0.1881, -0.1881])  # m, hips from the trunk's middle
LEFT = np.array([0.04675, -0.04675, 0.04675, -0.04675])
SIDE = np.sign(LEFT)
TRUNK = np.array([0.18, 0.08, 0.055])  # m, half its box
HOME = np.tile([0.0, 0.8, -1.6], 4)  # rad: each foot under its hip
STANCE = 2.0 * THIGH * float(np.cos(0.8))  # m from a hip down to its foot, at home
STAND = STANCE + FOOT  # m above the ground, of the trunk's middle when it stands at home
STIFFNESS, DAMPING = 40.0, 1.1  # N m/rad and N m s/rad: the actuators' and the joints' together
TORQUE = np.tile([23.7, 23.7, 35.55], 4)  # N m at most
GRAVITY = 9.81


class Motion(NamedTuple):
    """How N trunks move and lie, (N, 3) each in the trunk's frame: forwards, left, up."""

    velocity: np.ndarray
    """m/s of its middle."""
    rate: np.ndarray
    """rad/s."""
    up: np.ndarray
    """The ground's normal: (0, 0, 1) where the trunk is level with the ground."""
    down: np.ndarray
    """The direction of gravity."""


def load() -> Any:
    """Compile the model."""
    text = resources.files(__package__).joinpath("models/quadruped.xml").read_text("utf-8")
    return mujoco.MjSpec.from_string(text).compile()


def motion(layout: Layout, state: np.ndarray, down: np.ndarray) -> Motion:
    """Return the trunks' motion in states (N, S); `down` (N, 3) is where gravity points to."""
    turned = _rotation(state[:, layout.qpos][:, 3:7])
    speeds = state[:, layout.qvel]
    velocity, gravity = (_to_body(turned, part) for part in (speeds[:, :3], down))
    return Motion(velocity, speeds[:, 3:6], turned[2], gravity)


def clearance(layout: Layout, state: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return the height (N,) in m of the trunk's lowest corner."""
    height: np.ndarray = state[:, layout.qpos][:, 2] - (np.abs(up) * TRUNK).sum(1)
    return height


def angles(feet: np.ndarray) -> np.ndarray:
    """Return the joint angles (N, 12) that bring the feet to (N, 4, 3), each from its own hip.

    Closed form of a leg whose thigh is set off sideways; what is out of reach is pulled in.
    """
    x, y, z = feet[:, :, 0], feet[:, :, 1] * SIDE, feet[:, :, 2]
    down = np.sqrt(np.maximum(y * y + z * z - HIP_OUT * HIP_OUT, 1e-6))
    hip = (np.arctan2(y, -z) - np.arctan2(HIP_OUT, down)) * SIDE
    reach = np.clip(np.hypot(x, down), 0.08, 0.999 * (THIGH + SHANK))
    # With links of one length the thigh leads the line from hip to foot by half the knee's angle.
    half = np.arccos(reach / (THIGH + SHANK))
    thigh = half - np.arctan2(x, down)
    found: np.ndarray = np.stack([hip, thigh, -2.0 * half], 2).reshape(-1, JOINTS)
    return found


def feet(joints: np.ndarray) -> np.ndarray:
    """Return where the feet (N, 4, 3) are, each from its own hip, at joint angles (N, 12)."""
    hip, thigh, knee = np.moveaxis(joints.reshape(-1, 4, 3), 2, 0)
    x = -THIGH * np.sin(thigh) - SHANK * np.sin(thigh + knee)
    down = THIGH * np.cos(thigh) + SHANK * np.cos(thigh + knee)
    out = HIP_OUT * SIDE
    y = out * np.cos(hip) + down * np.sin(hip)
    z = out * np.sin(hip) - down * np.cos(hip)
    found: np.ndarray = np.stack([x, y, z], 2)
    return found


def give(joints: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Return what to add (N, 12) to the joints' targets, in rad, so that they do not give way.

    At angles (N, 12) the ground presses on the feet with (N, 4) N: the joints have to hold the
    forces times the slope of the feet's heights by the angles, with springs of `STIFFNESS`.
    """
    _, thigh, knee = np.moveaxis(joints.reshape(-1, 4, 3), 2, 0)
    foot = feet(joints)
    by_knee = SHANK * np.sin(thigh + knee)
    slopes = np.stack([foot[:, :, 1], THIGH * np.sin(thigh) + by_knee, by_knee], 2)
    added: np.ndarray = (slopes * (forces / -STIFFNESS)[:, :, None]).reshape(-1, JOINTS)
    return added


def weights(model: Any, down: np.ndarray) -> np.ndarray:
    """Return the forces (N, bodies, 6) that turn the model's gravity to the direction `down`.

    The ground is a plane of the model: a slope is gravity that leans.
    """
    change = GRAVITY * down
    change[:, 2] += GRAVITY
    forces = np.zeros((len(down), model.nbody, 6))
    forces[:, :, :3] = model.body_mass[None, :, None] * change[:, None, :]
    return forces


def torques(layout: Layout, state: np.ndarray, control: np.ndarray) -> np.ndarray:
    """Return the joints' torques (N, 12) in N m, with what their bearings take."""
    angle, rate = state[:, layout.qpos][:, 7:], state[:, layout.qvel][:, 6:]
    wanted = STIFFNESS * (control[:, layout.ctrl] - angle) - DAMPING * rate
    torque: np.ndarray = np.clip(wanted, -TORQUE, TORQUE)
    return torque


def _rotation(quaternion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows (N, 3) of the matrices that turn a trunk's vectors into the world's."""
    w, x, y, z = quaternion.T
    one = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], 1)
    two = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], 1)
    three = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], 1)
    return one, two, three


def _to_body(turned: tuple[np.ndarray, np.ndarray, np.ndarray], vector: np.ndarray) -> np.ndarray:
    one, two, three = turned
    found: np.ndarray = one * vector[:, :1] + two * vector[:, 1:2] + three * vector[:, 2:]
    return found
