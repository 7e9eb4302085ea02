"""What a backend's adapter costs: steps of the bare simulator, and of our rows, side by side.

Both do the same work a step: actions go in, and observations, rewards and ends come out as NumPy
arrays; ended rows begin anew. The bare loops restart as the simulator's own documents do it: for
JAX that is the first state once more, where ours draws a new one. Time is the processor's, of all
threads, so that a busy machine changes little.
"""

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from srb_train import registry
from srb_train.errors import MissingDependency

WINDOW = 0.2
WINDOWS = 15
CASES = (
    ("dm_control", "walker-walk", 8),
    ("brax", "reacher", 512),
    ("brax", "inverted_pendulum", 512),
    ("playground", "CartpoleBalance", 512),
    ("envpool", "HalfCheetah-v5", 64),
)
"""Backend, task and copies. Of the inverted pendulum some 30 rows end at each step, and of the
others none in most steps."""
NEEDS = {"playground": "mujoco_playground"}
"""Modules that are not called like their backend."""


def measure(only: Sequence[str] = ()) -> dict[str, object]:
    """Return steps a processor second of both sides, for the backends that are installed."""
    cases = {}
    for name, task, copies in CASES:
        absent = importlib.util.find_spec(NEEDS.get(name, name)) is None
        if absent or (only and not {name, task} & set(only)):
            continue
        try:
            ours = _ours(name, task, copies)
        except MissingDependency:
            continue
        bare = BARE[name](task, copies)
        rates = _in_turn(copies, {"bare": bare, "ours": ours})
        cost = rates["bare"] / rates["ours"] - 1.0
        cases[f"{name}/{task}"] = {"copies": copies, **rates, "cost": cost}
    return {"cases": cases}


def _in_turn(copies: int, sides: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median rate of each side over short windows, taken A B A B …"""
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(WINDOWS):
        for name, step in sides.items():
            begun, calls = time.process_time(), 0
            while time.process_time() - begun < WINDOW:
                step()
                calls += 1
            rates[name].append(calls * copies / (time.process_time() - begun))
    return {name: statistics.median(each) for name, each in rates.items()}


def _actions(copies: int, size: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (copies, size)).astype(np.float32)


def _ours(name: str, task: str, copies: int) -> Callable[[], object]:
    params = {"threads": 1, "render": False}
    env = registry.make_env(f"{name}/{task}", copies, params)
    env.reset(0)
    actions = _actions(copies, env.action_space.shape[0])
    env.step(actions)
    return lambda: env.step(actions)


def _dm_control(task: str, copies: int) -> Callable[[], object]:
    from dm_control import suite

    domain, _, name = task.partition("-")
    envs = [suite.load(domain, name, task_kwargs={"random": row}) for row in range(copies)]
    actions = _actions(copies, envs[0].action_spec().shape[0]).astype(np.float64)

    def step() -> None:
        # The suite itself resets at the step after the last one.
        told = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        seen = [np.concatenate([np.ravel(p) for p in each.observation.values()]) for each in told]
        np.stack(seen).astype(np.float32)

    return step


def _brax(task: str, copies: int) -> Callable[[], object]:
    from brax import envs

    return _jitted(envs.get_environment(task), copies)


def _playground(task: str, copies: int) -> Callable[[], object]:
    from mujoco_playground import registry as tasks

    return _jitted(tasks.load(task, config_overrides={"impl": "jax"}), copies)


def _jitted(env: object, copies: int) -> Callable[[], object]:
    """Step one program, with Brax's own way of restarting: the first state again."""
    import jax
    import jax.numpy as jnp

    first = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.PRNGKey(0), copies))
    first = jax.tree.map(jnp.array, first)

    def advance(state: object, action: object) -> object:
        new = jax.vmap(env.step)(state, action)

        def again(begun: jax.Array, leaf: jax.Array) -> jax.Array:
            done = new.done.astype(bool).reshape(-1, *[1] * (leaf.ndim - 1))
            return jnp.where(done, begun, leaf).astype(begun.dtype)

        return jax.tree.map(again, first, new), new.reward, new.done

    program = jax.jit(advance)
    held = [first]
    actions = _actions(copies, env.action_size)

    def step() -> None:
        held[0], reward, done = program(held[0], actions)
        for part in (held[0].obs, reward, done):
            np.asarray(part)

    step()
    return step


def _envpool(task: str, copies: int) -> Callable[[], object]:
    import envpool

    pool = envpool.make_gymnasium(task, num_envs=copies, num_threads=1)
    pool.reset()
    actions = _actions(copies, pool.action_space.shape[0])
    return lambda: pool.step(actions)


BARE: Mapping[str, Callable[[str, int], Callable[[], object]]] = {
    "dm_control": _dm_control,
    "brax": _brax,
    "playground": _playground,
    "envpool": _envpool,
}


if __name__ == "__main__":
    for case, facts in measure(sys.argv[1:])["cases"].items():
        print(
            f"{case}, {facts['copies']} copies: bare {facts['bare']:,.0f}, ours "
            f"{facts['ours']:,.0f} steps a processor second, {facts['cost']:+.1%}"
        )
