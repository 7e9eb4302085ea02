"""benchmarks/README.md: every figure with its machine, date and command, made from the results."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HEAD = """# Benchmarks
Made from benchmarks/results/ by `make bench`; do not edit. Times are wall times and medians of
repeated runs; whatever is compared was run in turn on the same machine.
"""


def write(results: Path, target: Path) -> None:
    """Write the report over all results that exist."""
    parts = [HEAD]
    for path in sorted(results.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        parts += [f"\n## {path.stem}", machine(result), "", *table(path.stem, result)]
    target.write_text("\n".join(parts) + "\n", encoding="utf-8")


def machine(result: Mapping[str, Any]) -> str:
    """Return the line that makes a figure comparable."""
    facts = result["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"{facts['date']}, {facts['processor']}, {facts['cores']} cores, "
        f"{facts['memory_gib']} GiB, load {facts['load_before']:.1f} before; "
        f"Python {facts['python']}, {versions}; `{result['command']}`"
    )


def table(name: str, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one result's table."""
    return {
        "startup": _startup,
        "overhead": _overhead,
        "environments": _environments,
        "records": _records,
        "labels": _labels,
    }[name](result)


def _startup(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| command | seconds |\n|---|---|"
    for command, seconds in result["light_seconds"].items():
        yield f"| `{command}` | {seconds:.2f} |"
    yield f"| importing the framework alone | {result['framework_import_seconds']:.2f} |"
    yield f"| Enter to first environment step | {result['first_step_seconds']:.2f} |"
    yield f"\nFirst step ÷ import of the framework: {result['first_step_ratio']:.2f}"


def _overhead(result: Mapping[str, Any]) -> Iterator[str]:
    head = ("case", "steps", "`srb agent train`, s", "direct script, s", "wall ratio", "CPU ratio")
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for name, case in result["cases"].items():
        walls = [
            ", ".join(f"{pair[side][0]:.1f}" for pair in case["pairs"])
            for side in ("srb", "direct")
        ]
        cells = (name, f"{case['steps']:,}", *walls)
        yield f"| {' | '.join(cells)} | {case['wall_ratio']:.3f} | {case['cpu_ratio']:.3f} |"
    yield "\nEach figure is one run, in the order they were taken; ratios are medians over pairs."


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


def _labels(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| case | seed | steps | train s | success | return |\n|---|---|---|---|---|---|"
    for name, rows in result["cases"].items():
        for row in rows:
            success = "" if row["success_rate"] is None else f"{row['success_rate']:.3f}"
            yield (
                f"| {name} | {row['seed']} | {row['step']:,} | {row['wall_seconds']:.0f} "
                f"| {success} | {row['mean_return']:.1f} ± {row['std_return']:.1f} |"
            )
