"""What some labels cannot train without: reference motions, a teacher; made once and kept."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from srb_train import registry
from tests.families.bench import Bench
from tests.families.sizes import COPIES, shrink

CARTPOLE = "cartpole"
ROWS = 64
TEACHER = "rsl_rl_ppo"


def needs(algo: str, env: str = CARTPOLE) -> tuple[str, ...]:
    """Return the overrides that give a label what it needs on a task with continuous actions."""
    if algo == "skrl_amp":
        return (f"agent.motions={_motions(env)}",)
    if algo == "rsl_rl_distillation":
        return (f"agent.teacher={_teacher(env)}",)
    return ()


@cache
def _room() -> Path:
    room = Path(tempfile.mkdtemp(prefix="needs-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    return room


@cache
def _motions(env: str) -> Path:
    """Record what random actions do, as if it were worth imitating."""
    task = registry.make_env(env, 1, {})
    seen = [task.reset(0)]
    followed = []
    while len(followed) < ROWS:
        step = task.step(task.action_space.sample()[None])
        followed.append(step.obs if step.final_obs is None else step.final_obs)
        seen.append(step.obs)
    path = _room() / f"{abs(hash(env))}.npz"
    np.savez(
        path,
        observations=np.concatenate(seen[:ROWS]),
        next_observations=np.concatenate(followed),
    )
    return path


@cache
def _teacher(env: str) -> Path:
    """Train a teacher for a few updates."""
    words = (f"env.num_envs={COPIES}", "run.seed=1", "run.steps=128", *shrink(TEACHER))
    return Bench(_room() / "logs", TEACHER, env, words).train().path
