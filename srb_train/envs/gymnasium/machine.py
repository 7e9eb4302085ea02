"""N copies of an installed Gymnasium environment behind the batched contract."""

import sys
from collections.abc import Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from srb_train import spelling
from srb_train.contracts import BatchedEnv, Step
from srb_train.envs.gymnasium import rows, spaces
from srb_train.errors import IntegrityError, MissingDependency, UnsupportedError, UsageError

Vector = SyncVectorEnv | AsyncVectorEnv

DEFAULT_FPS = 30
ASYNC = "async"
_VECTORS = {"sync": SyncVectorEnv, ASYNC: AsyncVectorEnv}
_EXTRAS = {
    "classic_control": "classic-control",
    "phys2d": "jax",
    "tabular": "jax",
    "toy_text": "toy-text",
}


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of `name`, a registered id or `<module>:<id>` where the module registers it.

    Params: `vectorization` ("sync", or "async" for a process a row), `max_episode_steps` (null
    keeps the registered limit), `kwargs` of the environment, `rescale_actions` (a bounded Box is
    seen as [-1, 1]), `render` (whether pictures may be asked for).
    """
    return rows_of(f"gymnasium/{name}", _registered(name), num_envs, params)


def rows_of(name: str, spec: EnvSpec, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of what a spec makes; `name` is what messages call it."""
    options = {**(params.get("kwargs") or {}), "max_episode_steps": _limit(params)}
    if params.get("render", True) and "rgb_array" in _render_modes(name, spec):
        options.setdefault("render_mode", "rgb_array")
    kind = params.get("vectorization", "sync")
    if kind not in _VECTORS:
        raise UsageError(f"env.vectorization={kind!r}: one of {', '.join(_VECTORS)}")
    open_row = partial(rows.open_row, spec, options)
    vector = _opened(name, spec, partial(_vectorized, kind, [open_row] * num_envs))
    try:
        rescale = bool(params.get("rescale_actions", True))
        return GymnasiumEnv(vector, options["max_episode_steps"] or spec.max_episode_steps, rescale)
    except UnsupportedError as error:
        vector.close()
        raise UnsupportedError(f"{name}: {error}") from error


