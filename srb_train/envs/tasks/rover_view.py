"""What the pictures of the rover's tasks share: the ground from above, the rover, its readings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from PIL import Image

from srb_train.envs.tasks import canvas, counter, rover
from srb_train.envs.tasks.canvas import BAD, COOL, EDGE, FAINT, GOOD, INK, WARN, Canvas, Point

PANEL_LEFT = 476.0  # px
LETTERS, FIGURES = 490.0, 628.0  # px of a reading's name, and of the end of its value
SMALLEST = 62.0  # px to a metre of rover, at least, so that it can be seen from afar

SOIL, DARK_SOIL = (150, 112, 84), (112, 80, 60)
RIDGE = (172, 136, 106, 120)
BODY: canvas.Colour = (226, 228, 234)
TYRE: canvas.Colour = (36, 36, 42)

Row = tuple[str, str, canvas.Colour]


class Frame(NamedTuple):
    """Where the plane of the ground lies in the picture; up is along y."""

    centre: Point
    """px."""
    scale: float
    """px a metre."""
    middle: tuple[float, float]
    """m of what is seen at the centre."""

    def place(self, point: Sequence[float] | np.ndarray) -> Point:
        """Return the pixel of a point of the ground."""
        x, y = (float(part) for part in point)
        (px, py), (mx, my) = self.centre, self.middle
        return px + (x - mx) * self.scale, py - (y - my) * self.scale


@cache
def backdrop() -> Image.Image:
    """Return loose soil without anything on it."""
    return canvas.gradient(SOIL, DARK_SOIL)


def ground(board: Canvas, frame: Frame, box: tuple[float, float, float, float]) -> None:
    """Draw the metre grid and the stones that lie within a box of pixels."""
    left, top, right, bottom = box
    low_x, high_y = _metres(frame, left, top)
    high_x, low_y = _metres(frame, right, bottom)
    for x in range(math.ceil(low_x), math.floor(high_x) + 1):
        px = frame.place((x, 0))[0]
        board.line([(px, top), (px, bottom)], RIDGE, 1.4 if x % 5 == 0 else 0.5)
    for y in range(math.ceil(low_y), math.floor(high_y) + 1):
        py = frame.place((0, y))[1]
        board.line([(left, py), (right, py)], RIDGE, 1.4 if y % 5 == 0 else 0.5)
    _stones(
        board, frame, (math.floor(low_x), math.ceil(high_x)), (math.floor(low_y), math.ceil(high_y))
    )


def _metres(frame: Frame, px: float, py: float) -> tuple[float, float]:
    (cx, cy), (mx, my) = frame.centre, frame.middle
    return mx + (px - cx) / frame.scale, my - (py - cy) / frame.scale


def _stones(board: Canvas, frame: Frame, across: tuple[int, int], up: tuple[int, int]) -> None:
    """Draw the stones of square metres, two in five with one; they lie where they are."""
    x, y = (part.ravel() for part in np.mgrid[across[0] : across[1], up[0] : up[1]])
    seeds, episodes = x & counter.MASK, y & counter.MASK
    there, size, *inside = counter.uniform(np, seeds, episodes, np.arange(4))
    for stone in np.flatnonzero(there < 0.4):
        radius = (0.02 + 0.06 * float(size[stone])) * frame.scale
        px, py = frame.place((x[stone] + inside[0][stone], y[stone] + inside[1][stone]))
        board.disc((px + 0.3 * radius, py + 0.4 * radius), radius, (60, 40, 30, 150))
        board.disc((px, py), radius, (128, 106, 90))
        board.disc((px - 0.25 * radius, py - 0.3 * radius), 0.55 * radius, (158, 136, 116))


def trail(board: Canvas, places: Sequence[Point]) -> None:
    """Draw where the rover has been, as the two tracks that it leaves, fading."""
    if len(places) < 2:
        return
    board.line(places, (70, 48, 36, 150), 5.0)
    board.line(places[-60:], (*COOL, 150), 1.8)


def spot(state: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Return where a rover is, m."""
    return float(state["x"]), float(state["y"])


