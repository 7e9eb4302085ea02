"""benchmarks/README.md: every figure with its machine, date and command, made from the results."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LABELS = "labels"
LABELS_HEAD = """# What every label learns
Made from benchmarks/results/labels.json by `python -m benchmarks labels`; do not edit. Each figure
is the mean return of 200 fresh episodes after one run with the shipped presets; two runs at a time.
"""
HEAD = """# Benchmarks
Made from benchmarks/results/ by `make bench`; do not edit. Times are wall times and medians of
repeated runs; whatever is compared was run in turn on the same machine.
"""


def write(results: Path, target: Path) -> None:
    """Write the report over all results that exist."""
    parts = [HEAD]
    for path in sorted(results.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if path.stem != LABELS:
            parts += [f"\n## {path.stem}", machine(result), "", *table(path.stem, result)]
    target.write_text("\n".join(parts) + "\n", encoding="utf-8")
    labels = results / f"{LABELS}.json"
    if labels.exists():
        result = json.loads(labels.read_text(encoding="utf-8"))
        lines = [LABELS_HEAD, machine(result), "", *_labels(result)]
        target.with_name(f"{LABELS}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def machine(result: Mapping[str, Any]) -> str:
    """Return the line that makes a figure comparable."""
    return f"{machine_line(result['machine'])}; `{result['command']}`"


def machine_line(facts: Mapping[str, Any]) -> str:
    """Return machine, date and versions in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"{facts['date']}, {facts['processor']}, {facts['cores']} cores, "
        f"{facts['memory_gib']} GiB, load {facts['load_before']:.1f} before; "
        f"Python {facts['python']}, {versions}"
    )


def table(name: str, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one result's table."""
    return {
        "startup": _startup,
        "overhead": _overhead,
        "environments": _environments,
        "records": _records,
        "landing": _landing,
    }[name](result)


def _startup(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| command | seconds |\n|---|---|"
    for command, seconds in result["light_seconds"].items():
        yield f"| `{command}` | {seconds:.2f} |"
    yield f"| importing the framework alone | {result['framework_import_seconds']:.2f} |"
    yield f"| Enter to first environment step | {result['first_step_seconds']:.2f} |"
    yield f"\nFirst step ÷ import of the framework: {result['first_step_ratio']:.2f}"


def _overhead(result: Mapping[str, Any]) -> Iterator[str]:
    head = ("case", "steps", "who", "wall, s", "`srb` ÷ it, wall", "`srb` ÷ it, CPU")
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for name, case in result["cases"].items():
        for who in case["rounds"][0]:
            walls = ", ".join(f"{row[who][0]:.1f}" for row in case["rounds"])
            ratios = [f"{case[kind].get(who, 1.0):.3f}" for kind in ("wall_ratio", "cpu_ratio")]
            yield f"| {name} | {case['steps']:,} | {who} | {walls} | {' | '.join(ratios)} |"
    yield "\nEach time is one run, in the order they were taken; ratios are of medians."
    yield "`direct` is a script with SB3's own Adam; the second one has the command's fused one."


def _environments(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| task, one core | copies | environment steps a second |\n|---|---|---|"
    for task, rates in result.items():
        if isinstance(rates, float):
            yield f"| {task} | | {rates:,.0f} |"
        elif task not in ("machine", "command"):
            for copies, rate in rates.items():
                yield f"| {task} | {copies} | {rate:,.0f} |"


def _records(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| what | figure |\n|---|---|"
    yield f"| metrics written a second, 20 a batch | {result['metrics_a_second']:,.0f} |"
    listing = result["list"]
    yield f"| `srb run list` over {listing['runs']:,} runs, s | {listing['median_seconds']:.2f} |"


def _landing(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| case | seed | steps | train s | success | return |\n|---|---|---|---|---|---|"
    for name, rows in result["cases"].items():
        for row in rows:
            success = "" if row["success_rate"] is None else f"{row['success_rate']:.3f}"
            yield (
                f"| {name} | {row['seed']} | {row['step']:,} | {row['wall_seconds']:.0f} "
                f"| {success} | {row['mean_return']:.1f} ± {row['std_return']:.1f} |"
            )


def _labels(result: Mapping[str, Any]) -> Iterator[str]:
    head = ("label", "task", "settings", "goal", "mean return, each seed", "seconds", "reached")
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for algo, case in sorted(result["cases"].items()):
        means = [run["mean_return"] for run in case["runs"]]
        reached = sum(mean >= case["goal"] for mean in means)
        cells = (
            f"`{algo}`",
            case["env"],
            " ".join(f"`{word}`" for word in case["settings"]),
            f"{case['goal']:.0f}",
            ", ".join(f"{mean:.0f}" for mean in means),
            ", ".join(f"{run['wall_seconds']:.0f}" for run in case["runs"]),
            f"{reached} of {len(means)}",
        )
        yield f"| {' | '.join(cells)} |"
