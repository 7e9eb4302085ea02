"""Curves drawn with characters: eight dots a character (Braille), or a digit a run.

A chart is rows of cells, each a character and the number of the curve that it belongs to, so that
whoever prints it chooses colours. x and y are plain numbers; gaps are None.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from srb_train.cli import wording

Curve = Sequence[tuple[float, float]]
"""Points (x, y) with x growing."""


class Cell(NamedTuple):
    """One character; `curve` counts from 0 and is None for axes and blanks."""

    text: str
    curve: int | None = None


@dataclass(frozen=True, kw_only=True)
class Size:
    """Characters of the whole chart, labels included."""

    width: int = 72
    height: int = 14


_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of the Braille dots, by row and column of a character."""
_BLANK = 0x2800
_LEAST_WIDTH = 24
_LEAST_HEIGHT = 5


def drawn(curves: Sequence[Curve], size: Size = Size(), *, dots: bool = True) -> list[list[Cell]]:
    """Return a chart of several curves; without `dots` it is ASCII, and a digit names the curve."""
    finite = [point for curve in curves for point in curve]
    if not finite:
        return [[Cell("no values to draw")]]
    frame = _Frame.around(finite)
    labels = [label(value) for value in (frame.top, frame.bottom)]
    margin = max(map(len, labels)) + 1
    width = max(_LEAST_WIDTH, size.width) - margin - 1
    height = max(_LEAST_HEIGHT, size.height) - 2
    canvas = _Canvas(width, height, dots)
    for number, curve in enumerate(curves):
        for x, y in _path(curve, frame, canvas):
            canvas.mark(x, y, number)
    rows = list(canvas.rows())
    sides = [labels[0], *[""] * (height - 2), labels[1]]
    bar, corner, line = ("│", "└", "─") if dots else ("|", "+", "-")
    chart = [[Cell(f"{side:>{margin}}{bar}"), *row] for side, row in zip(sides, rows, strict=True)]
    chart.append([Cell(" " * margin + corner + line * width)])
    chart.append([Cell(" " * (margin + 1) + _scale(frame, width))])
    return chart


def label(value: float) -> str:
    """Return a number for an axis; a very large one in few characters."""
    return f"{value:.3e}" if abs(value) >= 1e7 else wording.number(value)


def text(chart: Sequence[Sequence[Cell]]) -> str:
    """Return a chart without colours."""
    return "\n".join("".join(cell.text for cell in row).rstrip() for row in chart)


@dataclass(frozen=True)
class _Frame:
    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def around(cls, points: Curve) -> "_Frame":
        xs, ys = [x for x, _ in points], [y for _, y in points]
        return cls(min(xs), max(xs), min(ys), max(ys))

    def place(self, x: float, y: float, across: int, down: int) -> tuple[int, int]:
        """Return column and row (from the top) of a point among `across` by `down` dots."""
        column = share(x, self.left, self.right) * (across - 1)
        row = (1.0 - share(y, self.bottom, self.top)) * (down - 1)
        return round(column), round(row)


def share(value: float, low: float, high: float) -> float:
    """Return where a value lies between two others, 0 to 1; the middle where these are equal."""
    # Halved first: the distance of two huge numbers may be no number.
    span = high / 2 - low / 2
    return (value / 2 - low / 2) / span if span else 0.5


def _path(curve: Curve, frame: _Frame, canvas: "_Canvas") -> Iterator[tuple[int, int]]:
    """Yield the dots of a curve, joined by straight lines."""
    places = [frame.place(x, y, canvas.across, canvas.down) for x, y in curve]
    yield from places[:1]
    for (x0, y0), (x1, y1) in pairwise(places):
        count = max(abs(x1 - x0), abs(y1 - y0))
        for number in range(1, count + 1):
            yield x0 + round((x1 - x0) * number / count), y0 + round((y1 - y0) * number / count)


class _Canvas:
    """Cells that curves leave marks on; where two meet, the later one gives the colour."""

    def __init__(self, width: int, height: int, dots: bool) -> None:
        self._width = width
        self._height = height
        self._dots = dots
        self.across = width * (2 if dots else 1)
        self.down = height * (4 if dots else 1)
        self._bits: dict[tuple[int, int], int] = {}
        self._curves: dict[tuple[int, int], int] = {}

    def mark(self, x: int, y: int, curve: int) -> None:
        cell = (x // 2, y // 4) if self._dots else (x, y)
        self._bits[cell] = self._bits.get(cell, 0) | _DOTS[y % 4][x % 2]
        self._curves[cell] = curve

    def rows(self) -> Iterator[list[Cell]]:
        for row in range(self._height):
            yield [self._cell((column, row)) for column in range(self._width)]

    def _cell(self, place: tuple[int, int]) -> Cell:
        curve = self._curves.get(place)
        if curve is None:
            return Cell(" ")
        mark = chr(_BLANK + self._bits[place]) if self._dots else str((curve + 1) % 10)
        return Cell(mark, curve)


def _scale(frame: _Frame, width: int) -> str:
    left, right = (f"{value:,.0f}" for value in (frame.left, frame.right))
    return f"{left}{right:>{max(1, width - len(left))}}"
