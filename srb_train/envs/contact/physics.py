"""N rows of one MuJoCo model that move together: where their numbers lie, and how they step.

Rows come first here, in float64, as MuJoCo has them.
"""

import os
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco import rollout

FULL = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_BITS = {
    "time": mujoco.mjtState.mjSTATE_TIME,
    "qpos": mujoco.mjtState.mjSTATE_QPOS,
    "qvel": mujoco.mjtState.mjSTATE_QVEL,
    "act": mujoco.mjtState.mjSTATE_ACT,
    "ctrl": mujoco.mjtState.mjSTATE_CTRL,
    "qfrc_applied": mujoco.mjtState.mjSTATE_QFRC_APPLIED,
    "xfrc_applied": mujoco.mjtState.mjSTATE_XFRC_APPLIED,
    "mocap_pos": mujoco.mjtState.mjSTATE_MOCAP_POS,
    "mocap_quat": mujoco.mjtState.mjSTATE_MOCAP_QUAT,
}


class World(NamedTuple):
    """N rows at one moment."""

    state: np.ndarray
    """(N, S) MuJoCo's full physics state: see `Layout` for where what lies."""
    control: np.ndarray
    """(N, C) what acts on the rows, and how they differ: targets, forces, mocap poses."""
    sensors: np.ndarray
    """(N, D) the model's sensors, read one physics step before `state`."""
    memory: dict[str, np.ndarray]
    """(N, ...) each: what a task remembers of a row, such as its last action."""

    def rows(self, rows: Any) -> "World":
        """Return a copy of some rows, by their numbers."""
        memory = {name: values[rows] for name, values in self.memory.items()}
        return World(self.state[rows], self.control[rows], self.sensors[rows], memory)

    def beside(self, other: "World") -> "World":
        """Return these rows, then the other's."""
        memory = {
            name: np.concatenate([mine, other.memory[name]]) for name, mine in self.memory.items()
        }
        return World(
            np.concatenate([self.state, other.state]),
            np.concatenate([self.control, other.control]),
            np.concatenate([self.sensors, other.sensors]),
            memory,
        )


class Layout:
    """Where the parts of a state, of a control and of the sensors lie, as slices of their rows.

    In the state: `time`, `qpos`, `qvel`, `act`; in the control, where `controls` has them: `ctrl`,
    `qfrc_applied`, `xfrc_applied`, `mocap_pos`, `mocap_quat`; else they are empty.
    """

    def __init__(self, model: Any, controls: int) -> None:
        """Lay out a model whose rows differ by `controls`, flags of MuJoCo's `mjtState`."""
        self._model = model
        starts, sizes = model.sensor_adr.tolist(), model.sensor_dim.tolist()
        self._sensors = {
            model.sensor(at).name: slice(start, start + sizes[at])
            for at, start in enumerate(starts)
        }
        self.state_size = int(mujoco.mj_stateSize(model, FULL))
        self.control_size = int(mujoco.mj_stateSize(model, controls))
        self.time, self.qpos, self.qvel, self.act = (
            _part(model, FULL, name) for name in ("time", "qpos", "qvel", "act")
        )
        self.ctrl, self.qfrc_applied, self.xfrc_applied, self.mocap_pos, self.mocap_quat = (
            _part(model, controls, name)
            for name in ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
        )

    def sensor(self, name: str) -> slice:
        """Return where a sensor's numbers lie; KeyError if the model has no such sensor."""
        return self._sensors[name]

    def resting(self, count: int) -> np.ndarray:
        """Return (count, S) states of the model's reference pose at rest, at time 0."""
        data = mujoco.MjData(self._model)
        state = np.empty(self.state_size)
        mujoco.mj_getState(self._model, data, state, FULL)
        return np.tile(state, (count, 1))


def _part(model: Any, flags: int, name: str) -> slice:
    bit = int(_BITS[name])
    if not flags & bit:
        return slice(0, 0)
    start = int(mujoco.mj_stateSize(model, flags & (bit - 1)))
    return slice(start, start + int(mujoco.mj_stateSize(model, bit)))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Rollouts:
    """Rows of a model stepped on a pool of threads, in one call of C++.

    The constraint solver starts every call without a guess, so that what a row does depends on
    its state and its control only: neither on the number of threads, nor on the other rows.
    """

    def __init__(self, model: Any, controls: int, threads: int) -> None:
        """Hold a pool of `threads`; `controls` are the flags of what a control is made of."""
        self._model, self._controls = model, controls
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._pool: Any = rollout.Rollout(nthread=threads if threads > 1 else 0)

    def run(
        self, state: np.ndarray, control: np.ndarray, steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states (N, S) and sensors (N, D) after some physics steps.

        A row that MuJoCo has given up on (a number that is none, or a full buffer) is not a
        number throughout.
        """
        if len(state) == 1:
            return self._alone(state[0], control[0], steps)
        states, sensors = self._pool.rollout(
            self._model,
            self._data,
            state,
            control[:, None],
            control_spec=self._controls,
            nstep=steps,
        )
        after, seen = states[:, -1].copy(), sensors[:, -1].copy()
        # MuJoCo puts a row that it has given up on back to time 0 or stops it half way.
        due = state[:, 0] + steps * self._model.opt.timestep
        failed = ~(np.abs(after[:, 0] - due) < 0.5 * self._model.opt.timestep)
        after[failed], seen[failed] = np.nan, np.nan
        return after, seen

    def _alone(
        self, state: np.ndarray, control: np.ndarray, steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Step one row on the calling thread: the same numbers in half the time."""
        model, data = self._model, self._data[0]
        mujoco.mj_setState(model, data, state, FULL)
        mujoco.mj_setState(model, data, control, self._controls)
        data.qacc_warmstart[:] = 0.0
        if data.warning.number.any():
            for warning in data.warning:
                warning.number = 0
        mujoco.mj_step(model, data, nstep=steps)
        after, seen = np.empty((1, len(state))), data.sensordata[None].copy()
        mujoco.mj_getState(model, data, after[0], FULL)
        if data.warning.number.any():
            after[:], seen[:] = np.nan, np.nan
        return after, seen

    def close(self) -> None:
        """End the pool's threads."""
        self._pool.close()
