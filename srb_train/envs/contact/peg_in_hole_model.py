"""The arm, the peg and the fixture of peg_in_hole, and the arm's differential kinematics.

The arm has the joint frames, the limits and the torque limits (87 N m, 12 N m at the wrist) that
are published for Panda-class arms; its masses are rounded. The peg is 24 mm wide and is held in
the gripper; the hole is 40 mm deep, in a fixture whose place differs from episode to episode.
"""

from importlib import resources
from typing import Any

import mujoco
import numpy as np

JOINTS = 7
PEG = 0.012  # m, half its width
DEPTH = 0.04  # m, of the hole
WALL = 0.02  # m, thickness of the fixture's walls
ENTRANCE = DEPTH + 0.01  # m above the ground
HOME = np.array([0.0, 0.15, 0.0, -2.1, 0.0, 2.25, 0.785])  # rad: the peg upright over (0.54, 0)
ROUND, SQUARE = SHAPES = ("round", "square")
DAMPING = 1e-3  # lambda^2 of the damped least squares
LEASH = 0.12  # rad that a target may be away from its joint: what bounds the arm's force

_FIXTURE = ("wall_front", "wall_back", "wall_left", "wall_right", "floor")


def load(shape: str, clearance: float) -> Any:
    """Compile the model of a peg of some shape, with `clearance` metres on each of its sides."""
    text = resources.files(__package__).joinpath("models/peg_in_hole.xml").read_text("utf-8")
    spec = mujoco.MjSpec.from_string(text)
    if shape == SQUARE:
        peg = spec.geom("peg")
        peg.type = mujoco.mjtGeom.mjGEOM_BOX
        peg.fromto = np.full(6, np.nan)
        peg.pos, peg.size = [0.0, 0.0, 0.13], [PEG, PEG, 0.06]
    hole = PEG + clearance
    out, wide, thick, high = hole + 0.5 * WALL, hole + WALL, 0.5 * WALL, 0.5 * DEPTH
    places = ([out, 0.0], [-out, 0.0], [0.0, out], [0.0, -out], [0.0, 0.0])
    sizes = ([thick, wide], [thick, wide], [hole, thick], [hole, thick], [wide, wide])
    for name, place, size in zip(_FIXTURE, places, sizes, strict=True):
        below, half = (-DEPTH - 0.005, 0.005) if name == "floor" else (-high, high)
        geom = spec.geom(name)
        geom.pos, geom.size = [*place, below], [*size, half]
    return spec.compile()


def jacobian(origins: np.ndarray, axes: np.ndarray, tip: np.ndarray) -> np.ndarray:
    """Return (N, 6, J) of the tip's velocity and rate by the joints', from where these are.

    `origins` and `axes` are (N, J, 3), `tip` (N, 3), all in the world; each column is that of a
    hinge: (axis x (tip - origin), axis).
    """
    lever = tip[:, None, :] - origins
    x, y, z = (axes[:, :, part] for part in range(3))
    a, b, c = (lever[:, :, part] for part in range(3))
    return np.stack([y * c - z * b, z * a - x * c, x * b - y * a, x, y, z], axis=1)


def joint_steps(jacobians: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the (N, J) joint steps of damped least squares for (N, 6) steps of the tip.

    dq = J' (J J' + lambda^2 I)^-1 dx: Wampler (1986), eq. 13; Buss (2004), eq. 11.
    """
    turned = jacobians.transpose(0, 2, 1)
    square = jacobians @ turned + DAMPING * np.eye(6)
    steps: np.ndarray = (turned @ np.linalg.solve(square, wanted[:, :, None]))[:, :, 0]
    return steps
