"""N rows of one task as compiled programs: `env.engine=jax`.

The task's functions are those that `batch` calls with NumPy, traced with jax.numpy. A step is one
call with few arrays, so that few rows cost little more than the call itself; the first one compiles
for seconds. Episodes begin as they do in NumPy, bit for bit; what follows differs in the last
digits, and is the same from run to run for the same number of rows.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from srb_train.contracts import Array, Step
from srb_train.envs.tasks import counter
from srb_train.envs.tasks.batch import Scenes, State, Task, fitting
from srb_train.errors import UsageError

ELAPSED = "elapsed"
"""Name of the control steps since the episode began, (N,) int32, beside a task's own state."""
_TOLD = 3


class Packing:
    """How the arrays of a state lie in one array for each type: a call is dear by its arguments."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        """Lay out arrays (..., N) like those of `state`, of which only shapes and types count."""
        self._places: dict[str, tuple[str, slice, tuple[int, ...]]] = {}
        heights: dict[str, int] = {}
        for name, part in state.items():
            kind, lead = np.dtype(part.dtype).name, tuple(part.shape[:-1])
            start = heights.get(kind, 0)
            heights[kind] = start + int(np.prod(lead, dtype=int))
            self._places[name] = (kind, slice(start, heights[kind]), lead)

    def pack(self, state: State) -> State:
        """Return one (rows, N) array for each type."""
        parts: dict[str, list[Array]] = {}
        for name, (kind, _, _) in self._places.items():
            array = state[name]
            parts.setdefault(kind, []).append(array.reshape(-1, array.shape[-1]))
        # The type is named so that JAX does not have it follow its surroundings and compile anew.
        return {kind: jnp.concatenate(each).astype(kind) for kind, each in parts.items()}

    def unpack(self, packed: Mapping[str, Array]) -> State:
        """Return the arrays by name."""
        return {
            name: packed[kind][place].reshape(*lead, packed[kind].shape[-1])
            for name, (kind, place, lead) in self._places.items()
        }


class Moved(NamedTuple):
    """What a control step gives, before any row begins anew."""

    packed: State
    obs: Array
    """(N, *obs), or a dict of such."""
    told: Array
    """(3 + F, N) float32: reward, terminated, truncated, and the facts in order."""


class CompiledBatch:
    """A `BatchedEnv` of N rows of one task, compiled by JAX for the CPU; arrays are NumPy's."""

    array = "numpy"
    device = "cpu"

    def __init__(self, task: Task, num_envs: int) -> None:
        """Hold N rows of `task`, started from seed 0."""
        if num_envs < 1:
            raise UsageError(f"env.num_envs={num_envs}: at least 1")
        self.task = task
        self.num_envs = num_envs
        self.observation_space = task.observation_space
        self.action_space = task.action_space
        self.max_episode_steps: int | None = task.max_episode_steps
        self.render_fps = max(1, round(1.0 / task.control_dt))
        self.draws_endings = True
        self.scenes = Scenes(task)
        self._cpu = jax.devices("cpu")[0]
        self._slots = np.arange(task.draws, dtype=np.uint32)
        self._facts: tuple[str, ...] = ()
        none = np.zeros(num_envs, dtype=np.uint32)
        self._packing = Packing(jax.eval_shape(self._fresh, none, none))
        self._begin = jax.jit(self._begun)
        self._look = jax.jit(lambda packed: task.observe(jnp, self._packing.unpack(packed)))
        self._advance = jax.jit(self._advanced)
        self._restart = jax.jit(self._restarted)
        self.reset(0)

    def reset(self, seed: int) -> Array:
        """Start all rows anew, row i from seed + i."""
        self._seed = ((np.arange(self.num_envs) + seed) & counter.MASK).astype(np.uint32)
        self._episode = np.zeros_like(self._seed)
        self._packed = self._begin(self._put(self._seed), self._episode)
        self.scenes.forget()
        return _host(self._look(self._packed))

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows by one control step; see `contracts.Step`."""
        self._packed, seen, told = self._advance(self._packed, self._input(action))
        reward, *ends = facts = np.array(told)
        terminated, truncated = ends[0] > 0.0, ends[1] > 0.0
        rows = np.flatnonzero(terminated | truncated)
        if not rows.size:
            self.scenes.step(rows)
            return Step(_host(seen), reward, terminated, truncated, None, {})
        info = self._info(facts[_TOLD:, rows])
        last = {name: values[..., rows] for name, values in self._state().items()}
        self.scenes.step(rows, last, (last[ELAPSED], info["success"]))
        final_obs = jax.tree.map(lambda part: np.asarray(part)[rows], seen)
        self._episode[rows] += 1
        ended = terminated | truncated
        self._packed, seen = self._restart(self._packed, self._seed, self._episode, ended)
        return Step(_host(seen), reward, terminated, truncated, final_obs, info)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return everything for bit-exact continuation."""
        counters = {"seed": self._seed.copy(), "episode": self._episode.copy()}
        return {name: np.array(values) for name, values in self._state().items()} | counters

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave for as many rows of the same task."""
        own = fitting(state, self.state_dict(), self.num_envs)
        self._seed, self._episode = own.pop("seed"), own.pop("episode")
        packed = {kind: np.asarray(part) for kind, part in self._packing.pack(own).items()}
        self._packed = self._put(packed)
        self.scenes.forget()

    def render(self, row: int = 0) -> np.ndarray:
        """Draw one row; right after its episode ended, the end of it."""
        state = self._state()
        return self.scenes.draw(row, state, state[ELAPSED])

    def close(self) -> None:
        """Hold nothing that needs giving back."""

    def _put(self, tree: Any) -> Any:
        return jax.device_put(tree, self._cpu)

    def _state(self) -> State:
        """Return the arrays of the rows by name, as NumPy's."""
        packed = {kind: np.asarray(part) for kind, part in self._packed.items()}
        return self._packing.unpack(packed)

    def _info(self, facts: np.ndarray) -> dict[str, np.ndarray]:
        info = dict(zip(self._facts, facts, strict=True))
        return {**info, "success": info["success"] > 0.0}

    def _input(self, action: np.ndarray) -> np.ndarray:
        kind = np.int32 if isinstance(self.action_space, spaces.Discrete) else np.float32
        return np.asarray(action, dtype=kind)

    def _fresh(self, seed: Array, episode: Array) -> State:
        draws = counter.uniform(jnp, seed, episode, jnp.asarray(self._slots))
        return {**self.task.begin(jnp, draws), ELAPSED: jnp.zeros(self.num_envs, jnp.int32)}

    def _begun(self, seed: Array, episode: Array) -> State:
        return self._packing.pack(self._fresh(seed, episode))

    def _advanced(self, packed: State, action: Array) -> Moved:
        state = self._packing.unpack(packed)
        elapsed = state.pop(ELAPSED) + 1
        state, reward, terminated, facts = self.task.advance(jnp, state, self._bounded(action))
        truncated = (elapsed >= self.task.max_episode_steps) & ~terminated
        self._facts = tuple(facts)
        told = [reward, terminated, truncated, *facts.values()]
        told = jnp.stack([part.astype(jnp.float32) for part in told])
        after = self._packing.pack({**state, ELAPSED: elapsed})
        return Moved(after, self.task.observe(jnp, state), told)

    def _restarted(
        self, packed: State, seed: Array, episode: Array, ended: Array
    ) -> tuple[State, Array]:
        """Begin the next episode of the rows that ended; returns what all of them see."""
        fresh = self._begun(seed, episode)
        chosen = {kind: jnp.where(ended, fresh[kind], part) for kind, part in packed.items()}
        return chosen, self.task.observe(jnp, self._packing.unpack(chosen))

    def _bounded(self, action: Array) -> Array:
        space = self.action_space
        if isinstance(space, spaces.Discrete):
            return action.reshape(self.num_envs)
        return jnp.clip(action.T, space.low[:, None], space.high[:, None])


def _host(seen: Any) -> Any:
    """Return own NumPy arrays: JAX's can be read only, and Torch asks for more."""
    if isinstance(seen, dict):
        return {key: np.array(part) for key, part in seen.items()}
    return np.array(seen)
