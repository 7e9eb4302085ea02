"""The newest points of some metrics, without reading a long file from its beginning."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from srb_train.runs import layout, metrics
from srb_train.runs.store import RunStore


def trends(
    name: str, logdir: Path | None = None, *, tags: Sequence[str], last_n: int
) -> dict[str, Any]:
    """Return the newest `last_n` points of each metric that a name or pattern means.

    Returns `metrics` (tag -> points, oldest first), `missing` (names that mean no metric) and
    `available` (every metric that was written of late).
    """
    run = RunStore(logdir or layout.default_root()).find(name)
    available = list(metrics.last_values(run.metrics_path))
    meant = {one: [tag for tag in available if tag == one or fnmatchcase(tag, one)] for one in tags}
    wanted = sorted({tag for found in meant.values() for tag in found})
    newest = metrics.newest(run.metrics_path, wanted, last_n)
    return {
        "path": str(run.path),
        "metrics": {tag: [_point(record) for record in newest[tag]] for tag in wanted},
        "missing": [one for one, found in meant.items() if not found],
        "available": available,
    }


def _point(record: metrics.Record) -> dict[str, Any]:
    shown: dict[str, Any] = {"step": record.step, "value": record.value}
    return shown if record.nonfinite is None else {**shown, "nonfinite": record.nonfinite}
