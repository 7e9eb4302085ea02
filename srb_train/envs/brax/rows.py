"""Rows of a simulator that is pure functions of JAX arrays, behind the batched contract.

Brax and what follows its interface: `reset(key)` and `step(state, action)` of one row, whose state
has `obs`, `reward`, `done`, `metrics` and `info`. Episode k of a row that was begun from seed s
draws from s and k alone, so it does not depend on when, or beside which rows, it begins.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from srb_train.contracts import Step
from srb_train.envs.rows import put
from srb_train.envs.tensor_rows import picked
from srb_train.errors import IntegrityError, MissingDependency, UnsupportedError, UsageError

SUCCESS = "success"
"""The metric that tells, where a simulator has it, whether an episode has reached its goal."""
LEAST_BEGUN = 16
"""Rows that begin together at least; a few ended ones cost as many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """What one simulator does for one row, and the programs that do it for many.

    The programs are compiled once for each number of rows, whoever runs them.
    """

    reset: Callable[[Any], Any]
    """Key -> state."""
    step: Callable[[Any, Any], Any]
    """(state, action in [-1, 1]) -> state."""
    draw: Callable[[Any], np.ndarray]
    """State -> uint8 (height, width, 3)."""
    action_size: int
    max_episode_steps: int
    fps: int
    keys: Mapping[str, str] = field(default_factory=dict)
    """What parts of an observation are called here, where that is not the simulator's name."""

    @cached_property
    def advance(self) -> Any:
        """Return the program (state of all rows, actions) -> state; it consumes the old one."""

        def program(state: Any, action: Any) -> Any:
            new = jax.vmap(self.step)(state, jnp.clip(action, -1.0, 1.0))
            # A restored state must run the same program, so types are those of the beginning.
            return jax.tree.map(
                lambda leaf, old: jax.lax.convert_element_type(leaf, old.dtype), new, state
            )

        return jax.jit(program, donate_argnums=0)

    @cached_property
    def begin(self) -> Any:
        """Return the program (state, rows, seeds, episodes) -> state, and what the rows see first.

        A row number beyond the last is left out. It consumes the old state.
        """

        def program(state: Any, rows: Any, seed: Any, episode: Any) -> Any:
            keys = jax.vmap(lambda s, e: jax.random.fold_in(jax.random.PRNGKey(s), e))(
                seed, episode
            )
            fresh = jax.vmap(self.reset)(keys)

            def laid(whole: Any, part: Any) -> Any:
                return whole.at[rows].set(part.astype(whole.dtype), mode="drop")

            return jax.tree.map(laid, state, fresh), fresh.obs

        return jax.jit(program, donate_argnums=0)

    @cached_property
    def one(self) -> Any:
        """Return the program (state of all rows, row) -> state of that row."""
        return jax.jit(lambda state, row: jax.tree.map(lambda leaf: leaf[row], state))


