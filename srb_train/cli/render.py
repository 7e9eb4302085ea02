"""From plain data to what a terminal shows: JSON, aligned columns and short sentences."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer

from srb_train import redact
from srb_train.cli import wording

Row = Mapping[str, Any]

MOST_ERROR_LINES = 15
_LINE_CHARACTERS = 1000


def show(text: str, data: Any = None, as_json: bool = False) -> int:
    """Print a text, or in its place the data as JSON; returns the exit code 0."""
    shown = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) if as_json else text
    typer.echo(shown)
    return 0


def failure(category: str, message: str) -> None:
    """Say on stderr what went wrong, without secrets, in a few lines."""
    lines = f"error [{category}] {redact.text(message, redact.known(os.environ))}".splitlines()
    if len(lines) > MOST_ERROR_LINES:
        left_out = len(lines) - MOST_ERROR_LINES + 1
        lines = [*lines[: MOST_ERROR_LINES - 1], f"... and {left_out} more lines"]
    typer.echo("\n".join(line[:_LINE_CHARACTERS] for line in lines), err=True)


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows under a head, aligned, without trailing blanks."""
    table = [[word.upper() for word in head], *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
    return "\n".join(lines)


def pairs(facts: Mapping[str, str | None]) -> str:
    """Return named facts under each other; those that are None are left out."""
    said = {name: value for name, value in facts.items() if value is not None}
    width = max(map(len, said), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in said.items())


def plan(lines: Sequence[str]) -> str:
    """Return what would happen; it holds words as they were typed, so secrets go."""
    return "\n".join(map(redact.text, lines))


def catalog(found: Mapping[str, Sequence[Row]]) -> str:
    """Return labels and tasks, and the commands that install what is missing."""
    parts = []
    if "algos" in found:
        rows = [_label(row) for row in found["algos"]]
        head = ("label", "actions", "observations", "resume", "devices", "also", "is")
        parts.append(columns(head, rows))
    if "envs" in found:
        rows = [
            [row["task"], row["backend"], "yes" if row["installed"] else "no", row["title"]]
            for row in found["envs"]
        ]
        parts.append(columns(("task", "backend", "installed", "is"), rows))
    every = [row for rows in found.values() for row in rows if not row["installed"]]
    ways = {row["install"]: row.get("family") or row["backend"] for row in every}
    parts += [f"{name} is not installed: {install}" for install, name in ways.items()]
    return "\n\n".join(parts)


def _label(row: Row) -> list[str]:
    can = ("recurrent", "privileged", "demonstrations", "onnx", "distributed")
    also = [name for name in can if row[name]]
    title = row["title"] if row["installed"] else f"{row['title']} (not installed)"
    note = f" ({row['resume_note']})" if row["resume_note"] else ""
    return [
        row["label"],
        ", ".join(row["actions"]),
        ", ".join(row["observations"]),
        row["resume"],
        ", ".join(row["devices"]),
        ", ".join(also) or "-",
        f"{title}{note}",
    ]


def findings(found: Mapping[str, Any]) -> str:
    """Return what the doctor saw, each trouble with its way out."""
    lines = []
    width = max(len(row["name"]) for row in found["findings"])
    for row in found["findings"]:
        lines.append(f"{row['state']:<4}  {row['name']:<{width}}  {row['value']}")
        if row["advice"]:
            lines.append(f"{'':<{width + 6}}  -> {row['advice']}")
    return "\n".join(lines)


def runs(found: Mapping[str, Any]) -> str:
    """Return one line a run."""
    rows = [
        [
            row["run"],
            row["status"],
            f"{row['step']:,}/{wording.count(row['budget'])}",
            wording.number(row["return"]),
            _share(row["success"]),
        ]
        for row in found["runs"]
    ]
    if not rows:
        return _and_warnings(f"no runs in {found['logdir']}", found)
    return _and_warnings(columns(("run", "status", "step", "return", "success"), rows), found)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _and_warnings(text: str, found: Mapping[str, Any]) -> str:
    return "\n".join([text, *(f"warning: {warning}" for warning in found["warnings"])])


def run(found: Row) -> str:
    """Return everything about a run."""
    failed = found["failure"]
    facts = {
        "run": found["run"],
        "folder": found["path"],
        "what": f"{found['algorithm']} on {found['task']}, {found['num_envs']} copies, "
        f"seed {found['seed']}, {found['device']}",
        "status": _status(found),
        "failure": f"[{failed['category']}] {failed['message']}" if failed else None,
        "step": _step(found),
        "time": _time(found),
        "speed": wording.rate(found["rate"]) if found["rate"] is not None else None,
        "return": _return(found),
        "success": _share(found["success"]) if found["success"] is not None else None,
        "checkpoint": _newest(found),
        "best": _best(found["checkpoints"]),
        "after": found["after"]["run"] if found["after"] else None,
        "segments": _segments(found["segments"]),
        "settings": " ".join(found["overrides"]) or None,
        "commit": _commit(found),
        "evaluate": found["commands"]["evaluate"],
        "go on": found["commands"]["continue"],
    }
    return _and_warnings(pairs(facts), found)


def _status(found: Row) -> str:
    plain = found["status"] in ("completed", "failed")
    return found["status"] if plain else f"{found['status']} ({found['reason']})"


def _step(found: Row) -> str:
    budget = found["budget"]
    if not budget:
        return wording.count(found["step"])
    return f"{found['step']:,} of {budget:,} ({found['step'] / budget:.0%})"


def _time(found: Row) -> str:
    said = f"{wording.duration(found['elapsed_seconds'])}, begun {found['started_at']}"
    if found["ended_at"]:
        return f"{said}, ended {found['ended_at']}"
    left = found["eta_seconds"]
    return said if left is None else f"{said}, {wording.duration(left)} to go"


def _newest(found: Row) -> str:
    if not found["checkpoints"]:
        return "none"
    newest = found["checkpoints"][-1]
    return f"step {newest['step']:,} ({newest['grade']}) {newest['path']}"


def _return(found: Row) -> str | None:
    """Return the newest mean return and the way it came."""
    if found["return"] is None:
        return None
    values = [one["value"] for one in found["return_trend"] if one["value"] is not None]
    bars = wording.bars(values, len(values), ascii_only=not _draws_bars())
    return f"{wording.number(found['return'])}  {bars}".rstrip()


def _best(found: Sequence[Row]) -> str | None:
    best = next((row for row in found if row["best"]), None)
    if best is None or len(found) < 2:
        return None
    return f"step {best['step']:,} (score {wording.number(best['score'])}) of {len(found)} kept"


def _segments(segments: Sequence[Row]) -> str | None:
    if len(segments) < 2:
        return None
    ends = (f"{part['from_step']:,}-{wording.count(part['to_step'])}" for part in segments)
    return ", ".join(ends)


def _commit(found: Row) -> str | None:
    if found["srb_commit"] is None:
        return None
    return f"{found['srb_commit']}{' with changes' if found['srb_dirty'] else ''}"


def ending(found: Row) -> None:
    """Print how a training ended and what to do next; a failure goes to stderr."""
    newest = found["checkpoints"][-1] if found["checkpoints"] else None
    facts = {
        found["status"]: f"{found['algorithm']} on {found['task']}, step {_step(found)} in "
        f"{wording.duration(found['elapsed_seconds'])}",
        "run": found["path"],
        "return": wording.number(found["return"]),
        "success": _share(found["success"]) if found["success"] is not None else None,
        "checkpoint": f"step {newest['step']:,}" if newest else "none",
        "evaluate": found["commands"]["evaluate"],
        "go on": found["commands"]["continue"],
    }
    show(pairs(facts))
    if found["failure"]:
        sys.stdout.flush()
        failure(found["failure"]["category"], found["failure"]["message"])


def overview(found: Mapping[str, Any]) -> str:
    """Return one line a metric: how many points, the last one, and its history as bars."""
    rows = []
    for tag, points in found["metrics"].items():
        finite = [point["value"] for point in points if point["value"] is not None]
        last = points[-1]
        rows.append(
            [
                tag,
                f"{len(points):,}",
                f"{last['step']:,}",
                _point(last),
                wording.bars(finite, 24, ascii_only=not _draws_bars()),
            ]
        )
    if not rows:
        return _and_warnings(f"{found['path']} has no metrics yet", found)
    return _and_warnings(columns(("metric", "points", "step", "last", "history"), rows), found)


def _draws_bars() -> bool:
    return (sys.stdout.encoding or "").lower().startswith("utf")


def _point(point: Row) -> str:
    return str(point.get("nonfinite") or wording.number(point["value"]))


def series(found: Mapping[str, Any]) -> str:
    """Return every point of the chosen metrics."""
    rows = [
        [tag, str(point["step"]), _point(point)]
        for tag, points in found["metrics"].items()
        for point in points
    ]
    return _and_warnings(columns(("metric", "step", "value"), rows), found)


def comparison(found: Mapping[str, Any]) -> str:
    """Return a column a run at equal steps, and the settings that differ."""
    names = list(found["runs"])
    short = [f"run {number}" for number in range(1, len(names) + 1)]
    parts = ["\n".join(f"{number}  {name}" for number, name in zip(short, names, strict=True))]
    rows = [
        [f"{step:,}", *(wording.number(found["values"][name][place]) for name in names)]
        for place, step in enumerate(found["steps"])
    ]
    parts.append(columns((f"step ({found['tag']})", *short), rows))
    if found["differences"]:
        rows = [
            [key, *(str(values[name]) for name in names)]
            for key, values in found["differences"].items()
        ]
        parts.append(columns(("setting", *short), rows))
    return "\n\n".join(parts)


def checkpoints(found: Mapping[str, Any]) -> str:
    """Return one line a checkpoint."""
    rows = [
        [
            f"{row['step']:,}",
            wording.number(row["score"]),
            str(row["grade"]),
            wording.size(row["bytes"]),
            " ".join(word for word in ("latest", "best") if row[word]),
            row["path"],
        ]
        for row in found["checkpoints"]
    ]
    if not rows:
        return _and_warnings(f"{found['path']} has no complete checkpoint", found)
    return _and_warnings(columns(("step", "score", "resume", "size", "", "folder"), rows), found)


def evaluation(found: Row) -> str:
    """Return how a policy did: means, spreads, and the intervals that the means lie in."""
    checkpoint = found.get("checkpoint")
    facts = {
        "policy": f"{found['algo']}, {checkpoint}" if checkpoint else found["algo"],
        "task": f"{found['env']}, {found['num_envs']} copies, seed {found['seed']}",
        "episodes": _episodes(found),
        "return": _returns(found) if found["episodes_completed"] else None,
        "length": f"{_mean(found, 'length')} steps" if found["episodes_completed"] else None,
        "success": _successes(found),
        "result": found["path"],
        "video": found.get("video"),
    }
    return pairs(facts)


def _episodes(found: Row) -> str:
    said = f"{found['episodes_completed']:,} of {found['episodes_requested']:,}"
    return said if found["complete"] else f"{said} (ended by {found['stop_reason']})"


def _returns(found: Row) -> str:
    low, high = wording.number(found["min_return"]), wording.number(found["max_return"])
    return f"{_mean(found, 'return')}, from {low} to {high}{_within(found['return_interval'])}"


def _mean(found: Row, name: str) -> str:
    mean, spread = found[f"mean_{name}"], found[f"std_{name}"]
    return f"{wording.number(mean)} (std {wording.number(spread)})"


def _within(interval: Sequence[float] | None) -> str:
    if interval is None:
        return ""
    low, high = map(wording.number, interval)
    return f"; mean within {low} to {high} (95%)"


def _successes(found: Row) -> str | None:
    if found["success_rate"] is None:
        return None
    low, high = found["success_interval"]
    tried = found["successes"] + found["failures"]
    return (
        f"{found['success_rate']:.1%} ({found['successes']:,} of {tried:,}); "
        f"within {low:.1%} to {high:.1%} (95%)"
    )
