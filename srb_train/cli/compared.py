"""What is shown and written of a comparison: a table, curves, a picture, a page."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from srb_train import operations
from srb_train.cli import chart, extras, page, render

Row = Mapping[str, Any]

_COLOURS = ("blue", "yellow", "red", "cyan", "green", "magenta")
_WIDEST = 110
_HEIGHT = 16


def write(drawn: Row, found: Row, png: Path | None, html: Path | None) -> dict[str, str | None]:
    """Write what was asked for; returns the files by their kinds."""
    files: dict[str, str | None] = {"png": None, "html": None}
    if png is not None:
        figure = extras.part("srb_train.cli.figure", "matplotlib", "plot")
        files["png"] = str(operations.save(png, figure.png(drawn)))
    if html is not None:
        files["html"] = str(operations.save(html, page.page(drawn, found).encode()))
    return files


def shown(found: Row, drawn: Row, files: Mapping[str, str | None]) -> str:
    """Return the table, the curves, what is missing and what was written."""
    parts = [render.comparison(found), *_curves(drawn["metrics"].get(found["tag"]))]
    lines = [f"warning: {name} has no {found['tag']}" for name in found["missing"]]
    lines += [f"wrote {path}" for path in files.values() if path]
    return "\n\n".join([*parts, *(["\n".join(lines)] if lines else [])])


def points(steps: Sequence[int], values: Sequence[float | None]) -> chart.Curve:
    """Return the points of a curve that have a value."""
    pairs = zip(steps, values, strict=True)
    return [(float(step), value) for step, value in pairs if value is not None]


def _curves(found: Row | None) -> list[str]:
    if found is None:
        return []
    dots = _shows_colours()
    size = chart.Size(width=min(_WIDEST, shutil.get_terminal_size().columns), height=_HEIGHT)
    curves = [points(found["steps"], values) for values in found["values"].values()]
    cells = chart.drawn(curves, size, dots=dots)
    legend = "   ".join(
        _coloured(f"run {number + 1}", number, dots) for number in range(len(curves))
    )
    lines = ["".join(_coloured(cell.text, cell.curve, dots) for cell in row) for row in cells]
    return ["\n".join(line.rstrip() for line in [*lines, legend])]


def _coloured(text: str, number: int | None, dots: bool) -> str:
    if number is None or not dots:
        return text
    return typer.style(text, fg=_COLOURS[number % len(_COLOURS)])


def _shows_colours() -> bool:
    """Tell whether curves can be told apart by colour; else each is drawn with its number."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    utf = (sys.stdout.encoding or "").lower().startswith("utf")
    return sys.stdout.isatty() and utf and not plain
