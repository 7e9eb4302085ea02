"""Pictures of rendezvous: the approach from the side and from above, both to one scale."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image

from srb_train.envs.tasks import canvas, dials
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import BAD, COOL, EDGE, FAINT, GOOD, INK, WARN, Canvas, Point
from srb_train.envs.tasks.dials import Pane
from srb_train.envs.tasks.rendezvous_satellites import (
    CAPTURE_REACH,
    CAPTURE_SPEED,
    FULL_TANK,
    HULL,
    PORT,
)

SPLIT = 292.0  # px between the two panes
SMALLEST = 7.0  # px of half a satellite, so that it can be seen from afar
STEEL, DARK_STEEL = (206, 212, 224), (104, 112, 130)
CELLS, CELL_EDGE = (38, 66, 128), (96, 132, 206)


def draw(scenes: Sequence[Scene]) -> np.ndarray:
    """Return the picture of the last scene; the earlier ones of its episode are its trail."""
    scene = scenes[-1]
    board = Canvas(_space())
    for pane in _panes(scene.state["position"]):
        _corridor(board, pane)
        dials.trail(board, pane, [past.state["position"] for past in scenes])
        _target(board, pane)
        _chaser(board, pane, scene)
        dials.ticks(board, pane, pane.bottom)
    board.line([(0, SPLIT), (dials.PANEL_LEFT, SPLIT)], EDGE, 1.5)
    board.text((12, 18), "from the side, Earth below", FAINT, 11)
    board.text((12, SPLIT + 16), "from above", FAINT, 11)
    _panel(board, scene)
    if scene.verdict is not None:
        dials.verdict(board, scene.verdict, ("DOCKED", "FAILED"))
    return board.pixels()


def _panes(position: np.ndarray) -> tuple[Pane, Pane]:
    """Return the pane along the track and up, and that along the track and across it."""
    up, along, across = (abs(float(part)) for part in position)
    reach = max(5.0, 1.15 * max(along, 0.0) + 1.0)
    tall, low = SPLIT - 50.0, canvas.HEIGHT - SPLIT - 40.0
    wide = (dials.PANEL_LEFT - 40.0) / (reach + 2.5)
    scale = min(wide, 0.5 * tall / (1.1 * up + 1.6), 0.5 * low / (1.1 * across + 1.6))
    left = -2.5 - 20.0 / scale
    side = Pane(0.0, SPLIT, 1, 0, scale, left)
    return side, Pane(SPLIT, float(canvas.HEIGHT), 1, 2, scale, left)


@cache
def _space() -> Image.Image:
    board = Canvas(canvas.gradient((4, 6, 14), (10, 15, 32)))
    random = np.random.default_rng(11)
    for x, y, size in random.uniform((0, 0, 0.3), (dials.PANEL_LEFT, 480, 1.0), (170, 3)):
        shade = int(70 + 150 * size * random.uniform(0.4, 1.0))
        board.disc((x, y), 0.8 * size, (shade, shade, min(255, shade + 16)))
    board.disc((dials.PANEL_LEFT / 2, SPLIT + 1500), (1900, 1520), (24, 56, 104))
    board.disc((dials.PANEL_LEFT / 2, SPLIT + 1512), (1900, 1526), (32, 78, 134))
    board.box((-8, SPLIT), (dials.PANEL_LEFT, 488), (9, 12, 26))
    for x, y, size in random.uniform((0, SPLIT, 0.3), (dials.PANEL_LEFT, 480, 0.9), (60, 3)):
        board.disc((x, y), 0.8 * size, (110, 116, 140))
    return board.image


def _corridor(board: Canvas, pane: Pane) -> None:
    """Draw the port's axis and a cone about it of ten degrees."""
    far = 70.0
    port = pane.place(np.array([0.0, PORT, 0.0]))
    spread = far * math.tan(math.radians(10.0)) * pane.scale
    end = port[0] + far * pane.scale
    board.polygon([port, (end, port[1] - spread), (end, port[1] + spread)], (*GOOD, 14))
    board.line([port, (end, port[1])], (*GOOD, 70), 1)


