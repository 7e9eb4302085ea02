"""Pictures of cartpole: the cart on its track, the pole, and the two limits."""

import math
from collections.abc import Sequence

import numpy as np

from srb_train.envs.tasks import canvas
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import BAD, COOL, FAINT, GOOD, INK, WARN, Canvas

RAIL = 330.0  # px from the top
MIDDLE = canvas.WIDTH / 2
SCALE = 116.0  # px a metre
POLE = 1.0  # m
TRACK = 2.4  # m


def draw(scenes: Sequence[Scene]) -> np.ndarray:
    """Return the picture of the last scene."""
    scene = scenes[-1]
    x, angle = float(scene.state["x"]), float(scene.state["angle"])
    board = Canvas(canvas.gradient((24, 28, 42), (44, 50, 68)))
    board.box((-8, RAIL + 14), (canvas.WIDTH + 8, canvas.HEIGHT + 8), canvas.PANEL)
    board.line([(0, RAIL + 12), (canvas.WIDTH, RAIL + 12)], (150, 158, 176), 3)
    for side in (-1, 1):
        end = MIDDLE + side * TRACK * SCALE
        board.box((end - 3, RAIL - 26), (end + 3, RAIL + 12), BAD)
    board.line([(MIDDLE, RAIL + 12), (MIDDLE, RAIL + 20)], FAINT, 2)
    middle = MIDDLE + x * SCALE
    board.box((middle - 38, RAIL - 20), (middle + 38, RAIL + 4), COOL, INK)
    for side in (-1, 1):
        board.disc((middle + 22 * side, RAIL + 5), 7, (32, 36, 50), INK)
    along = (math.sin(angle), -math.cos(angle))
    foot = (middle, RAIL - 14)
    tip = (foot[0] + along[0] * POLE * SCALE, foot[1] + along[1] * POLE * SCALE)
    across = (5 * along[1], -5 * along[0])
    pole = [
        (end[0] + side * across[0], end[1] + side * across[1])
        for end, side in ((foot, 1), (foot, -1), (tip, -1), (tip, 1))
    ]
    board.polygon(pole, WARN)
    board.disc(tip, 5, WARN)
    board.disc(foot, 6, INK)
    _readings(board, scene)
    return board.pixels()


def _readings(board: Canvas, scene: Scene) -> None:
    board.text((20, 24), "CARTPOLE", INK, 16)
    board.text((620, 24), f"{scene.time:.2f} s", FAINT, 14, "rm")
    degrees = math.degrees(float(scene.state["angle"]))
    words = (
        f"position {float(scene.state['x']):+.2f} m",
        f"velocity {float(scene.state['v']):+.2f} m/s",
        f"angle {degrees:+.1f}°",
    )
    for place, reading in enumerate(words):
        board.text((40 + 200 * place, 430), reading, INK, 15)
    if scene.verdict is not None:
        word, colour = ("HELD", GOOD) if scene.verdict else ("FALLEN", BAD)
        board.text((MIDDLE, 24), word, colour, 20, "mm")
