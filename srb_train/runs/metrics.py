"""metrics.jsonl: scalars over environment transitions, appended live and read while they grow.

One strict JSON object a line: `{"tag","step","wall_time","value"}`. `step` counts environment
transitions over all copies, `wall_time` is in seconds since 1970. JSON has no word for NaN or
infinity, so such a value is `"value":null` with `"nonfinite":"nan"`, `"inf"` or `"-inf"`; a bare
null is a value that nobody knows.

A run that goes on from step S leaves a line with the tag `run/resumed` and the step S. The file
keeps every line; readers hide the lines above it whose step is greater than S, because the resumed
run writes those steps again. Damage is skipped and told, never raised.
"""

import math
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

from srb_train.runs.journal import Journal

RETURN = "episode/return"
LENGTH = "episode/length"
SUCCESS = "episode/success_rate"
EPISODES = "episode/count"
RATE = "time/env_steps_per_second"
RESUMED = "run/resumed"

NONFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MEBIBYTE = 1 << 20
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Record:
    """One scalar of one step; `value` is None where it is not finite or not known."""

    tag: str
    step: int
    wall_time: float | None
    value: float | None
    nonfinite: str | None = None

    @classmethod
    def of(cls, tag: str, step: int, wall_time: float, number: float) -> Self:
        """Build a record from plain numbers, of which any may be NaN or infinite."""
        when = wall_time if math.isfinite(wall_time) else None
        if math.isfinite(number):
            return cls(tag, step, when, number)
        return cls(tag, step, when, None, str(number))

    @property
    def number(self) -> float | None:
        """The value with NaN and infinities restored; None only where it is not known."""
        return self.value if self.nonfinite is None else NONFINITE[self.nonfinite]

    def line(self) -> bytes:
        """Return the line of metrics.jsonl, with its newline."""
        data: dict[str, Any] = {
            "tag": self.tag,
            "step": self.step,
            "wall_time": self.wall_time,
            "value": self.value,
        }
        if self.nonfinite is not None:
            data["nonfinite"] = self.nonfinite
        return orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True)
class Metrics:
    """What a file holds, in the order of the file, and what was wrong with it."""

    records: list[Record]
    warnings: list[str]

    @property
    def tags(self) -> list[str]:
        """The tags in the order of their first appearance."""
        return list(dict.fromkeys(record.tag for record in self.records))

    def series(self, tag: str) -> list[Record]:
        """Return the records of one tag."""
        return [record for record in self.records if record.tag == tag]


class MetricsWriter:
    """Appends scalars to a file; every batch is with the operating system when `write` returns.

    What the disk refuses is an `OSError` that leaves only whole lines.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """Open the file for appending; a last line that was cut gets its newline first."""
        self._clock = clock
        self._journal = Journal(path)
        if not (self._journal.is_empty() or self._journal.ends_with(b"\n")):
            self._journal.append(b"\n")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Append several scalars of one step; anything that `float()` takes is a scalar."""
        now = self._clock()
        records = [Record.of(tag, int(step), now, float(value)) for tag, value in values.items()]
        self._journal.append(b"".join(record.line() for record in records))

    def resume(self, step: int) -> None:
        """Say that the run goes on from this step: later steps above this line are superseded."""
        self.write(step, {RESUMED: step})

    def flush(self) -> None:
        """Force what was written onto the disk."""
        self._journal.flush()

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        self._journal.close()


def read(
    path: Path, *, tags: str | Iterable[str] | None = None, superseded: bool = False
) -> Metrics:
    """Read a whole file; see `iterate` for the choices. An absent file has no records."""
    warnings: list[str] = []
    records = list(iterate(path, tags=tags, superseded=superseded, warnings=warnings))
    return Metrics(records, warnings)


def iterate(
    path: Path,
    *,
    tags: str | Iterable[str] | None = None,
    superseded: bool = False,
    warnings: list[str] | None = None,
) -> Iterator[Record]:
    """Yield the records in the order of the file, in little memory; an absent file has none.

    `tags` are names or patterns such as `episode/*`. With `superseded`, lines that a resume has
    replaced are told too. At the end `warnings` gains one sentence for a cut last line and one
    for the unreadable lines above it. A last line that lacks only its newline is whole.
    """
    wanted = chooser(tags)
    bad: list[int] = []
    end = 0
    with suppress(FileNotFoundError), path.open("rb") as stream:
        bounds = [] if superseded else _bounds(stream)
        for number, line in enumerate(_lines(stream), start=1):
            if line.isspace():
                continue
            end = number
            record = parse(line)
            if record is None:
                bad.append(number)
                continue
            while bounds and bounds[-1][0] <= number:
                bounds.pop()
            if wanted(record.tag) and not (bounds and record.step > bounds[-1][1]):
                yield record
    if warnings is not None:
        warnings.extend(damage(path, bad, end))


def tags(path: Path) -> list[str]:
    """Return the tags of a file in the order of their first appearance."""
    return list(dict.fromkeys(record.tag for record in iterate(path)))


def count(path: Path) -> int:
    """Return how many records of a file stand, not counting superseded ones."""
    return sum(1 for _ in iterate(path))


def last(path: Path, tag: str, budget: int = 64 * MEBIBYTE) -> Record | None:
    """Return the newest record of a tag, searched for in the last `budget` bytes of the file."""
    return next((record for record in _newest(path, budget) if record.tag == tag), None)


