"""One task of the DeepMind Control Suite as a Gymnasium environment that can tell its state.

The suite's own arrays of observations lie end to end in one vector, in the suite's order.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np
from dm_control import suite
from gymnasium import spaces

State = dict[str, np.ndarray]

SIZE = (240, 320)
"""Height and width of a picture."""
_PHYSICS = "physics"
_STEPS = "steps"
_MODEL = "model/"
_RANDOM = "random/"
_ASSETS = ("bvh_", "flex_", "mesh_", "name", "oct_", "paths", "skin_", "tex_", "text_")
"""How the model's arrays begin that are large, and that no task changes."""


def tasks() -> tuple[str, ...]:
    """Return the names of all tasks: `<domain>-<task>`."""
    return tuple(f"{domain}-{task}" for domain, task in suite.ALL_TASKS)


class SuiteEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A task of the suite; an episode that its clock ends is truncated, any other terminated."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own

    def __init__(self, name: str, render_mode: str | None = None, **arguments: Any) -> None:
        """Load `<domain>-<task>`; other arguments, such as `time_limit` in s, are the task's."""
        domain, _, task = name.partition("-")
        # Some tasks draw their model when they are built, and all rows have the same.
        built = {"random": 0, **arguments}
        self._suite: Any = suite.load(domain, task, task_kwargs=built)
        self.render_mode = render_mode
        self.seconds = float(self._suite.control_timestep())
        self.metadata = {**SuiteEnv.metadata, "render_fps": round(1.0 / self.seconds)}
        steps = float(self._suite._step_limit)
        self.limit = int(np.ceil(steps)) if np.isfinite(steps) else None
        bounds = self._suite.action_spec()
        low, high = (
            np.broadcast_to(each, bounds.shape) for each in (bounds.minimum, bounds.maximum)
        )
        self.action_space = spaces.Box(low, high, dtype=np.float64)
        seen = self._suite.observation_spec().values()
        size = sum(int(np.prod(part.shape)) for part in seen)
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self._model, self._data = self._suite.physics.model.ptr, self._suite.physics.data.ptr
        self._loaded = {key: view.copy() for key, view in _model_arrays(self._model).items()}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; a seed begins the task's own generator anew."""
        super().reset(seed=seed)
        if seed is not None:
            self._suite.task.random.seed(seed % 2**32)
        return _vector(self._suite.reset().observation), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Advance by one control step."""
        told = self._suite.step(action)
        # The suite ends an episode with a discount: 1 is its clock, less is the task's own end.
        ended = told.last()
        cut = ended and told.discount == 1.0
        return _vector(told.observation), float(told.reward), ended and not cut, cut, {}

    def render(self) -> Any:
        """Draw the task's first camera as uint8 (height, width, 3)."""
        height, width = SIZE
        try:
            return self._suite.physics.render(height=height, width=width, camera_id=0)
        except (RuntimeError, AttributeError, ImportError, mujoco.FatalError) as error:
            raise gymnasium.error.DependencyNotInstalled(
                f"{error}; MUJOCO_GL=egl or osmesa draws without a screen"
            ) from error

    def close(self) -> None:
        """Give back what the physics hold."""
        self._suite.close()

    def state_dict(self) -> State:
        """Return the physics, the generator, and what the task has changed of its model."""
        generator = self._suite.task.random.get_state(legacy=False)
        changed = {
            f"{_MODEL}{key}": view.copy()
            for key, view in _model_arrays(self._model).items()
            if not np.array_equal(view, self._loaded[key])
        }
        return {
            _PHYSICS: _physics(self._model, self._data),
            _STEPS: np.array(self._suite._step_count),
            f"{_RANDOM}key": generator["state"]["key"].copy(),
            f"{_RANDOM}pos": np.array(generator["state"]["pos"]),
            f"{_RANDOM}has_gauss": np.array(generator["has_gauss"]),
            f"{_RANDOM}gauss": np.array(generator["gauss"]),
            **changed,
        }

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave; an episode must have begun."""
        for key, view in _model_arrays(self._model).items():
            view[...] = state.get(f"{_MODEL}{key}", self._loaded[key])
        mujoco.mj_setState(
            self._model, self._data, state[_PHYSICS], mujoco.mjtState.mjSTATE_INTEGRATION
        )
        # The suite ends each step with this half of the next one, so it begins from here.
        mujoco.mj_step1(self._model, self._data)
        self._suite._step_count = int(state[_STEPS])
        self._suite._reset_next_step = False
        words = {"key": state[f"{_RANDOM}key"], "pos": int(state[f"{_RANDOM}pos"])}
        self._suite.task.random.set_state(
            {
                "bit_generator": "MT19937",
                "state": words,
                "has_gauss": int(state[f"{_RANDOM}has_gauss"]),
                "gauss": float(state[f"{_RANDOM}gauss"]),
            }
        )


def _vector(observation: Mapping[str, Any]) -> np.ndarray:
    parts = [np.ravel(part) for part in observation.values()]
    return np.concatenate(parts, dtype=np.float32, casting="same_kind")


def _physics(model: Any, data: Any) -> np.ndarray:
    """Return all that the next step of the physics depends on, as MuJoCo lists it."""
    what = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, what))
    mujoco.mj_getState(model, data, state, what)
    return state


def _model_arrays(model: Any) -> State:
    """Return views of the model's arrays that a task may change between episodes."""
    names = (name for name in dir(model) if not name.startswith(("_", *_ASSETS)))
    found = {name: getattr(model, name) for name in names}
    return {
        name: value for name, value in found.items() if isinstance(value, np.ndarray) and value.size
    }
