"""benchmarks/README.md: every figure with its machine, date and command, made from the results."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGES = {
    "labels": """# What every label learns
Made from benchmarks/results/labels.json by `python -m benchmarks labels`; do not edit. Each figure
is the mean return of 200 fresh episodes after one run with the shipped presets; two runs at a time.
""",
    "tasks": """# Who solves the embedded tasks
Made from benchmarks/results/tasks.json by `python -m benchmarks tasks`; do not edit. Each line is
one run with the shipped presets and 200 fresh episodes after it; one run at a time.
""",
}
"""Results that have a page of their own, and how it begins."""
HEAD = """# What every label learns
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
        lines = [machine(result), "", *table(path.stem, result)]
        if path.stem in PAGES:
            page = target.with_name(f"{path.stem}.md")
            page.write_text("\n".join([PAGES[path.stem], *lines]) + "\n", encoding="utf-8")
        else:
            parts += [f"\n## {path.stem}", *lines]
    target.write_text("\n".join(parts) + "\n", encoding="utf-8")


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
    tables = {
        "startup": _startup,
        "overhead": _overhead,
        "bridges": _bridges,
        "environments": _environments,
        "records": _records,
        "backends": _backends,
        "tasks": _tasks,
        "labels": _labels,
    }
    return tables.get(name, _figures)(result)


def _startup(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| command | seconds |\n|---|---|"
    for command, seconds in result["light_seconds"].items():
        yield f"| `{command}` | {seconds:.2f} |"
    yield f"| importing the framework alone | {result['framework_import_seconds']:.2f} |"
    yield f"| Enter to first environment step | {result['first_step_seconds']:.2f} |"
    yield f"\nFirst step ÷ import of the framework: {result['first_step_ratio']:.2f}"


def _overhead(result: Mapping[str, Any]) -> Iterator[str]:
    head = ("case", "date", "steps", "who", "wall, s", "`srb` ÷ it, wall", "`srb` ÷ it, CPU")
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for name, case in result["cases"].items():
        day = result["dates"][name]
        for who in case["rounds"][0]:
            walls = ", ".join(f"{row[who][0]:.1f}" for row in case["rounds"])
            ratios = [f"{case[kind].get(who, 1.0):.3f}" for kind in ("wall_ratio", "cpu_ratio")]
            yield f"| {name} | {day} | {case['steps']:,} | {who} | {walls} | {' | '.join(ratios)} |"
    yield "\nEach time is one run, in the order they were taken; ratios are of medians."
    yield "`direct` is a script with the framework's own Adam; `fused` has the command's fused one."
    yield "The script of sbx compiles anew in every run, some 9 s; the command keeps that on disk."


def _bridges(result: Mapping[str, Any]) -> Iterator[str]:
    costs = result["microseconds"]
    kinds = list(next(iter(costs.values())))
    yield f"Microseconds that a bridge adds to a step of {result['copies']} copies.\n"
    yield f"| family | {' | '.join(kinds)} |\n|{'---|' * (len(kinds) + 1)}"
    for family, each in costs.items():
        yield f"| {family} | {' | '.join(f'{each[kind]:.1f}' for kind in kinds)} |"


def _environments(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| task, one core | copies | environment steps a second |\n|---|---|---|"
    for task, rates in result.items():
        if isinstance(rates, float):
            yield f"| {task} | | {rates:,.0f} |"
        elif task not in ("machine", "command"):
            for copies, rate in rates.items():
                yield f"| {task} | {copies} | {rate:,.0f} |"


def _backends(result: Mapping[str, Any]) -> Iterator[str]:
    yield "Steps a processor second, beside the simulator stepped directly.\n"
    yield "| task | copies | directly | by us | what we add |\n|---|---|---|---|---|"
    for name, case in result["cases"].items():
        rates = f"{case['bare']:,.0f} | {case['ours']:,.0f}"
        yield f"| {name} | {case['copies']} | {rates} | {case['cost']:.1%} |"


def _figures(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield every number of a result under its dotted name."""
    yield "| what | figure |\n|---|---|"
    for name, value in _leaves(
        {k: v for k, v in result.items() if k not in ("machine", "command")}
    ):
        yield f"| {name.replace('_', ' ')} | {value:,.4g} |"


def _leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{name}: ")
        else:
            yield f"{above}{name}", value


def _records(result: Mapping[str, Any]) -> Iterator[str]:
    yield "| what | figure |\n|---|---|"
    yield f"| metrics written a second, 20 a batch | {result['metrics_a_second']:,.0f} |"
    listing = result["list"]
    yield f"| `srb run list` over {listing['runs']:,} runs, s | {listing['median_seconds']:.2f} |"


def _tasks(result: Mapping[str, Any]) -> Iterator[str]:
    head = ("case", "date", "seed", "steps", "train s", "success", "return")
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for name, rows in result["cases"].items():
        for row in rows:
            cells = (
                name,
                result["dates"][name],
                str(row["seed"]),
                f"{row['step']:,}",
                f"{row['wall_seconds']:.0f}",
                "" if row["success_rate"] is None else f"{row['success_rate']:.3f}",
                f"{row['mean_return']:.1f} ± {row['std_return']:.1f}",
            )
            yield f"| {' | '.join(cells)} |"


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