def vehicle(board: Canvas, frame: Frame, state: Mapping[str, np.ndarray]) -> None:
    """Draw the rover: larger than life where it would be too small to see."""
    scale = max(frame.scale, SMALLEST)
    heading = float(state["heading"])
    cos, sin = math.cos(heading), math.sin(heading)
    px, py = frame.place(spot(state))

    def at(ahead: float, left: float) -> Point:
        x, y = ahead * cos - left * sin, ahead * sin + left * cos
        return px + x * scale, py - y * scale

    def slab(ahead: tuple[float, float], left: tuple[float, float]) -> list[Point]:
        (back, front), (right, far) = ahead, left
        return [at(back, right), at(front, right), at(front, far), at(back, far)]

    board.polygon([(x + 4, y + 5) for x, y in slab((-0.36, 0.36), (-0.3, 0.3))], (30, 20, 16, 110))
    for side, speed in zip((1, -1), rover.rims(state), strict=True):
        lit = min(1.0, abs(float(speed)) / rover.WHEEL_SPEED)
        colour = tuple(int(a + (b - a) * 0.7 * lit) for a, b in zip(TYRE, WARN, strict=True))
        middle = side * rover.HALF_TRACK
        for axle in (-0.26, 0.0, 0.26):
            tyre = slab((axle - 0.1, axle + 0.1), (middle - 0.055, middle + 0.055))
            board.polygon(tyre, colour)
    board.polygon(slab((-0.3, 0.27), (-0.18, 0.18)), BODY)
    board.polygon(slab((-0.28, 0.02), (-0.16, 0.16)), (40, 58, 108))
    for share in (-0.21, -0.13, -0.05):
        board.line([at(share, -0.16), at(share, 0.16)], (96, 120, 176), 0.8)
    board.line([at(0.12, 0.0), at(0.3, 0.0)], (110, 114, 126), 0.05 * scale)
    board.disc(at(0.31, 0.0), 0.055 * scale, COOL, INK)


def downhill(board: Canvas, centre: Point, state: Mapping[str, np.ndarray]) -> None:
    """Draw an arrow the way the ground falls, with its inclination; nothing on level ground."""
    if "rise_x" not in state:
        return
    rise_x, rise_y = float(state["rise_x"]), float(state["rise_y"])
    rise = math.hypot(rise_x, rise_y) + 1e-9
    x, y = -rise_x / rise, -rise_y / rise
    px, py = centre
    tip, tail = (px + 20 * x, py - 20 * y), (px - 20 * x, py + 20 * y)
    board.disc(centre, 30, (18, 22, 34, 170), EDGE)
    board.line([tail, tip], INK, 2.4)
    barbs = [(tip[0] - 9 * x + s * 6 * y, tip[1] + 9 * y + s * 6 * x) for s in (-1, 1)]
    board.polygon([tip, *barbs], INK)
    board.text((px, py + 41), f"falls {math.degrees(math.atan(rise)):.0f}°", INK, 11, "mm")


def panel(board: Canvas, title: str, time: float, lines: Iterable[Row]) -> None:
    """Draw the instruments' panel with a title and a list of readings."""
    board.box((PANEL_LEFT, -6), (646, 486), canvas.PANEL, EDGE)
    board.text((LETTERS, 22), title, INK, 16)
    board.text((FIGURES, 22), f"{time:.1f} s", FAINT, 13, "rm")
    for place, (name, value, colour) in enumerate(lines):
        board.text((LETTERS, 60 + 29 * place), name, FAINT, 13)
        board.text((FIGURES, 60 + 29 * place), value, colour, 15, "rm")


def ground_lines(state: Mapping[str, np.ndarray]) -> list[Row]:
    """Return the readings of what the rover itself cannot know."""
    slip, turn_slip = (100.0 * (1.0 - float(state[name])) for name in ("grip", "turn_grip"))
    return [("slip", f"{slip:.0f} %", FAINT), ("turning slip", f"{turn_slip:.0f} %", FAINT)]


def wheel_gauges(board: Canvas, top: float, state: Mapping[str, np.ndarray]) -> None:
    """Draw both sides' wheel speeds as bars that grow from the middle."""
    for place, (name, speed) in enumerate(
        zip(("left wheels", "right wheels"), rover.rims(state), strict=True)
    ):
        y = top + 46 * place
        board.text((LETTERS, y), name, FAINT, 13)
        board.text((FIGURES, y), f"{float(speed):+.2f} m/s", INK, 13, "rm")
        board.box((LETTERS, y + 12), (FIGURES, y + 27), (8, 10, 18), EDGE)
        middle, half = 0.5 * (LETTERS + FIGURES), 0.5 * (FIGURES - LETTERS) - 2
        reach = half * max(-1.0, min(1.0, float(speed) / rover.WHEEL_SPEED))
        if abs(reach) >= 1.0:
            near, far = sorted((middle, middle + reach))
            board.box((near, y + 14), (far, y + 25), WARN if speed > 0 else COOL)
        board.line([(middle, y + 12), (middle, y + 27)], FAINT, 1)


def banner(board: Canvas, success: bool, words: tuple[str, str]) -> None:
    """Write how the episode ended: the first word for a success, the second for none."""
    colour, word = (GOOD, words[0]) if success else (BAD, words[1])
    middle = 0.5 * PANEL_LEFT
    board.box((middle - 84, 18), (middle + 84, 58), (12, 16, 26, 225), colour)
    board.text((middle, 38), word, colour, 22, "mm")
