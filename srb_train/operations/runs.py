"""What is known about runs, as plain data for every door: listed, shown, measured, compared.

Every function reads the folders as they are now. What it returns is what JSON can hold; the fields
are described in docs/cli.md and stay the same within a schema version.
"""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from srb_train.errors import UsageError
from srb_train.runs import layout, metrics, series, status
from srb_train.runs.checkpoint import Checkpoint
from srb_train.runs.record import FINAL, Record
from srb_train.runs.store import Run, RunStore

TREND_POINTS = 20
"""How many of the newest mean returns `show_run` tells."""
_SHOWN = (
    "schema_version",
    "implementation",
    "device",
    "num_envs",
    "host",
    "pid",
    "signal",
    "exit_code",
    "failure",
    "overrides",
    "command",
    "after",
    "resumed_from",
    "resume_grade",
    "segments",
    "srb_commit",
    "srb_dirty",
    "gpu",
)
"""Fields of run.json that `show_run` passes on as they are, besides those of a row."""

point = series.point
"""Makes a record of one metric the point that `run_metrics` returns."""


def list_runs(
    logdir: Path | None = None,
    *,
    algo: str | None = None,
    env: str | None = None,
    state: str | None = None,
    last_n: int | None = None,
) -> dict[str, Any]:
    """Return one row a run, newest first, and what had to be passed over."""
    store = _store(logdir)
    label = algo and algo.lower().replace("-", "_")
    rows = []
    for run, record in store.records():
        named = label in (None, record["algorithm"]) and env in (None, record["task"])
        if not named or (record["status"] in FINAL and state not in (None, record["status"])):
            continue
        row = row_of(run, record)
        if state in (None, row["status"]):
            rows.append(row)
        if len(rows) == last_n:
            break
    return {"logdir": str(store.root), "runs": rows, "warnings": store.warnings}


def show_run(name: str, logdir: Path | None = None) -> dict[str, Any]:
    """Return everything a stranger needs to know about a run."""
    return describe(_store(logdir).find(name))


def describe(run: Run) -> dict[str, Any]:
    """Return what `show_run` does, of a run at hand."""
    record = run.record()
    row = row_of(run, record)
    found = _checkpoints(run)
    return {
        **row,
        **{field: record[field] for field in _SHOWN},
        "elapsed_seconds": _elapsed(record, time.time() - (row["beat_age"] or 0.0)),
        "eta_seconds": eta(row),
        "metrics": {
            tag: {"step": last.step, "value": last.value}
            for tag, last in metrics.last_values(run.metrics_path).items()
        },
        "return_trend": _trend(run),
        "checkpoints": found["checkpoints"],
        "warnings": found["warnings"],
        "commands": _commands(row, found["checkpoints"]),
    }


def _trend(run: Run) -> list[dict[str, Any]]:
    """Return the newest mean returns, oldest first."""
    newest = metrics.newest(run.metrics_path, [metrics.RETURN], TREND_POINTS)[metrics.RETURN]
    return [{"step": one.step, "value": one.value} for one in newest]


def checkpoints(name: str, logdir: Path | None = None) -> dict[str, Any]:
    """Return the complete checkpoints of a run, oldest first, and what was passed over."""
    run = _store(logdir).find(name)
    return {"run": run.record()["run_id"], "path": str(run.path), **_checkpoints(run)}


def run_metrics(
    name: str,
    logdir: Path | None = None,
    *,
    tags: Sequence[str] = (),
    last_n: int | None = None,
) -> dict[str, Any]:
    """Return the series of a run by their tags; `tags` are names or patterns like `episode/*`."""
    run = _store(logdir).find(name)
    found, warnings = series.read(run.metrics_path, tags=tags or None)
    if tags and not found:
        known = ", ".join(metrics.tags(run.metrics_path)) or "none yet"
        raise UsageError(f"{run.path} has no metric {', '.join(tags)}; it has: {known}")
    kept = {tag: points[-(last_n or 0) :] for tag, points in sorted(found.items())}
    return {"path": str(run.path), "metrics": kept, "warnings": warnings}


def compare_runs(
    names: Sequence[str],
    logdir: Path | None = None,
    *,
    tag: str = metrics.RETURN,
    points: int = 10,
) -> dict[str, Any]:
    """Align one metric of several runs on steps, and tell which settings differ.

    Runs that lack the metric are named in `missing`.
    """
    if len(names) < 2:
        raise UsageError("two or more runs are needed for a comparison; `srb run list` has them")
    store = _store(logdir)
    runs = {run.record()["run_id"]: run for run in map(store.find, names)}
    compared = metrics.compare({name: run.metrics_path for name, run in runs.items()}, tag, points)
    if not compared.steps:
        known = sorted({one for run in runs.values() for one in metrics.tags(run.metrics_path)})
        raise UsageError(f"no run has a metric {tag}; they have: {', '.join(known) or 'none'}")
    rows = {name: row_of(run, run.record()) for name, run in runs.items()}
    missing = [name for name, summary in compared.summaries.items() if summary is None]
    return {
        "runs": rows,
        **asdict(compared),
        "missing": missing,
        "differences": _differences(runs),
    }


