"""N rows of a task of EnvPool, which steps them in threads of C++.

EnvPool begins an ended row's next episode at its next step. Here that step is made at once, for the
ended rows alone, so that rows restart in the same step as everywhere else.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import envpool
import numpy as np

from srb_train import spelling
from srb_train.contracts import BatchedEnv, Step
from srb_train.envs.gymnasium import spaces
from srb_train.envs.rows import put
from srb_train.envs.tensor_rows import picked
from srb_train.errors import UnsupportedError, UsageError

DEFAULT_FPS = 30
_SEEDS = 2**31
_SUCCESS = ("success", "is_success")


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of `name`, such as `Ant-v5`; see configs/env/envpool.yaml for the settings."""
    known = envpool.list_all_envs()
    if name not in known:
        near = spelling.nearest(name, known, most=3)
        raise UsageError(f"envpool/{name}: there is no such task{near}")
    settings = {**(params.get("kwargs") or {}), "num_envs": num_envs}
    if params.get("max_episode_steps") is not None:
        settings["max_episode_steps"] = params["max_episode_steps"]
    if params.get("threads"):
        settings["num_threads"] = params["threads"]
    try:
        spec = envpool.make_spec(name, **settings)
    except (TypeError, ValueError, AssertionError) as error:
        raise UsageError(
            f"envpool/{name} cannot be made: {error}; env.kwargs holds its arguments"
        ) from error
    if getattr(spec.config, "max_num_players", 1) > 1:
        raise UnsupportedError(f"envpool/{name} is for several players; one learner plays alone")
    build = partial(envpool.make_gymnasium, name, render_mode="rgb_array", **settings)
    return PoolEnv(build, spec, rescale=bool(params.get("rescale_actions", True)))


class PoolEnv:
    """A `BatchedEnv` over a pool that is built anew at each reset, for it takes seeds only then."""

    array = "numpy"
    device = "cpu"
    draws_endings = False

    def __init__(self, build: Callable[..., Any], spec: Any, *, rescale: bool) -> None:
        """Plan for `build(seed=[…])`, a pool of what `spec` says."""
        self._build = build
        self._pool: Any = None
        self.num_envs = int(spec.config.num_envs)
        limit = int(getattr(spec.config, "max_episode_steps", 0))
        self.max_episode_steps: int | None = limit if 0 < limit < _SEEDS - 1 else None
        self.render_fps = DEFAULT_FPS
        self._reader = spaces.observation_reader(spec.gymnasium_observation_space)
        self.observation_space = self._reader.space
        self.action_space, self._write = spaces.action_writer(
            spec.gymnasium_action_space, rescale=rescale
        )

    def reset(self, seed: int) -> Any:
        """Start all rows anew, row i from seed + i."""
        self.close()
        seeds = ((seed + np.arange(self.num_envs)) % _SEEDS).tolist()
        self._pool = self._build(seed=seeds)
        return self._reader.batch(self._pool.reset()[0])

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows; see `contracts.Step`."""
        raw, reward, ended, cut, info = self._pool.step(self._write(action))
        obs = self._reader.batch(raw)
        terminated, truncated = ended.astype(np.bool_), cut.astype(np.bool_)
        rows = np.flatnonzero(terminated | truncated)
        final, facts = None, {}
        if rows.size:
            final, facts = picked(obs, rows), _facts(info, rows)
            fresh, told = self._pool.reset(rows.astype(np.int32))
            put(obs, told["env_id"], self._reader.batch(fresh))
        return Step(
            obs, reward.astype(np.float32), terminated, truncated & ~terminated, final, facts
        )

    def state_dict(self) -> None:
        """Tell that EnvPool's state cannot be stored."""
        return

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse, for there is no state to go on from."""
        raise UnsupportedError("EnvPool's state cannot be restored")

    def render(self, row: int = 0) -> np.ndarray | None:
        """Draw one row; None where the task has no picture."""
        # EnvPool's MuJoCo ends the whole process where it finds no OpenGL.
        if any("mujoco" in kind.__module__ for kind in type(self._pool).__mro__):
            return None
        try:
            return np.array(self._pool.render(row)[0], dtype=np.uint8)
        except RuntimeError:
            return None

    def close(self) -> None:
        """End the pool's threads."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def _facts(info: Mapping[str, Any], rows: np.ndarray) -> dict[str, np.ndarray]:
    told = next((info[name] for name in _SUCCESS if name in info), None)
    return {} if told is None else {"success": np.asarray(told)[rows].astype(np.bool_)}
