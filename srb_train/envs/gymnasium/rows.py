"""One row: a Gymnasium environment that keeps the facts of its episode's end, and its state.

The exact state of an environment is known for Gymnasium's classic control and MuJoCo tasks, and
for any environment that offers `state_dict()` and `load_state_dict(state)` itself (arrays only).
"""

import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import (
    AcrobotEnv,
    CartPoleEnv,
    Continuous_MountainCarEnv,
    MountainCarEnv,
    PendulumEnv,
)
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

State = dict[str, np.ndarray]

CLASSIC_STATE: Mapping[type, tuple[str, ...]] = {
    AcrobotEnv: ("state",),
    CartPoleEnv: ("state", "steps_beyond_terminated"),
    Continuous_MountainCarEnv: ("state",),
    MountainCarEnv: ("state",),
    PendulumEnv: ("state", "last_u"),
}
"""Attributes that hold all of a task's state; subclasses may hold more, so types are exact."""

_TRANSPARENT = (OrderEnforcing, PassiveEnvChecker, TimeLimit)
_NOTHING: dict[str, Any] = {}
_WORD = 2**64


class Row(gymnasium.Wrapper):
    """Passes an environment on, but for infos, of which only those of an episode's end remain."""

    stored: State | None = None
    """What `restore` goes on from."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step; the last observation of an episode is a copy, safe from the reset to come."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            return deepcopy(obs), reward, terminated, truncated, _facts(info)
        return obs, reward, terminated, truncated, _NOTHING

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset, without the info."""
        return self.env.reset(**options)[0], _NOTHING

    def capture(self) -> State | None:
        """Return all that bit-exact continuation needs; None where that is not known."""
        return capture(self.env)

    def restore(self) -> None:
        """Go on from `stored`."""
        if self.stored is not None:
            restore(self.env, self.stored)
            self.stored = None


def open_row(spec: EnvSpec, options: Mapping[str, Any]) -> Row:
    """Make one row, in this process or in one of its own."""
    if multiprocessing.parent_process() is not None:
        # A Ctrl-C reaches the whole process group; the parent saves first and closes its rows.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        # The parent's own handler, inherited by fork, would make this process immortal.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The checks of types and order are for authors of environments; each costs a call per step.
    lean = replace(spec, order_enforce=False, disable_env_checker=True)
    return Row(gymnasium.make(lean, **options))


def capture(env: gymnasium.Env) -> State | None:
    """Return an environment's state with its generator and time limits; None if unknown."""
    layers = list(_layers(env))
    task = env.unwrapped
    random = _generator_words(task)
    if random is None or any(type(layer) not in _TRANSPARENT for layer in layers):
        return None
    own = _task_state(task)
    if own is None:
        return None
    # TimeLimit counts in the attribute it has had since the first Gym; tests notice a change.
    elapsed = [layer._elapsed_steps for layer in layers if isinstance(layer, TimeLimit)]
    return {
        "np_random": random,
        "elapsed": np.array(elapsed, dtype=np.int64),
        **{f"task/{name}": value for name, value in own.items()},
    }


def restore(env: gymnasium.Env, state: Mapping[str, np.ndarray]) -> None:
    """Put an environment where `capture` found it, whatever it did before."""
    env.reset(seed=0)
    task = env.unwrapped
    own = {
        name.removeprefix("task/"): value
        for name, value in state.items()
        if name.startswith("task/")
    }
    _restore_task(task, own)
    _set_generator(task, state["np_random"])
    limits = [layer for layer in _layers(env) if isinstance(layer, TimeLimit)]
    for limit, elapsed in zip(limits, state["elapsed"].tolist(), strict=True):
        limit._elapsed_steps = elapsed


