"""Curves of several runs on one axis of environment steps, for whoever draws them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from srb_train.errors import UsageError
from srb_train.operations.runs import row_of
from srb_train.runs import files, layout, metrics, series
from srb_train.runs.series import Point
from srb_train.runs.store import RunStore

CANONICAL = (metrics.RETURN, metrics.SUCCESS, metrics.LENGTH)
"""Metrics that every family writes; tasks without success have no success rate."""
CURVE_POINTS = 240


def curves(
    names: Sequence[str],
    logdir: Path | None = None,
    *,
    tags: Sequence[str] = CANONICAL,
    points: int = CURVE_POINTS,
) -> dict[str, Any]:
    """Resample some metrics of several runs on common grids of environment steps.

    Returns `runs` (run -> row of `list_runs`) and `metrics`: tag -> `{steps, values, missing}`. The
    steps go evenly from 0 to the last step of the longest run; a value is the run's newest at or
    before that step, null before its first and beyond its last. A metric that no run has is left
    out, a run that lacks one is named in `missing`.
    """
    if points < 2:
        raise UsageError(f"points={points}: a curve has at least 2")
    store = RunStore(logdir or layout.default_root())
    runs = {run.record()["run_id"]: run for run in map(store.find, names)}
    read = {name: series.read(run.metrics_path, tags=tags)[0] for name, run in runs.items()}
    return {
        "runs": {name: row_of(run, run.record()) for name, run in runs.items()},
        "metrics": {
            tag: _aligned({name: found.get(tag, []) for name, found in read.items()}, points)
            for tag in dict.fromkeys(tags)
            if any(tag in found for found in read.values())
        },
    }


def _aligned(found: Mapping[str, list[Point]], points: int) -> dict[str, Any]:
    """Put series on a grid of at most `points` different steps."""
    ordered = {name: sorted(each, key=_step) for name, each in found.items()}
    end = max(each[-1]["step"] for each in ordered.values() if each)
    steps = sorted({end * number // (points - 1) for number in range(points)})
    return {
        "steps": steps,
        "values": {name: _resampled(each, steps) for name, each in ordered.items()},
        "missing": [name for name, each in ordered.items() if not each],
    }


def _step(point: Point) -> int:
    return int(point["step"])


def _resampled(ordered: Sequence[Point], steps: Sequence[int]) -> list[float | None]:
    own = [point["step"] for point in ordered]
    places = [bisect_right(own, step) for step in steps]
    # Beyond its last point a run has one more value: where it ended, on the grid.
    beyond = next((place for place, step in enumerate(steps) if own and step >= own[-1]), -1)
    return [
        ordered[place - 1]["value"] if place and (place < len(own) or number <= beyond) else None
        for number, place in enumerate(places)
    ]


def save(path: Path, data: bytes) -> Path:
    """Write a picture or a page whole; returns its absolute path."""
    place = path.absolute()
    if not place.parent.is_dir():
        raise UsageError(f"{place.parent} is no folder to write {place.name} into")
    files.write_bytes(place, data)
    return place
