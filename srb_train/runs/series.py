"""Whole series of a metrics.jsonl, many lines at once: a million points in about a second.

A block of lines is read as one JSON array. Only a block that holds something else than plain
points (damage, a resume, a value that is not finite) is read line by line, as `metrics` does.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from srb_train.runs import metrics
from srb_train.runs.metrics import MEBIBYTE, RESUMED

Point = dict[str, Any]
"""`step`, `wall_time`, `value`; and `nonfinite` where the value is null for it."""
Series = dict[str, list[Point]]

_PLAIN_KEYS = 4


class Found:
    """The points of a file by their tags, in the order of the file, and what was wrong with it."""

    def __init__(self, tags: Iterable[str] | None) -> None:
        """Keep the points of some tags, which are names or patterns; None keeps all."""
        self.series: Series = {}
        self.bad: list[int] = []
        """Numbers of unreadable lines, from 1."""
        self.end = 0
        """Number of the last line that is not blank."""
        self._wanted = metrics.chooser(tags)
        self._beginnings = _beginnings(tags)

    def take(self, lines: Sequence[bytes], before: int) -> None:
        """Take a block of lines, of which `before` came earlier."""
        last = next((place for place, line in enumerate(reversed(lines)) if line.strip()), None)
        if last is not None:
            self.end = before + len(lines) - last
        kept = lines
        if self._beginnings:
            other = (b'{"tag":"',)
            kept = [
                line
                for line in lines
                if line.startswith(self._beginnings) or not line.startswith(other)
            ]
        if not self._take_plain([line for line in kept if line]):
            self._take_slowly(lines, before)

    def _take_plain(self, lines: Sequence[bytes]) -> bool:
        """Take lines that are plain points all of them; takes nothing and says no otherwise."""
        try:
            data = orjson.loads(b"[" + b",".join(lines) + b"]")
            block = _grouped(data)
        except (orjson.JSONDecodeError, LookupError, TypeError):
            return False
        if block is None or len(data) != len(lines) or RESUMED in block:
            return False
        for tag, points in block.items():
            if self._wanted(tag):
                self.series.setdefault(tag, []).extend(points)
        return True

    def _take_slowly(self, lines: Sequence[bytes], before: int) -> None:
        for number, line in enumerate(lines, start=before + 1):
            if not line.strip():
                continue
            record = metrics.parse(line)
            if record is None:
                self.bad.append(number)
                continue
            if record.tag == RESUMED:
                self._forget_after(record.step)
            if self._wanted(record.tag):
                self.series.setdefault(record.tag, []).append(point(record))

    def _forget_after(self, step: int) -> None:
        """Drop what a resume from a step has superseded."""
        for tag, points in self.series.items():
            self.series[tag] = [point for point in points if point["step"] <= step]


def read(path: Path, *, tags: Iterable[str] | None = None) -> tuple[Series, list[str]]:
    """Return the points of a file by their tags, and what was wrong with it.

    The points are those that `metrics.iterate` yields. `tags` are names or patterns such as
    `episode/*`; of lines with other tags, damage is not always seen.
    """
    found = Found(None if tags is None else tuple(tags))
    number = 0
    with suppress(FileNotFoundError), path.open("rb") as stream:
        for lines in _blocks(stream):
            found.take(lines, number)
            number += len(lines)
    whole = {tag: points for tag, points in found.series.items() if points}
    return whole, list(metrics.damage(path, found.bad, found.end))


def _blocks(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Yield whole lines, about a mebibyte at a time; what is longer than that comes in parts."""
    rest = b""
    while block := stream.read(MEBIBYTE):
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > MEBIBYTE:
            lines.append(rest)
            rest = b""
        yield lines
    if rest:
        yield [rest]


def _beginnings(tags: Iterable[str] | None) -> tuple[bytes, ...]:
    """Return how lines of these tags begin; nothing where a pattern may mean any tag."""
    if tags is None or any(set(tag) & set("*?[") for tag in tags):
        return ()
    return tuple(orjson.dumps({"tag": tag})[:-1] + b"," for tag in (*tags, RESUMED))


def _grouped(data: Sequence[Any]) -> Series | None:
    """Group plain points by their tags, which they lose; None if one of them is not plain."""
    block: Series = {}
    for item in data:
        plain = type(item["value"]) is float and type(item["wall_time"]) is float
        if not plain or type(item["step"]) is not int or len(item) != _PLAIN_KEYS:
            return None
        tag = item.pop("tag")
        points = block.get(tag)
        if points is None:
            block[tag] = [item]
        else:
            points.append(item)
    return block if all(type(tag) is str for tag in block) else None


def point(record: metrics.Record) -> Point:
    """Return a record as a point; its tag is not in it."""
    made: Point = {"step": record.step, "wall_time": record.wall_time, "value": record.value}
    return made if record.nonfinite is None else {**made, "nonfinite": record.nonfinite}
