"""N copies of a task of MuJoCo Playground, compiled into one program."""

from collections.abc import Iterator, Mapping
from typing import Any

import mujoco
import numpy as np
from mujoco_playground import locomotion, manipulation, registry
from mujoco_playground._src import mjx_env

from srb_train import spelling
from srb_train.contracts import PRIVILEGED, BatchedEnv
from srb_train.envs.brax import rows
from srb_train.errors import MissingDependency, UsageError

_KEYS = {"privileged_state": PRIVILEGED}
_SIZE = (240, 320)


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of `name`, such as `CartpoleBalance`; see configs/env/playground.yaml."""
    rows.numpy_only(params.get("array", "numpy"))
    if name not in registry.ALL_ENVS:
        near = spelling.nearest(name, registry.ALL_ENVS, most=3)
        raise UsageError(f"playground/{name}: there is no such task{near}")
    _require_meshes(name)
    default = registry.get_default_config(name)
    changes = dict(_flat(params.get("config") or {}))
    _check(changes, dict(_flat(default)))
    if "impl" in default:
        changes = {"impl": params.get("impl", "jax"), **changes}
    task = registry.load(name, config_overrides=changes)
    limit = params.get("max_episode_steps") or task._config.episode_length
    return rows.JaxRows(
        rows.Simulation(
            reset=task.reset,
            step=task.step,
            draw=Camera(task.mj_model).draw,
            action_size=int(task.action_size),
            max_episode_steps=int(limit),
            fps=max(1, round(1.0 / float(task.dt))),
            keys=_KEYS,
        ),
        num_envs,
    )


class Camera:
    """Draws states of a task by MuJoCo's own renderer."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Keep the model; OpenGL is begun at the first picture."""
        self._model = model
        self._data = mujoco.MjData(model)
        self._renderer: Any = None

    def draw(self, state: Any) -> np.ndarray:
        """Return the scene of one row's state as uint8 (height, width, 3)."""
        if self._renderer is None:
            self._renderer = self._opened()
        for name in ("qpos", "qvel", "mocap_pos", "mocap_quat", "xfrc_applied"):
            getattr(self._data, name)[...] = np.asarray(getattr(state.data, name))
        mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data)
        return np.array(self._renderer.render())

    def _opened(self) -> Any:
        try:
            return mujoco.Renderer(self._model, *_SIZE)
        except (RuntimeError, AttributeError, ImportError, mujoco.FatalError) as error:
            raise rows.undrawable(error) from error


def _require_meshes(name: str) -> None:
    """Refuse a robot whose meshes are not there; Playground would clone them without a word."""
    robots = (*locomotion.ALL_ENVS, *manipulation.ALL_ENVS)
    place = mjx_env.MENAGERIE_PATH
    if name in robots and not place.exists():
        raise MissingDependency(
            f"playground/{name} needs the robots of MuJoCo Menagerie, and nothing is downloaded "
            "unasked: git clone https://github.com/google-deepmind/mujoco_menagerie "
            f"{place} && git -C {place} checkout {mjx_env.MENAGERIE_COMMIT_SHA}"
        )


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys of a tree of settings and their values."""
    for key, value in tree.items():
        if hasattr(value, "items"):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _check(changes: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for key in changes:
        if key not in known:
            near = spelling.nearest(key, known)
            raise UsageError(f"env.config.{key}: the task has no such setting{near}")
