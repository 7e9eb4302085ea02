"""What the pictures of flights share: two panes on one scale, a panel of readings, a last word."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from srb_train.envs.tasks import canvas
from srb_train.envs.tasks.canvas import (
    BAD,
    COOL,
    EDGE,
    FAINT,
    GOOD,
    INK,
    WARN,
    Canvas,
    Colour,
    Point,
)

PANEL_LEFT = 476.0  # px; what lies left of it is for the panes


class Pane(NamedTuple):
    """A window onto a plane of the world: which axis runs to the right, which one upwards."""

    top: float
    """px of its upper edge."""
    bottom: float
    right_axis: int
    up_axis: int
    scale: float
    """px a metre."""
    left_value: float
    """World coordinate at the left edge of the picture."""
    middle_value: float = 0.0
    """World coordinate at half the pane's height."""

    def place(self, point: np.ndarray) -> Point:
        """Return the pixel of a point (3,) of the world."""
        across = float(point[self.right_axis]) - self.left_value
        up = float(point[self.up_axis]) - self.middle_value
        return across * self.scale, 0.5 * (self.top + self.bottom) - up * self.scale

    def holds(self, spot: Point, margin: float = 0.0) -> bool:
        """Tell whether a pixel, with a margin about it, lies in the pane in part."""
        x, y = spot
        inside = -margin < x < PANEL_LEFT + margin
        return inside and self.top - margin < y < self.bottom + margin


def trail(board: Canvas, pane: Pane, points: Sequence[np.ndarray]) -> None:
    """Draw where a body has been, fading with age."""
    places = [pane.place(point) for point in points]
    for age, (new, old) in enumerate(zip(places[::-1], places[-2::-1], strict=False)):
        if pane.holds(new) and pane.holds(old):
            board.line([old, new], (*COOL, max(40, 200 - age)), 1.6)


def ticks(board: Canvas, pane: Pane, y: float) -> None:
    """Draw a scale in metres along the lower edge of a pane."""
    sizes = (0.5, 1, 2, 5, 10, 20, 50, 100)
    step = next((size for size in sizes if size * pane.scale >= 44), 200)
    first = math.ceil(pane.left_value / step)
    last = math.floor((pane.left_value + PANEL_LEFT / pane.scale) / step)
    for mark in range(first, last + 1):
        x = (mark * step - pane.left_value) * pane.scale
        board.line([(x, y), (x, y - 5)], FAINT, 1)
        if 14 < x < PANEL_LEFT - 14:
            board.text((x, y - 11), f"{mark * step:g}", FAINT, 10, "mm")


def plume(board: Canvas, spot: Point, push: Point, reach: float) -> None:
    """Draw jets that leave a body against its push, (right, up) in [-1, 1] each."""
    x, y = spot
    for right, up in ((push[0], 0.0), (0.0, push[1])):
        size = math.hypot(right, up)
        if size < 0.03:
            continue
        far = (0.35 + 0.65 * size) * 2.2 * reach / size
        tip, wide = (x - right * far, y + up * far), 0.35 * reach
        foot = (x - right / size * 0.7 * reach, y + up / size * 0.7 * reach)
        along = (up / size * wide, right / size * wide)
        for share, colour in ((1.0, (255, 150, 70, 130)), (0.55, (255, 236, 200, 220))):
            sides = [(foot[0] + s * along[0], foot[1] + s * along[1]) for s in (share, -share)]
            board.polygon([*sides, tip], colour)


def panel(
    board: Canvas, title: str, time: float, readings: Iterable[tuple[str, str, Colour]]
) -> None:
    """Draw the panel to the right: a title, the time, and named values."""
    board.box((PANEL_LEFT, -6), (646, 486), canvas.PANEL, EDGE)
    board.text((490, 22), title, INK, 15)
    board.text((628, 22), f"{time:.0f} s", FAINT, 13, "rm")
    for place, (name, value, colour) in enumerate(readings):
        board.text((490, 62 + 46 * place), name, FAINT, 12)
        board.text((490, 80 + 46 * place), value, colour, 17)


def gauge(board: Canvas, y: float, name: str, value: str, share: float) -> None:
    """Draw a bar of what is left of a store; red when it runs low."""
    board.text((490, y), name, FAINT, 12)
    board.text((628, y), value, INK, 12, "rm")
    board.bar((490, y + 11), (138, 14), share, BAD if share < 0.15 else COOL)


def verdict(board: Canvas, success: bool, words: tuple[str, str]) -> None:
    """Write the last word over the picture: the first of two for a success."""
    colour, word = (GOOD, words[0]) if success else (BAD, words[1])
    middle = PANEL_LEFT / 2
    board.box((middle - 92, 26), (middle + 92, 68), (12, 16, 26), colour)
    board.text((middle, 47), word, colour, 22, "mm")


def within(value: float, limit: float) -> Colour:
    """Return the colour of a value that ought to be below a limit."""
    return GOOD if value <= limit else WARN