class GymnasiumEnv:
    """A `BatchedEnv` over Gymnasium's vector environment, which restarts rows in the same step."""

    array = "numpy"
    device = "cpu"

    def __init__(self, vector: Vector, max_episode_steps: int | None, rescale: bool) -> None:
        """Take over a vector environment of `rows.Row` copies in same-step autoreset mode."""
        self._vector = vector
        self._reader = spaces.observation_reader(vector.single_observation_space)
        self.observation_space = self._reader.space
        self.action_space, self._write = spaces.action_writer(
            vector.single_action_space, rescale=rescale
        )
        self.num_envs = vector.num_envs
        self.max_episode_steps = max_episode_steps
        self.draws_endings = False
        self.render_fps = int(vector.metadata.get("render_fps") or DEFAULT_FPS)

    def reset(self, seed: int) -> Any:
        """Start all rows anew, row i from seed + i."""
        return self._reader.batch(self._vector.reset(seed=seed)[0])

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows; see `contracts.Step`."""
        obs, reward, terminated, truncated, info = self._vector.step(self._write(action))
        final_obs, facts = None, {}
        ended = (terminated | truncated).nonzero()[0]
        if ended.size:
            final_obs = self._reader.rows([info["final_obs"][row] for row in ended])
            facts = _facts(info.get("final_info", {}), ended)
        return Step(
            self._reader.batch(obs),
            reward.astype(np.float32),
            terminated,
            truncated & ~terminated,
            final_obs,
            facts,
        )

    def state_dict(self) -> rows.State | None:
        """Return every row's exact state; None where one of them is not known."""
        states = self._vector.call("capture")
        if any(state is None for state in states):
            return None
        return rows.stacked(states)

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave for as many rows of the same environment."""
        count = len(state["elapsed"])
        if count != self.num_envs:
            raise IntegrityError(
                f"the state is of {count} rows, the environment of {self.num_envs}"
            )
        # Reset the vector as well, so that its own records begin with no ended row.
        self._vector.reset(seed=0)
        self._vector.set_attr("stored", rows.unstacked(state, count))
        self._vector.call("restore")

    def render(self, row: int = 0) -> np.ndarray | None:
        """Draw one row; None where the environment has no picture."""
        if self._vector.render_mode != "rgb_array":
            return None
        try:
            if isinstance(self._vector, SyncVectorEnv):
                return np.asarray(self._vector.envs[row].render())
            return np.asarray(self._vector.call("render")[row])
        except gymnasium.error.DependencyNotInstalled as error:
            raise MissingDependency(f"this task cannot be drawn: {error}") from error

    def close(self) -> None:
        """Close all rows."""
        self._vector.close()


def _registered(name: str) -> EnvSpec:
    module, _, bare = name.rpartition(":")
    if module:
        _import_registrations(name, module)
    try:
        return gymnasium.spec(bare)
    except gymnasium.error.Error as error:
        near = spelling.nearest(bare, gymnasium.registry, most=3)
        raise UsageError(
            f"gymnasium/{name}: no such environment is registered{near}; "
            "gymnasium/<module>:<id> imports the module that registers it"
        ) from error


def _import_registrations(name: str, module: str) -> None:
    try:
        resolve_name(module)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise UsageError(
                f"gymnasium/{name}: there is no module {module}; "
                "install it or put its folder on PYTHONPATH"
            ) from error
        raise MissingDependency(
            f"gymnasium/{name} needs {error.name}, which is not installed: pip install {error.name}"
        ) from error


def _limit(params: Mapping[str, Any]) -> int | None:
    limit = params.get("max_episode_steps")
    if limit is not None and limit < 1:
        raise UsageError(
            f"env.max_episode_steps={limit}: at least 1, or null for the registered limit"
        )
    return limit


def _render_modes(name: str, spec: EnvSpec) -> tuple[str, ...]:
    """Return what the environment says it can draw; nothing where only a function makes it."""

    def creator() -> Any:
        entry = spec.entry_point
        return load_env_creator(entry) if isinstance(entry, str) else entry

    metadata = getattr(_opened(name, spec, creator), "metadata", None)
    return tuple(metadata.get("render_modes") or ()) if isinstance(metadata, Mapping) else ()


def _vectorized(kind: str, open_rows: list[Any]) -> Vector:
    # A process that JAX has threads in must not fork.
    how = {"context": "forkserver"} if kind == ASYNC and "jax" in sys.modules else {}
    return _VECTORS[kind](open_rows, copy=False, autoreset_mode=AutoresetMode.SAME_STEP, **how)


def _opened(name: str, spec: EnvSpec, open_it: Any) -> Any:
    """Call what imports or constructs an environment, and say what it lacks if it fails."""
    try:
        return open_it()
    except (ImportError, gymnasium.error.DependencyNotInstalled) as error:
        pip = _pip_line(spec, error)
        lack = f"needs what is not installed: {pip}" if pip else f"cannot be imported: {error}"
        raise MissingDependency(f"{name} {lack}") from error
    except (TypeError, gymnasium.error.Error) as error:
        if isinstance(error, TypeError) and "argument" not in str(error):
            raise
        raise UsageError(
            f"{name} cannot be made: {error}; env.kwargs holds its arguments"
        ) from error


def _pip_line(spec: EnvSpec, error: Exception) -> str | None:
    own, _, rest = str(spec.entry_point).partition("gymnasium.envs.")
    if own == "" and rest:
        package = rest.partition(".")[0].partition(":")[0]
        return f'pip install "gymnasium[{_EXTRAS.get(package, package)}]"'
    absent = error.name if isinstance(error, ImportError) else None
    return f"pip install {absent}" if absent else None


def _facts(info: Mapping[str, Any], ended: np.ndarray) -> dict[str, np.ndarray]:
    """Gather the ended rows' facts: a success that was not told is none, a number is NaN."""
    facts: dict[str, np.ndarray] = {}
    for name in (key for key in info if f"_{key}" in info):
        told, values = info[f"_{name}"][ended], info[name][ended]
        if name == "success":
            facts[name] = values.astype(bool) & told
        else:
            facts[name] = np.where(told, values, np.nan).astype(np.float32)
    return facts