def _facts(info: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the success and the plain numbers of an episode's last info."""
    facts: dict[str, Any] = {
        name: float(value)
        for name, value in info.items()
        if isinstance(value, int | float | np.number | np.bool_) and name.isidentifier()
    }
    facts.pop("success", None)
    for name in ("is_success", "success"):
        if name in info:
            facts.pop(name, None)
            facts["success"] = bool(np.all(info[name]))
            break
    return facts


def _layers(env: gymnasium.Env) -> Iterator[gymnasium.Wrapper]:
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env


def _offers_state(task: Any) -> bool:
    return all(callable(getattr(task, name, None)) for name in ("state_dict", "load_state_dict"))


def _task_state(task: Any) -> State | None:
    if _offers_state(task):
        given: Mapping[str, Any] | None = task.state_dict()
        return None if given is None else {k: np.array(v) for k, v in given.items()}
    if type(task) in CLASSIC_STATE:
        values = {name: getattr(task, name) for name in CLASSIC_STATE[type(task)]}
        return {name: np.array(v) for name, v in values.items() if v is not None}
    if _is_mujoco(task):
        fixed = _fixed_arrays(task)
        return {"time": np.array(task.data.time), **{k: v.copy() for k, v in fixed.items()}}
    return None


def _restore_task(task: Any, state: State) -> None:
    if _offers_state(task):
        task.load_state_dict(state)
    elif type(task) in CLASSIC_STATE:
        for name in CLASSIC_STATE[type(task)]:
            # [()] turns an array without dimensions into a number and leaves others alone.
            setattr(task, name, state[name][()] if name in state else None)
    else:
        task.data.time = float(state["time"])
        for name, value in _fixed_arrays(task).items():
            value[...] = state[name]


def _is_mujoco(task: Any) -> bool:
    return type(task).__module__.startswith("gymnasium.envs.mujoco.") and hasattr(task, "data")


def _fixed_arrays(task: Any) -> State:
    """Return views of all arrays of an MjData but those as long as the list of contacts.

    The integrator's state alone is not enough: tasks read positions and contact forces that
    belong to the last substep, which no function computes anew.
    """
    fresh = type(task.data)(task.model)
    found: State = {}
    for name in dir(fresh):
        blank = None if name.startswith("_") else getattr(fresh, name)
        if isinstance(blank, np.ndarray) and blank.size:
            view = getattr(task.data, name)
            if view.shape == blank.shape:
                found[name] = view
    return found


def _generator_words(task: Any) -> np.ndarray | None:
    """Return a PCG64 generator's state as six 64-bit words; None for any other kind."""
    generator = getattr(task, "_np_random", None)
    if generator is None or type(generator.bit_generator) is not np.random.PCG64:
        return None
    state: Mapping[str, Any] = generator.bit_generator.state
    big = [word for value in state["state"].values() for word in divmod(value, _WORD)]
    return np.array([*big, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def _set_generator(task: Any, words: np.ndarray) -> None:
    state_high, state_low, inc_high, inc_low, has_half, half = words.tolist()
    task.np_random.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": state_high * _WORD + state_low,
            "inc": inc_high * _WORD + inc_low,
        },
        "has_uint32": has_half,
        "uinteger": half,
    }


def stacked(rows: Sequence[State]) -> State | None:
    """Join the states of N rows; None where arrays of one name differ in shape.

    An array that rows hold in different dtypes, or not at all, has its dtypes' names beside it.
    """
    joined: State = {}
    for name in sorted({key for row in rows for key in row}):
        values = [row.get(name) for row in rows]
        present = [value for value in values if value is not None]
        if len({value.shape for value in present}) > 1:
            return None
        kinds = ["" if value is None else value.dtype.str for value in values]
        filler = np.zeros_like(present[0])
        joined[name] = np.stack([filler if value is None else value for value in values])
        if len(set(kinds)) > 1:
            joined[f"{name}:dtype"] = np.array(kinds)
    return joined


def unstacked(joined: Mapping[str, np.ndarray], num_envs: int) -> list[State]:
    """Split what `stacked` joined into the states of N rows."""
    rows: list[State] = [{} for _ in range(num_envs)]
    for name, values in joined.items():
        if name.endswith(":dtype"):
            continue
        kinds = joined.get(f"{name}:dtype", np.full(num_envs, values.dtype.str)).tolist()
        for row, value, kind in zip(rows, values, kinds, strict=True):
            if kind:
                row[name] = value.astype(kind)
    return rows