def newest(
    path: Path, tags: Iterable[str], count: int, budget: int = 16 * MEBIBYTE
) -> dict[str, list[Record]]:
    """Return the newest `count` records of each tag, oldest first, from the last `budget` bytes.

    Looking back ends when every tag has its share, so that it costs what is shown of a long file.
    """
    found: dict[str, list[Record]] = {tag: [] for tag in tags}
    missing = len(found) if count > 0 else 0
    for record in _newest(path, budget) if missing else ():
        series = found.get(record.tag)
        if series is None or len(series) == count:
            continue
        series.append(record)
        missing -= len(series) == count
        if not missing:
            break
    return {tag: series[::-1] for tag, series in found.items()}


def last_values(path: Path, budget: int = MEBIBYTE) -> dict[str, Record]:
    """Return the newest record of every tag seen in the last `budget` bytes of the file."""
    found: dict[str, Record] = {}
    for record in _newest(path, budget):
        found.setdefault(record.tag, record)
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Summary:
    """One run's series of a tag in a few numbers; None where no value is finite."""

    points: int
    final_step: int
    final: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Comparison:
    """Several runs' series of one tag on one axis of environment steps."""

    tag: str
    steps: list[int]
    values: dict[str, list[float | None]]
    """Run name -> a value for each of `steps`; None where the run has none yet or not finite."""
    summaries: dict[str, Summary | None]
    """Run name -> its whole series, or None where it has no record of the tag."""


def compare(paths: Mapping[str, Path], tag: str, points: int = 20) -> Comparison:
    """Align the series of several runs on environment steps.

    The axis is `points` evenly spaced steps that end at the largest step which every run with
    this tag has reached, so that no run is judged on training that another has not had. Each
    value is the run's newest at or before that step. Runs without the tag do not move the axis.
    """
    series = {
        name: sorted(iterate(path, tags=tag), key=lambda record: record.step)
        for name, path in paths.items()
    }
    end = min((records[-1].step for records in series.values() if records), default=0)
    steps = sorted({end * number // points for number in range(1, points + 1)} if end else set())
    return Comparison(
        tag=tag,
        steps=steps,
        values={name: _at_or_before(records, steps) for name, records in series.items()},
        summaries={name: _summary(records) for name, records in series.items()},
    )


def _at_or_before(records: Sequence[Record], steps: Sequence[int]) -> list[float | None]:
    own = [record.step for record in records]
    places = [bisect_right(own, step) for step in steps]
    return [records[place - 1].value if place else None for place in places]


def _summary(records: Sequence[Record]) -> Summary | None:
    if not records:
        return None
    finite = [record.value for record in records if record.value is not None]
    return Summary(
        points=len(records),
        final_step=records[-1].step,
        final=records[-1].value,
        low=min(finite, default=None),
        high=max(finite, default=None),
    )


def damage(path: Path, bad: Sequence[int], end: int) -> Iterator[str]:
    """Tell of the unreadable lines (numbers from 1) of a file whose last line is `end`."""
    cut = bool(bad) and bad[-1] == end
    middle = bad[:-1] if cut else bad
    if middle:
        yield f"{path}: {len(middle)} unreadable line(s) skipped, first at line {middle[0]}"
    if cut:
        yield f"{path}: the last line, {end}, is cut and was skipped"


def chooser(tags: str | Iterable[str] | None) -> Callable[[str], bool]:
    """Return what tells whether a tag is meant by names or patterns; None means every tag."""
    if tags is None:
        return lambda tag: True
    patterns = (tags,) if isinstance(tags, str) else tuple(tags)
    return cache(
        lambda tag: tag in patterns or any(fnmatchcase(tag, pattern) for pattern in patterns)
    )


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    # A hole of zero bytes left by a power cut may hold no newline for gigabytes.
    return iter(lambda: stream.readline(MEBIBYTE), b"")


def _bounds(stream: BinaryIO) -> list[tuple[int, int]]:
    """Return (line, greatest step that stands above that line), last resume first; rewind."""
    bounds: list[tuple[int, int]] = []
    for number, line in enumerate(_lines(stream), start=1):
        if RESUMED.encode() in line:
            record = parse(line)
            if record is not None and record.tag == RESUMED:
                bounds.append((number, record.step))
    bounds.reverse()
    for place in range(1, len(bounds)):
        number, step = bounds[place]
        bounds[place] = (number, min(step, bounds[place - 1][1]))
    stream.seek(0)
    return bounds


def _newest(path: Path, budget: int) -> Iterator[Record]:
    """Yield the records that stand, from the end of the file."""
    limit: int | None = None
    for line in _lines_from_end(path, budget):
        record = parse(line)
        if record is None or (limit is not None and record.step > limit):
            continue
        if record.tag == RESUMED:
            limit = record.step
        yield record


def _lines_from_end(path: Path, budget: int) -> Iterator[bytes]:
    with suppress(FileNotFoundError), path.open("rb") as stream:
        position = stream.seek(0, os.SEEK_END)
        floor = max(0, position - budget)
        begun = b""
        while position > floor:
            size = min(BLOCK, position - floor)
            position = stream.seek(position - size)
            begun, *lines = (stream.read(size) + begun).split(b"\n")
            yield from reversed(lines)
        if position == 0:
            yield begun


def parse(line: bytes) -> Record | None:
    """Read a line; None for anything that is not a record."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    match data:
        case {
            "tag": str() as tag,
            "step": int() as step,
            "wall_time": int() | float() | None as wall_time,
            "value": int() | float() | None as value,
        }:
            when = None if wall_time is None else float(wall_time)
            if value is not None:
                return Record(tag, step, when, float(value))
            word = str(data.get("nonfinite"))
            return Record(tag, step, when, None, word if word in NONFINITE else None)
    return None
