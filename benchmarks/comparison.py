"""All labels side by side on `landing`: `python -m benchmarks.comparison LOGDIR`.

Trains what is missing below LOGDIR by ordinary commands, five seeds of every installed label, then
draws return against steps and against seconds from the runs' own metrics, and writes
docs/comparison.md. Labels with the same kind of data need share a picture.
"""

import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib import pyplot

from benchmarks import clock
from benchmarks.__main__ import machine
from benchmarks.report import machine_line
from benchmarks.run_label import SRB
from srb_train import registry
from srb_train.runs import metrics
from srb_train.runs.store import Run, RunStore

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "comparison.md"
SEEDS = range(5)
KINDS: Mapping[str, tuple[str, ...]] = {
    "on-policy": ("run.steps=600000", "env.num_envs=512"),
    "off-policy": ("run.steps=20000", "env.num_envs=16"),
}
"""What is typed for every label of a kind."""
LEFT_OUT = {
    "skrl_amp": "needs reference motions",
    "rsl_rl_distillation": "learns from a teacher, not from reward",
}
POINTS = 60


@dataclass(frozen=True)
class Curve:
    """One run: steps, seconds since training began, and the mean return there."""

    steps: list[int]
    seconds: list[float]
    returns: list[float]
    success: float | None


def kind_of(algo: str) -> str:
    """Return which labels a label is compared with."""
    return "on-policy" if registry.family_of(algo)[1].on_policy else "off-policy"


def compared() -> list[str]:
    """Return the installed labels that can train on landing by themselves."""
    return [
        name
        for name, (family, label) in registry.labels().items()
        if "continuous" in label.actions
        and not registry.missing(family)
        and name not in LEFT_OUT
        and family.name != "toy"
    ]


def train(logs: Path, labels: Sequence[str]) -> None:
    """Train every label and seed that has no completed run yet, as many at once as cores."""
    done = {(algo, seed) for algo, runs in completed(logs).items() for seed in runs}
    missing = [(algo, seed) for algo in labels for seed in SEEDS if (algo, seed) not in done]

    def one(algo: str, seed: int) -> None:
        place = ["--algo", algo, "--env", "landing", "--logdir", str(logs), "--hide_ui"]
        clock.wall([*SRB, "train", *place, *KINDS[kind_of(algo)], f"run.seed={seed}"])
        print(algo, seed, flush=True)

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for each in [pool.submit(one, *case) for case in missing]:
            each.result()


def completed(logs: Path) -> dict[str, dict[int, Run]]:
    """Return the completed runs by label and seed."""
    found: dict[str, dict[int, Run]] = {}
    for run in RunStore(logs).all():
        record = run.record()
        if record["status"] == "completed" and record["task"] == "landing":
            found.setdefault(record["algorithm"], {})[record["seed"]] = run
    return found


def curve(run: Run) -> Curve:
    """Read a run's returns over steps and seconds."""
    found = metrics.read(run.metrics_path)
    series = found.series(metrics.RETURN)
    began = min(one.wall_time for tag in found.tags for one in found.series(tag))
    success = found.series(metrics.SUCCESS)
    return Curve(
        steps=[one.step for one in series],
        seconds=[one.wall_time - began for one in series],
        returns=[one.value for one in series],
        success=success[-1].value if success else None,
    )


def draw(kind: str, curves: Mapping[str, Sequence[Curve]], path: Path) -> None:
    """Draw the median over seeds, and their range, against steps and against seconds."""
    matplotlib.use("Agg")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5.5), sharey=True)
    colours = pyplot.get_cmap("tab20")
    for number, (algo, runs) in enumerate(sorted(curves.items())):
        for axis, part in ((left, "steps"), (right, "seconds")):
            ends = [getattr(run, part)[-1] for run in runs]
            grid = [min(ends) * (point + 1) / POINTS for point in range(POINTS)]
            rows = [[at(getattr(run, part), run.returns, x) for run in runs] for x in grid]
            colour = colours(number % 20)
            middle = [statistics.median(row) for row in rows]
            axis.plot(grid, middle, color=colour, label=algo, linewidth=1.5)
            axis.fill_between(
                grid, [min(r) for r in rows], [max(r) for r in rows], color=colour, alpha=0.08
            )
    left.set_xlabel("environment transitions")
    right.set_xlabel("seconds since training began")
    left.set_ylabel("mean return of ended episodes")
    left.set_title(f"landing, {kind} labels: median and range of {len(SEEDS)} seeds", loc="left")
    right.legend(fontsize=7, ncols=2)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def at(axis: Sequence[float], values: Sequence[float], place: float) -> float:
    """Return the newest value at or before a place, the first one before it begins."""
    known = [value for x, value in zip(axis, values, strict=True) if x <= place]
    return known[-1] if known else values[0]


def page(curves: Mapping[str, Mapping[str, Sequence[Curve]]]) -> Iterator[str]:
    """Yield the lines of the document."""
    yield "# All labels on `landing`"
    yield ""
    yield "Drawn by `python -m benchmarks.comparison LOGDIR` from ordinary runs with the shipped"
    yield f"presets, two at a time: {machine_line(machine())}."
    for name, reason in LEFT_OUT.items():
        yield f"`{name}` is left out: it {reason}."
    for kind, runs in curves.items():
        yield f"\n## {kind.capitalize()} labels"
        yield f"`{' '.join(KINDS[kind])}`, seeds {SEEDS.start} to {SEEDS.stop - 1}.\n"
        yield f"![Returns of {kind} labels](images/comparison-{kind}.png)\n"
        yield "| label | last return, each seed | success, median | seconds, median |"
        yield "|---|---|---|---|"
        for algo, seeds in sorted(runs.items(), key=lambda item: -last(item[1])):
            values = ", ".join(f"{run.returns[-1]:.1f}" for run in seeds)
            landed = [run.success for run in seeds if run.success is not None]
            share = f"{statistics.median(landed):.2f}" if landed else "–"
            seconds = statistics.median(run.seconds[-1] for run in seeds)
            yield f"| `{algo}` | {values} | {share} | {seconds:.0f} |"


def last(runs: Sequence[Curve]) -> float:
    """Return the median over seeds of the last mean return."""
    return statistics.median(run.returns[-1] for run in runs)


def main(logs: Path) -> None:
    """Train, draw and write."""
    labels = compared()
    train(logs, labels)
    found = completed(logs)
    curves: dict[str, dict[str, list[Curve]]] = {kind: {} for kind in KINDS}
    for algo in labels:
        curves[kind_of(algo)][algo] = [curve(found[algo][seed]) for seed in SEEDS]
    for kind, runs in curves.items():
        draw(kind, runs, ROOT / "docs" / "images" / f"comparison-{kind}.png")
    PAGE.write_text("\n".join(page(curves)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