def _store(logdir: Path | None) -> RunStore:
    return RunStore(logdir or layout.default_root())


def row_of(run: Run, record: Record) -> dict[str, Any]:
    """Return the fields of a run that a list shows; a run that has ended needs no heartbeat."""
    ended = record["status"] in FINAL
    beat = None if ended else run.heartbeat()
    now = status.derive(record, beat, time.time(), status.this_host())
    own = status.own_beat(record, beat) or {}
    values = {**record["metrics"], **(own.get("values") or {})}
    return {
        "run": record["run_id"],
        "path": str(run.path),
        "status": now.state,
        "reason": now.reason,
        "algorithm": record["algorithm"],
        "task": record["task"],
        "seed": record["seed"],
        "step": now.step,
        "budget": now.budget,
        "phase": now.phase if now.alive else None,
        "rate": now.rate,
        "beat_age": now.beat_age,
        "return": values.get(metrics.RETURN),
        "success": values.get(metrics.SUCCESS),
        "created_at": record["created_at"],
        "started_at": record["started_at"],
        "ended_at": record["ended_at"],
    }


def _checkpoints(run: Run) -> dict[str, Any]:
    """Look at names and sizes only; content is proved when a checkpoint is opened."""
    known = run.checkpoints()
    complete = known.all()
    best = _best(complete)
    rows = [
        {
            "step": found.step,
            "path": str(found.path),
            "score": found.score,
            "grade": found.manifest.get("grade"),
            "bytes": found.size,
            "created_at": found.manifest.get("created_at"),
            "latest": found is complete[-1],
            "best": found is best,
        }
        for found in complete
    ]
    return {"checkpoints": rows, "warnings": list(known.warnings)}


def _best(complete: Sequence[Checkpoint]) -> Checkpoint | None:
    scored = [(found.score, found.step, found) for found in complete if found.score is not None]
    return max(scored, key=lambda one: one[:2])[2] if scored else None


def _elapsed(record: Record, last_seen: float) -> float:
    """Return the seconds of all segments together; one without an end lasts until last seen."""
    spans = (
        (_moment(part["started_at"], last_seen), _moment(part["ended_at"], last_seen))
        for part in record["segments"]
    )
    return sum(max(0.0, end - start) for start, end in spans)


def _moment(text: str | None, unknown: float) -> float:
    return unknown if text is None else datetime.fromisoformat(text).timestamp()


def eta(row: Mapping[str, Any]) -> float | None:
    """Return the seconds to go at the present rate; None when none works."""
    if not row["rate"] or row["budget"] is None:
        return None
    return float(max(0.0, (row["budget"] - row["step"]) / row["rate"]))


def _commands(row: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the lines to paste: how to evaluate the run and how to go on with it."""
    if not found:
        return {"evaluate": None, "continue": None}
    newest = found[-1]
    named = ["--algo", row["algorithm"], "--env", row["task"], "--model", newest["path"]]
    spent = row["budget"] is not None and newest["step"] >= row["budget"]
    more = ["--additional", str(row["budget"])] if spent else []
    return {
        "evaluate": shlex.join(["srb", "agent", "eval", "--model", newest["path"]]),
        "continue": shlex.join(["srb", "agent", "train", *named, *more]),
    }


def _differences(runs: Mapping[str, Run]) -> dict[str, dict[str, Any]]:
    """Return the settings that are not the same in all runs: dotted key -> run -> value."""
    settings = {name: _flat(_settings(run)) for name, run in runs.items()}
    keys = dict.fromkeys(key for values in settings.values() for key in values)
    across = {key: {name: values.get(key) for name, values in settings.items()} for key in keys}
    return {
        key: values
        for key, values in across.items()
        if any(value != next(iter(values.values())) for value in values.values())
    }


def _settings(run: Run) -> dict[str, Any]:
    """Return what a run was asked for under the names that are typed: run.*, env.*, agent.*."""
    asked = run.spec().as_dict()
    agent, env = asked.pop("agent_params"), asked.pop("env_params")
    return {"run": asked, "env": {**env, "num_envs": asked.pop("num_envs")}, "agent": agent}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
