"""Environment steps a second: our batches, beside Gymnasium's loop and beside bare arithmetic."""

import gymnasium
import numpy as np

from benchmarks import clock
from srb_train.envs.tasks import machine

TASKS = (
    "landing",
    "rendezvous",
    "orbital_evasion",
    "waypoint_navigation",
    "velocity_tracking",
    "sample_collection",
    "cartpole",
)
COPIES = (1, 16, 512, 4096)
COMPILED_COPIES = (1, 512)
LUNAR = "LunarLanderContinuous-v3"
LUNAR_COPIES = 64
"""One Python loop over copies: its rate does not change with their number."""


def measure() -> dict[str, object]:
    """Return environment steps a second on one core."""
    rates: dict[str, object] = {
        task: {str(n): _ours(task, n, {}) for n in COPIES} for task in TASKS
    }
    rates |= {
        f"{task}, `env.engine=jax`": {
            str(n): _ours(task, n, {"engine": "jax"}) for n in COMPILED_COPIES
        }
        for task in TASKS
    }
    rates["landing, its arithmetic alone"] = {str(n): _bare("landing", n) for n in COPIES}
    return rates | {f"gymnasium {LUNAR} SyncVectorEnv, {LUNAR_COPIES} copies": _gymnasium()}


def _ours(task: str, copies: int, params: dict[str, str]) -> float:
    env = machine.make(task, copies, params)
    env.reset(0)
    actions = np.random.default_rng(0).uniform(-1, 1, (copies, *env.action_space.shape))
    actions = actions.astype(np.float32)
    return clock.rate(lambda: env.step(actions), copies)


def _bare(task: str, copies: int) -> float:
    """Advance and observe one state again and again: no restarts, no episodes, no bookkeeping."""
    env = machine.make(task, copies, {})
    env.reset(0)
    physics, state = env.task, env.state
    actions = np.random.default_rng(0).uniform(-1, 1, (*env.action_space.shape, copies))
    actions = actions.astype(np.float32)
    return clock.rate(lambda: physics.observe(np, physics.advance(np, state, actions)[0]), copies)


def _gymnasium() -> float:
    env = gymnasium.make_vec(LUNAR, num_envs=LUNAR_COPIES, vectorization_mode="sync")
    env.reset(seed=0)
    actions = env.action_space.sample()
    return clock.rate(lambda: env.step(actions), LUNAR_COPIES)