def _target(board: Canvas, pane: Pane) -> None:
    centre = pane.place(np.zeros(3))
    size = max(HULL * pane.scale, SMALLEST)
    board.disc(centre, size, None, (*BAD, 120))
    x, y = centre
    half = 0.46 * size
    for side in (-1, 1):
        near, far = y + side * half, y + side * 1.9 * size
        board.box(
            (x - 0.3 * size, min(near, far)), (x + 0.3 * size, max(near, far)), CELLS, CELL_EDGE
        )
    board.box((x - half, y - half), (x + half, y + half), STEEL, DARK_STEEL)
    port = pane.place(np.array([0.0, PORT, 0.0]))
    tip = max(port[0], x + size)
    board.line([(x + half, y), (tip, y)], STEEL, max(2.0, 0.12 * size))
    board.disc((tip, y), max(CAPTURE_REACH * pane.scale, 3.0), (*GOOD, 70), GOOD)


def _chaser(board: Canvas, pane: Pane, scene: Scene) -> None:
    """Draw the satellite, whose docking probe is its position."""
    state = scene.state
    x, y = pane.place(state["position"])
    size = max(0.17 * pane.scale, 0.8 * SMALLEST)
    middle = (x + 1.25 * size, y)
    if scene.verdict is None:
        firing = state["firing"]
        push = (float(firing[pane.right_axis]), float(firing[pane.up_axis]))
        dials.plume(board, middle, push, 1.2 * size)
    board.box(
        (x + 0.45 * size, y - 0.6 * size), (x + 2.1 * size, y + 0.6 * size), STEEL, DARK_STEEL
    )
    board.box(
        (x + 1.0 * size, y - 0.45 * size), (x + 1.9 * size, y + 0.45 * size), CELLS, CELL_EDGE
    )
    board.line([(x, y), (x + 0.45 * size, y)], WARN, max(1.6, 0.16 * size))
    _arrow(board, (x, y), pane, state["velocity"])


def _arrow(board: Canvas, spot: Point, pane: Pane, velocity: np.ndarray) -> None:
    """Draw where the velocity leads: 80 px for a metre a second."""
    right, up = (80.0 * float(velocity[axis]) for axis in (pane.right_axis, pane.up_axis))
    board.line([spot, (spot[0] + right, spot[1] - up)], WARN, 1.5)


def _panel(board: Canvas, scene: Scene) -> None:
    state = scene.state
    up, along, across = (float(part) for part in state["position"])
    distance = math.hypot(up, along - PORT, across)
    speed = math.hypot(*(float(part) for part in state["velocity"]))
    away = state["position"] - np.array([0.0, PORT, 0.0])
    rate = -float(away @ state["velocity"]) / max(distance, 1e-6)
    readings = (
        ("to the port", f"{distance:.2f} m", dials.within(distance, CAPTURE_REACH)),
        ("off its axis", f"{math.hypot(up, across):.2f} m", INK),
        ("speed", f"{100 * speed:.1f} cm/s", dials.within(speed, CAPTURE_SPEED)),
        ("closing at", f"{100 * rate:+.1f} cm/s", INK),
        ("thrust", _arrows(state["firing"]), COOL),
    )
    dials.panel(board, "RENDEZVOUS", scene.time, readings)
    fuel = float(state["propellant"])
    dials.gauge(board, 330, "propellant", f"{1000 * fuel:.0f} g", fuel / FULL_TANK)
    board.text((490, 392), "docks below 5 cm/s", FAINT, 11)
    board.text((490, 410), "within 20 cm of the port", FAINT, 11)


def _arrows(firing: np.ndarray) -> str:
    """Return the thrust along the three axes in per cent."""
    return " ".join(f"{100 * float(part):+.0f}" for part in firing)
