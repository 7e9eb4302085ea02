"""Pictures of orbital evasion: the field of rocks from the side and from above, to one scale."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image

from srb_train.envs.tasks import canvas, dials
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import BAD, COOL, EDGE, FAINT, GOOD, INK, WARN, Canvas, Colour
from srb_train.envs.tasks.dials import Pane
from srb_train.envs.tasks.orbital_evasion_field import CRAFT, GOAL, GOAL_REACH, GOAL_SPEED, SAFE

PLENTY = 25.0  # m/s of velocity change that fill the gauge

SPLIT = canvas.HEIGHT / 2  # px between the two panes
LEFT, WIDTH = -5.0, 61.0  # m of the world that the panes show
SCALE = dials.PANEL_LEFT / WIDTH
FAR_OFF = 9.0  # m out of the craft's plane at which a rock is as dim as it gets


def draw(scenes: Sequence[Scene]) -> np.ndarray:
    """Return the picture of the last scene; the earlier ones of its episode are its trail."""
    scene = scenes[-1]
    position, room = scene.state["position"], _room(scene.state)
    board = Canvas(_space())
    for pane, depth_axis in _panes(position):
        _goal(board, pane)
        _rocks(board, pane, scene, depth_axis)
        dials.trail(board, pane, [past.state["position"] for past in scenes])
        _craft(board, pane, scene)
    board.box((-8, SPLIT - 1), (dials.PANEL_LEFT, SPLIT + 1), EDGE)
    dials.ticks(board, _panes(position)[1][0], float(canvas.HEIGHT))
    board.text((12, 16), "from the side", FAINT, 11)
    board.text((12, SPLIT + 14), "from above", FAINT, 11)
    _panel(board, scene, float(room.min()))
    if scene.verdict is not None:
        dials.verdict(board, scene.verdict, ("ARRIVED", "FAILED"))
    return board.pixels()


def _panes(position: np.ndarray) -> tuple[tuple[Pane, int], tuple[Pane, int]]:
    """Return the two panes, each with the axis along which it looks; they follow the craft."""
    left = LEFT + min(0.0, float(position[0]) - LEFT - 3.0) + max(0.0, float(position[0]) - 53.0)
    y, z = (_beyond(float(part), 12.0) for part in position[1:])
    side = Pane(0.0, SPLIT, 0, 2, SCALE, left, z)
    return (side, 1), (Pane(SPLIT, float(canvas.HEIGHT), 0, 1, SCALE, left, y), 2)


def _beyond(value: float, limit: float) -> float:
    """Return by how much a value leaves a band about zero."""
    return value - min(max(value, -limit), limit)


def _room(state: dict[str, np.ndarray]) -> np.ndarray:
    ways = state["rocks"] - state["position"][:, None]
    room: np.ndarray = np.sqrt((ways**2).sum(0)) - state["radius"] - CRAFT
    return room


@cache
def _space() -> Image.Image:
    board = Canvas(canvas.gradient((5, 6, 14), (16, 14, 28)))
    random = np.random.default_rng(5)
    for x, y, size in random.uniform((0, 0, 0.3), (dials.PANEL_LEFT, 480, 1.0), (240, 3)):
        shade = int(60 + 150 * size * random.uniform(0.4, 1.0))
        board.disc((x, y), 0.8 * size, (shade, shade, min(255, shade + 12)))
    return board.image


def _goal(board: Canvas, pane: Pane) -> None:
    spot = pane.place(np.array([GOAL, 0.0, 0.0]))
    board.disc(spot, GOAL_REACH * pane.scale, (*GOOD, 46), GOOD)
    board.disc(spot, 2.0, GOOD)


def _rocks(board: Canvas, pane: Pane, scene: Scene, depth_axis: int) -> None:
    """Draw the rocks, those farther from the viewer first, dimmer out of the craft's plane."""
    state = scene.state
    rocks, radius, room = state["rocks"].T, state["radius"], _room(state)
    for rock in np.argsort(rocks[:, depth_axis]):
        spot, size = pane.place(rocks[rock]), float(radius[rock]) * pane.scale
        if not pane.holds(spot, -2.0):
            continue
        off = abs(float(rocks[rock, depth_axis] - state["position"][depth_axis]))
        light = 1.0 - 0.62 * min(off / FAR_OFF, 1.0)
        _rock(board, spot, size, light, int(rock))
        if room[rock] < SAFE:
            board.disc(spot, size + 2.5, None, BAD if room[rock] < 0 else WARN)


def _rock(board: Canvas, spot: tuple[float, float], size: float, light: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    turns = np.linspace(0.0, 2.0 * math.pi, 17)[:-1]
    reach = size * random.uniform(0.88, 1.0, 16)
    edge = [
        (spot[0] + r * math.cos(turn), spot[1] + r * math.sin(turn))
        for r, turn in zip(reach, turns, strict=True)
    ]
    board.polygon(edge, _shade((92, 82, 76), light))
    lit = [
        (spot[0] + 0.8 * (x - spot[0]) - 0.14 * size, spot[1] + 0.8 * (y - spot[1]) - 0.14 * size)
        for x, y in edge
    ]
    board.polygon(lit, _shade((142, 130, 118), light))
    for _ in range(3):
        x, y = random.uniform(-0.5, 0.35, 2) * size
        board.disc((spot[0] + x, spot[1] + y), 0.15 * size, _shade((112, 101, 92), light))


def _shade(colour: Colour, light: float) -> Colour:
    red, green, blue = (int(part * light) for part in colour)
    return red, green, blue


def _craft(board: Canvas, pane: Pane, scene: Scene) -> None:
    state = scene.state
    x, y = pane.place(state["position"])
    if scene.verdict is None:
        firing = state["firing"]
        push = (float(firing[pane.right_axis]), float(firing[pane.up_axis]))
        dials.plume(board, (x, y), push, 6.0)
    velocity = state["velocity"]
    right, up = (7.0 * float(velocity[axis]) for axis in (pane.right_axis, pane.up_axis))
    board.line([(x, y), (x + right, y - up)], WARN, 1.5)
    board.disc((x, y), max(CRAFT * pane.scale, 4.5), INK, COOL)


def _panel(board: Canvas, scene: Scene, room: float) -> None:
    state = scene.state
    distance = math.dist((GOAL, 0.0, 0.0), [float(part) for part in state["position"]])
    speed = math.hypot(*(float(part) for part in state["velocity"]))
    thrust = " ".join(f"{100 * float(part):+.0f}" for part in state["firing"])
    readings = (
        ("to the goal", f"{distance:.1f} m", dials.within(distance, GOAL_REACH)),
        ("speed", f"{speed:.2f} m/s", dials.within(speed, GOAL_SPEED)),
        ("nearest rock", f"{room:.1f} m", GOOD if room > SAFE else WARN if room > 0 else BAD),
        ("thrust", thrust, COOL),
    )
    dials.panel(board, "EVASION", scene.time, readings)
    left = float(state["velocity_left"])
    dials.gauge(board, 290, "velocity left", f"{left:.1f} m/s", left / PLENTY)
    board.text((490, 350), "arrives below 1 m/s", FAINT, 11)
    board.text((490, 368), "within 2 m of the goal", FAINT, 11)