class JaxRows:
    """A `BatchedEnv` whose rows are stepped by one compiled program, and begun by another."""

    array = "numpy"
    draws_endings = False

    def __init__(self, simulation: Simulation, num_envs: int) -> None:
        """Learn the shapes; programs are compiled where they are first run."""
        self._simulation = simulation
        self.num_envs = num_envs
        self.device = jax.devices()[0].platform
        self.max_episode_steps: int | None = simulation.max_episode_steps
        self.render_fps = simulation.fps
        one = jax.eval_shape(simulation.reset, jax.random.PRNGKey(0))
        self._shapes = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct((num_envs, *leaf.shape), leaf.dtype), one
        )
        self.observation_space = _space(one.obs, simulation.keys)
        self.action_space = spaces.Box(-1.0, 1.0, (simulation.action_size,), np.float32)
        # One in 16 rows begins at once: more would idle, fewer would take more calls.
        self._begun_at_once = max(LEAST_BEGUN, num_envs // 16)
        self._state: Any = None
        self._seed = np.zeros(num_envs, dtype=np.uint32)
        self._episode = np.zeros(num_envs, dtype=np.uint32)
        self._age = np.zeros(num_envs, dtype=np.int64)

    def reset(self, seed: int) -> Any:
        """Start all rows anew, row i from seed + i."""
        self._seed = (seed + np.arange(self.num_envs)).astype(np.uint32)
        self._episode[:] = 0
        self._state = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self._shapes)
        obs = self._read(self._state.obs)
        self._start(np.arange(self.num_envs), obs)
        return obs

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows by one control step; see `contracts.Step`."""
        self._state = self._simulation.advance(self._state, np.asarray(action, dtype=np.float32))
        obs, reward = self._read(self._state.obs), host(self._state.reward)
        self._age += 1
        terminated = host(self._state.done, np.bool_)
        truncated = (self._age >= self._simulation.max_episode_steps) & ~terminated
        ended = np.flatnonzero(terminated | truncated)
        if not ended.size:
            return Step(obs, reward, terminated, truncated, None, {})
        final, facts = picked(obs, ended), self._facts(ended)
        self._episode[ended] += 1
        self._start(ended, obs)
        return Step(obs, reward, terminated, truncated, final, facts)

    def state_dict(self) -> dict[str, np.ndarray] | None:
        """Return every array of the simulator's state, and the rows' seeds, episodes and ages."""
        return {
            "seed": self._seed.copy(),
            "episode": self._episode.copy(),
            "age": self._age.copy(),
            **{name: np.array(leaf) for name, leaf in _named(self._state)},
        }

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave for as many rows of the same task."""
        shapes = dict(_named(self._shapes))
        stored = {name: state.get(name) for name in shapes}
        for name, shape in shapes.items():
            value = stored[name]
            if value is None or value.shape != shape.shape:
                seen = "absent" if value is None else f"of shape {value.shape}"
                raise IntegrityError(
                    f"the stored {name} is {seen}, this task has {shape.shape}: it is another "
                    "task, another number of rows, or another version of the simulator"
                )
        leaves = [jnp.asarray(stored[name], dtype=shape.dtype) for name, shape in shapes.items()]
        self._state = jax.tree.unflatten(jax.tree.structure(self._shapes), leaves)
        self._seed = np.array(state["seed"], dtype=np.uint32)
        self._episode = np.array(state["episode"], dtype=np.uint32)
        self._age = np.array(state["age"], dtype=np.int64)

    def render(self, row: int = 0) -> np.ndarray | None:
        """Draw one row."""
        return self._simulation.draw(self._simulation.one(self._state, row))

    def close(self) -> None:
        """Let the rows go."""
        self._state = None

    def _start(self, rows: np.ndarray, obs: Any) -> None:
        """Begin new episodes in some rows and put what they see first into `obs`."""
        self._age[rows] = 0
        size = self._begun_at_once
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            padded = np.full(size, self.num_envs)
            padded[: len(some)] = some
            known = np.minimum(padded, self.num_envs - 1)
            self._state, fresh = self._simulation.begin(
                self._state, padded, self._seed[known], self._episode[known]
            )
            put(obs, some, picked(self._read(fresh), np.arange(len(some))))

    def _read(self, obs: Any) -> Any:
        if isinstance(obs, Mapping):
            names = self._simulation.keys
            return {names.get(key, key): host(part) for key, part in obs.items()}
        return host(obs)

    def _facts(self, ended: np.ndarray) -> dict[str, np.ndarray]:
        metrics = self._state.metrics
        return {SUCCESS: host(metrics[SUCCESS])[ended] > 0.5} if SUCCESS in metrics else {}


def host(leaf: Any, dtype: Any = np.float32) -> np.ndarray:
    """Return a JAX array as a fresh NumPy one: JAX's own memory is read-only to all others."""
    return np.array(leaf, dtype=dtype)


def undrawable(error: Exception) -> MissingDependency:
    """Return the error of a task whose simulator finds nothing to draw with."""
    return MissingDependency(
        f"this task cannot be drawn: {error}; MUJOCO_GL=egl or osmesa draws without a screen"
    )


def numpy_only(array: str) -> None:
    """Refuse to hand out JAX arrays, which no family takes."""
    if array != "numpy":
        raise UsageError(
            f"env.array={array!r}: only numpy; no family takes JAX arrays, SBX reads NumPy too, "
            "and on the CPU the copy costs microseconds"
        )


def _space(obs: Any, names: Mapping[str, str]) -> spaces.Space:
    if not isinstance(obs, Mapping):
        return _endless(obs)
    if any(not hasattr(part, "shape") for part in obs.values()):
        raise UnsupportedError(
            f"observations are nested in {', '.join(obs)}; only flat ones are read"
        )
    return spaces.Dict({names.get(key, key): _endless(part) for key, part in obs.items()})


def _endless(leaf: Any) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, leaf.shape, np.float32)


def _named(tree: Any) -> list[tuple[str, Any]]:
    """Return the leaves of a state with the way to each, as in `state/pipeline_state/q`."""
    return [
        (f"state/{jax.tree_util.keystr(path, simple=True, separator='/')}", leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    ]
