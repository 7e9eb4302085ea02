"""Contact tasks beside `mujoco.rollout` on the same states and controls, in turn: ratios."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

from srb_train.envs.contact import machine

TASKS = ("peg_in_hole", "locomotion")
COPIES = (1, 16, 512)
ROUNDS = 9
SPAN = 0.3
"""Seconds that one side is timed before it is the other's turn."""
SETTLED = 40
"""Steps before timing, so that feet and pegs are in contact as they are in training."""


def measure(threads: int | None = None) -> dict[str, object]:
    """Return environment steps a second of ours and of the rollouts alone, and their ratio."""
    return {
        task: {str(copies): _beside(task, copies, threads) for copies in COPIES} for task in TASKS
    }


def _beside(task: str, copies: int, threads: int | None) -> dict[str, float]:
    env: Any = machine.make(task, copies, {"threads": threads})
    env.reset(0)
    generator = np.random.default_rng(0)
    for _ in range(SETTLED):
        env.step(generator.uniform(-0.3, 0.3, (copies, *env.action_space.shape)))
    alone = _alone(env)
    actions = generator.uniform(-0.3, 0.3, (copies, *env.action_space.shape))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_rate(lambda: env.step(actions), copies))
        theirs.append(_rate(alone, copies))
    env.close()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return {"ours": statistics.median(ours), "rollout": statistics.median(theirs), "ratio": ratio}


def _alone(env: Any) -> Callable[[], object]:
    """Return one call of `mujoco.rollout` for what the rows are now, on as many threads."""
    task, threads = env.task, env.threads
    data = [mujoco.MjData(task.model) for _ in range(threads)]
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
    state, control = env.world.state.copy(), env.world.control[:, None].copy()
    return lambda: pool.rollout(
        task.model,
        data,
        state,
        control,
        control_spec=task.controls,
        nstep=task.physics_steps,
    )


def _rate(step: Callable[[], object], count: int) -> float:
    begun, calls = time.perf_counter(), 0
    while time.perf_counter() - begun < SPAN:
        step()
        calls += 1
    return calls * count / (time.perf_counter() - begun)
