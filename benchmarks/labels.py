"""Presets that learn: every label reaches a stated return within a stated budget, three seeds.

Settings beside the task and the budget are those of the presets. Runs go two at a time on two
cores, one thread each, so the seconds are those of a busy machine.
"""

import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import clock
from benchmarks.run_label import SRB, Case
from srb_train import registry
from srb_train.envs.tasks import cartpole, machine

SEEDS = range(3)
BALANCE = Case("cartpole", ("run.steps=300000",), goal=400.0)
BALANCE_DISCRETE = Case("cartpole", ("env.discrete=true", "run.steps=100000"), goal=400.0)
SWING = Case("gymnasium/Pendulum-v1", ("run.steps=12000",), goal=-250.0)
CASES: Mapping[str, Case] = {"skrl_cem": replace(BALANCE_DISCRETE, settings=("env.discrete=true",))}
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
    with (
        tempfile.TemporaryDirectory() as scratch,
        ThreadPoolExecutor(max_workers=os.cpu_count()) as pool,
    ):
        work = {}
        for algo in labels:
            case = with_needs(algo, case_of(algo), Path(scratch))
            work[algo] = [pool.submit(case.run, algo, seed) for seed in SEEDS]
        return {"cases": {algo: _row(algo, runs) for algo, runs in work.items()}}


def with_needs(algo: str, case: Case, scratch: Path) -> Case:
    """Return the case with what the label cannot train without: motions, or a teacher."""
    if algo == "skrl_amp":
        path = scratch / "motions.npz"
        record(path)
        return replace(case, settings=(*case.settings, f"agent.motions={path}"))
    if algo == "rsl_rl_distillation":
        place = ["--algo", "rsl_rl_ppo", "--env", case.env, "--logdir", str(scratch)]
        clock.wall([*SRB, "train", *place, "--hide_ui", "run.steps=100000", "run.seed=0"])
        (teacher,) = (scratch / case.env / "rsl_rl_ppo").glob("2*")
        return replace(case, settings=(*case.settings, f"agent.teacher={teacher}"))
    return case


def record(path: Path, steps: int = 500) -> None:
    """Write what the scripted controller of cartpole does, for a label that imitates."""
    env = machine.make("cartpole", 16, {})
    seen, followed = [env.reset(0)], []
    for _ in range(steps):
        step = env.step(cartpole.scripted(seen[-1]))
        after = step.obs.copy()
        if step.final_obs is not None:
            after[step.terminated | step.truncated] = step.final_obs
        followed.append(after)
        seen.append(step.obs)
    np.savez(
        path, observations=np.concatenate(seen[:-1]), next_observations=np.concatenate(followed)
    )


def _row(algo: str, runs: list) -> dict[str, object]:
    case = case_of(algo)
    rows = [run.result() for run in runs]
    print(algo, *(f"{row['mean_return']:.0f}" for row in rows), flush=True)
    return {"env": case.env, "settings": list(case.settings), "goal": case.goal, "runs": rows}
