"""How much a reply may hold, so that no run can flood a conversation; a note says what was cut."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

LINES = 2000
LINE_CHARACTERS = 2000
LOG_CHARACTERS = 64 * 1024
POINTS = 5000
RUNS = 1000
CHECKPOINTS = 200
KEYS = 500
WARNINGS = 20
COMPARED = 20
"""Runs in one comparison."""

_T = TypeVar("_T")


def newest(found: Sequence[_T], last_n: int, most: int) -> list[_T]:
    """Return the last ones of a sequence, as many as were asked for and fit."""
    kept = min(most, len(found)) if last_n < 0 else min(most, last_n)
    return list(found[-kept:]) if kept else []


def lines(found: Sequence[str], asked: int) -> tuple[list[str], str | None]:
    """Return the newest lines that fit into a reply, and what was cut."""
    kept: list[str] = []
    room = LOG_CHARACTERS
    for line in reversed(found):
        cut = line[:LINE_CHARACTERS] + (" […]" if len(line) > LINE_CHARACTERS else "")
        room -= len(cut) + 1
        if room < 0:
            break
        kept.append(cut)
    missing = len(found) - len(kept)
    if missing or (len(found) >= LINES and not 0 <= asked <= LINES):
        return kept[::-1], f"the newest {len(kept):,} lines; the file at log_path has the rest"
    return kept[::-1], None


def thinned(
    series: Mapping[str, Sequence[Mapping[str, Any]]],
) -> tuple[dict[str, list[Any]], str | None]:
    """Return series that fit into a reply: evenly spaced points, the newest always among them."""
    total = sum(len(points) for points in series.values())
    if total <= POINTS:
        return {tag: list(points) for tag, points in series.items()}, None
    share = max(1, POINTS // len(series))
    kept = {tag: _spaced(points, share) for tag, points in series.items()}
    left = sum(len(points) for points in kept.values())
    return kept, (
        f"{left:,} of {total:,} points, evenly spaced; `srb run metrics` prints all, "
        "metric_keys names fewer"
    )


def _spaced(points: Sequence[_T], most: int) -> list[_T]:
    if len(points) <= most:
        return list(points)
    return [points[(number + 1) * len(points) // most - 1] for number in range(most)]
