"""How well the shipped presets solve the embedded tasks: 200 fresh episodes after each run.

Runs go one after the other, so the seconds are those of one run alone.
"""

from collections.abc import Mapping

from benchmarks.run_label import Case
from srb_train import registry

SEEDS: Mapping[str, range] = {"sb3_ppo on landing": range(5)}
"""Seeds of the cases that are not run with three."""
USUAL_SEEDS = range(3)
SOLVED = 0.9
"""Share of episodes that must succeed."""
LEARNERS = ("sb3_ppo", "sbx_ppo", "sbx_crossq")
"""Labels that are tried on each task: two families, with and without a replay buffer."""


def measure(only: tuple[str, ...] = ()) -> dict[str, object]:
    """Train the learners on every embedded task, or on the named tasks, labels or cases."""
    tasks = [name for plate in registry.backends().values() for name in plate.names]
    cases = [(algo, task) for task in tasks for algo in LEARNERS if wanted(algo, task, only)]
    return {"cases": {f"{algo} on {task}": _rows(algo, task) for algo, task in cases}}


def wanted(algo: str, task: str, only: tuple[str, ...]) -> bool:
    """Tell whether a case was asked for."""
    return not only or bool({algo, task, f"{algo} on {task}"} & set(only))


def _rows(algo: str, task: str) -> list[dict[str, object]]:
    seeds = SEEDS.get(f"{algo} on {task}", USUAL_SEEDS)
    rows = [Case(task).run(algo, seed) for seed in seeds]
    print(algo, task, *(row["success_rate"] for row in rows), flush=True)
    return rows
