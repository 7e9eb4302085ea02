"""Presets that learn: every label reaches a stated return within a stated budget, three seeds.

Settings beside the task and the budget are those of the presets. Runs go two at a time on two
cores, one thread each, so the seconds are those of a busy machine.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from benchmarks.run_label import Case
from srb_train import registry

SEEDS = range(3)
BALANCE = Case("cartpole", ("run.steps=300000",), goal=400.0)
BALANCE_DISCRETE = Case("cartpole", ("env.discrete=true", "run.steps=100000"), goal=400.0)
SWING = Case("gymnasium/Pendulum-v1", ("run.steps=20000",), goal=-250.0)
CASES: Mapping[str, Case] = {}
"""Labels whose case is not the usual one of their kind."""


def case_of(algo: str) -> Case:
    """Return the case of a label: the usual one of its kind unless it has its own."""
    _, label, _ = registry.family_of(algo)
    if algo in CASES:
        return CASES[algo]
    if "continuous" not in label.actions:
        return BALANCE_DISCRETE
    return BALANCE if label.on_policy else SWING


def measure(names: tuple[str, ...] = ()) -> dict[str, object]:
    """Train every installed label, or the named ones, over all seeds."""
    labels = names or tuple(
        name for name, (family, _) in registry.labels().items() if not registry.missing(family)
    )
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        work = {
            algo: [pool.submit(case_of(algo).run, algo, seed) for seed in SEEDS] for algo in labels
        }
        return {"cases": {algo: _row(algo, runs) for algo, runs in work.items()}}


def _row(algo: str, runs: list) -> dict[str, object]:
    case = case_of(algo)
    rows = [run.result() for run in runs]
    print(algo, *(f"{row['mean_return']:.0f}" for row in rows), flush=True)
    return {"env": case.env, "settings": list(case.settings), "goal": case.goal, "runs": rows}
