"""What the tasks' pictures share: a sharp canvas, lettering, colours and gauges, all by Pillow."""

from collections.abc import Iterable
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 640, 480
SHARPNESS = 2
"""Pictures are drawn this many times larger and then averaged, which smooths all edges."""

Colour = tuple[int, int, int]
Point = tuple[float, float]

INK: Colour = (226, 230, 240)
FAINT: Colour = (132, 140, 160)
PANEL: Colour = (18, 22, 34)
EDGE: Colour = (58, 66, 88)
GOOD: Colour = (92, 214, 132)
WARN: Colour = (250, 176, 66)
BAD: Colour = (238, 92, 84)
COOL: Colour = (96, 164, 250)


class Canvas:
    """A picture under construction; all measures are in pixels of the finished picture."""

    def __init__(self, backdrop: Image.Image) -> None:
        """Begin with a copy of a backdrop from `gradient`."""
        self.image = backdrop.copy()
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def polygon(self, points: Iterable[Point], fill: tuple[int, ...]) -> None:
        """Fill a polygon; a fourth colour component is its opacity."""
        self._draw.polygon([_scaled(point) for point in points], fill=fill)

    def line(self, points: Iterable[Point], colour: tuple[int, ...], width: float = 1.0) -> None:
        """Draw a line through points."""
        thick = max(1, round(width * SHARPNESS))
        self._draw.line([_scaled(point) for point in points], colour, thick, "curve")

    def disc(
        self,
        centre: Point,
        radius: float | Point,
        fill: tuple[int, ...] | None = None,
        outline: tuple[int, ...] | None = None,
    ) -> None:
        """Draw a circle, or an ellipse of two radii."""
        across, up = radius if isinstance(radius, tuple) else (radius, radius)
        (x, y) = centre
        box = [_scaled((x - across, y - up)), _scaled((x + across, y + up))]
        self._draw.ellipse(box, fill=fill, outline=outline, width=SHARPNESS)

    def box(
        self, corner: Point, far: Point, fill: tuple[int, ...] | None, outline: Colour | None = None
    ) -> None:
        """Draw a rectangle with slightly round corners."""
        edges = [_scaled(corner), _scaled(far)]
        self._draw.rounded_rectangle(edges, 3 * SHARPNESS, fill, outline, SHARPNESS)

    def text(
        self, at: Point, words: str, colour: Colour = INK, size: int = 13, anchor: str = "lm"
    ) -> None:
        """Write words; the anchor is Pillow's: l, m or r for across, t, m or b for up."""
        self._draw.text(_scaled(at), words, colour, font(size), anchor=anchor)

    def bar(self, corner: Point, size: Point, share: float, colour: Colour) -> None:
        """Draw a gauge that is filled to a share in [0, 1] from the left."""
        (x, y), (width, height) = corner, size
        self.box(corner, (x + width, y + height), (8, 10, 18), EDGE)
        filled = (width - 4.0) * min(max(share, 0.0), 1.0)
        if filled >= 1.0:
            self.box((x + 2, y + 2), (x + 2 + filled, y + height - 2), colour)

    def pixels(self) -> np.ndarray:
        """Return the finished picture as uint8 (HEIGHT, WIDTH, 3)."""
        return np.asarray(self.image.reduce(SHARPNESS)).copy()


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's own typeface in a size given in finished pixels."""
    return ImageFont.load_default(size * SHARPNESS)


@cache
def gradient(top: Colour, bottom: Colour) -> Image.Image:
    """Return a backdrop whose colour runs from the top to the bottom."""
    height, width = HEIGHT * SHARPNESS, WIDTH * SHARPNESS
    mix = np.linspace(0.0, 1.0, height)[:, None]
    column = (1.0 - mix) * np.array(top) + mix * np.array(bottom)
    pixels = np.repeat(column[:, None, :], width, axis=1).round().astype(np.uint8)
    return Image.fromarray(pixels)


def _scaled(point: Point) -> Point:
    return point[0] * SHARPNESS, point[1] * SHARPNESS
