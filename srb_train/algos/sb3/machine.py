"""Stable-Baselines3 and sb3-contrib: their own `learn`, led by one callback.

`model.zip` in a checkpoint is SB3's own file; `state` tells what lies beside it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from srb_train.algos.sb3 import bridge, build, replay, state, weights
from srb_train.contracts import Array, BatchedEnv, Policy, Tracked, TrainContext
from srb_train.errors import IntegrityError, TrainingFailed
from srb_train.spec import RunSpec

MODEL = "model.zip"

_ROWS = "rows"


class Sink(KVWriter):
    """SB3's logger on one side, the run's metrics on the other; only numbers pass."""

    def __init__(self, context: TrainContext) -> None:
        """Write to the context's metrics."""
        self._metrics = context.metrics

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0
    ) -> None:
        """Pass on what is a number, under SB3's own tags."""
        numbers = {
            tag: float(value)
            for tag, value in key_values.items()
            if isinstance(value, int | float | np.number) and not isinstance(value, bool)
        }
        self._metrics.write(step, numbers)

    def close(self) -> None:
        """Do nothing: the context closes its sinks."""


class Lead(BaseCallback):
    """Marks boundaries, logs when it is time, and finishes what `learn` undoes on a resume."""

    def __init__(self, context: TrainContext, exploration: Mapping[str, Array] | None) -> None:
        """Take the arrays of the noises to put back once `learn` has reset them."""
        super().__init__()
        self._context = context
        self._exploration = exploration
        self._every = context.spec.log_every
        self._next_log = (context.step // self._every + 1) * self._every
        self.drawn = True
        """Whether the exploration of the coming rollout is drawn already."""

    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps >= self._next_log:
            self.log()
        if self._exploration is None:
            self.drawn = True
            self._context.boundary()
            return
        # SB3 has drawn an exploration that the uninterrupted run never had.
        self.drawn = drawn = bool(self._exploration["drawn"])
        state.restore_exploration(self.model, self._exploration)
        self._exploration = None
        self._context.boundary()
        if not drawn:
            state.redraw_exploration(self.model)

    def _on_rollout_end(self) -> None:
        self.drawn = False

    def _on_step(self) -> bool:
        return True

    def log(self) -> None:
        """Hand over what SB3 has recorded since the last time."""
        model = self.model
        self._next_log = (model.num_timesteps // self._every + 1) * self._every
        if isinstance(model, OnPolicyAlgorithm):
            model.dump_logs(model.num_timesteps // (model.n_steps * model.n_envs))
        else:
            model.dump_logs()


def train(context: TrainContext) -> None:
    """Train until the context says stop."""
    spec = context.spec
    env = context.make_env()
    venv = bridge.wrap(env, spec.agent_params, context.say)
    model = build.model(
        spec.algo, spec.agent_params, venv, device=spec.device, seed=spec.seed % 2**32
    )
    model.set_logger(Logger(folder=None, output_formats=[Sink(context)]))
    exploration = None
    if context.resume is not None:
        exploration = _restore(model, env, context)
    elif context.weights is not None:
        weights.load_native(model, context.weights)
        context.say(f"weights from {context.weights}; training starts at step 0")
        if isinstance(venv, VecNormalize):
            context.say("an SB3 file holds no normaliser: its statistics start anew")
    lead = Lead(context, exploration)

    def save(folder: Path) -> Mapping[str, Any]:
        return _save(model, spec, folder, drawn=lead.drawn)

    with context.until_stopped(save):
        _learn(model, spec.steps - context.step, lead)
    if model.logger.name_to_value:
        lead.log()


def _learn(model: BaseAlgorithm, steps: int, lead: Lead) -> None:
    try:
        model.learn(steps, lead, log_interval=None, reset_num_timesteps=False)
    except ValueError as error:
        if all(bool(torch.isfinite(each).all()) for each in model.policy.parameters()):
            raise
        raise TrainingFailed(
            f"the weights are no longer finite at step {model.num_timesteps:,}: "
            "lower agent.learning_rate, and keep run.nan_guard=true to see where it begins"
        ) from error


def _save(
    model: BaseAlgorithm, spec: RunSpec, folder: Path, *, drawn: bool
) -> dict[str, list[str]]:
    """Write a checkpoint and return what going on from it restores."""
    restored = ["weights", "optimizers", "SB3 counters"]
    reset: list[str] = []
    # The run's own state holds the last observations.
    model.save(folder / MODEL, exclude=["_last_obs", "_last_original_obs"])
    numbers = state.numbers(model)
    if isinstance(model, OffPolicyAlgorithm):
        numbers["warmup_from"] = model.learning_starts - spec.agent_params["learning_starts"]
        if spec.save_replay:
            replay.save(model.replay_buffer, folder)
        (restored if spec.save_replay else reset).append("replay buffer")
    (folder / state.NUMBERS).write_text(json.dumps(numbers), encoding="utf-8")
    rows = {f"{_ROWS}.{name}": value for name, value in _bridge(model).state_dict().items()}
    np.savez(folder / state.ARRAYS, drawn=drawn, **state.arrays(model), **rows)
    normalizer = model.get_vec_normalize_env()
    if normalizer is not None:
        np.savez(folder / state.NORMALIZER, **state.normalizer(normalizer))
        restored.append("normaliser")
    return {"restored": restored, "reset": reset, "unavailable": []}


def _restore(
    model: BaseAlgorithm, env: Tracked, context: TrainContext
) -> Mapping[str, Array] | None:
    """Fill a fresh model from a checkpoint; returns the arrays of its exploration."""
    folder = context.resume
    assert folder is not None
    weights.restore(model, folder / MODEL)
    numbers = state.read_numbers(folder)
    state.restore_numbers(model, numbers)
    if model.num_timesteps != context.step:
        raise IntegrityError(
            f"{folder}: SB3 counted {model.num_timesteps:,} transitions, the run {context.step:,}"
        )
    normalizer = model.get_vec_normalize_env()
    if normalizer is not None:
        state.restore_normalizer(normalizer, folder)
    if isinstance(model, OffPolicyAlgorithm):
        _restore_replay(model, folder, context, numbers["warmup_from"])
    stored = state.read_arrays(folder / state.ARRAYS)
    goes_on = env.state_dict() is not None
    state.restore_arrays(model, stored, goes_on=goes_on)
    if not goes_on:
        # Without a last observation SB3 asks the bridge for the first one.
        return None
    model._last_obs = bridge.observe(model.env, env.last_obs)
    if normalizer is not None:
        model._last_original_obs = bridge.observe(normalizer.venv, env.last_obs)
    _bridge(model).load_state_dict(state.part(stored, _ROWS))
    return stored


def _restore_replay(
    model: OffPolicyAlgorithm, folder: Path, context: TrainContext, warmup_from: int
) -> None:
    if (folder / replay.REPLAY).is_file():
        replay.restore(model.replay_buffer, folder)
        model.learning_starts += warmup_from
        return
    model.learning_starts += context.step
    context.say(
        "the checkpoint has no replay buffer: it starts empty, "
        f"updates go on at step {model.learning_starts:,}"
    )


def _bridge(model: BaseAlgorithm) -> bridge.Bridge:
    return model.env.unwrapped


class Actor:
    """A trained policy for N rows that acts the same way every time."""

    def __init__(self, model: BaseAlgorithm, venv: VecEnv, first_action: int) -> None:
        """Act by the model's policy on what its wrappers make of an observation."""
        self._policy = model.policy
        self._venv = venv
        self._space = venv.action_space
        self._first_action = first_action
        self._memory: Any = None
        self._starts = np.ones(venv.num_envs, dtype=bool)

    def act(self, obs: Array) -> Array:
        """Return deterministic actions (N, *action) within the action space."""
        seen = bridge.observe(self._venv, obs)
        actions, self._memory = self._policy.predict(
            seen, self._memory, self._starts, deterministic=True
        )
        self._starts[:] = False
        if isinstance(self._space, spaces.Box):
            return np.clip(actions, self._space.low, self._space.high)
        return actions + self._first_action

    def reset(self, rows: Array) -> None:
        """Forget the memory of the rows (N,) where the mask is true."""
        self._starts |= np.asarray(rows, dtype=bool)


def load(checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> Policy:
    """Rebuild the policy of a checkpoint for acting only; no generator is disturbed."""
    venv = bridge.wrap(env, spec.agent_params, say=_unsaid)
    if isinstance(venv, VecNormalize):
        venv.training = False
        state.restore_normalizer(venv, checkpoint)
    agent = _smallest(spec.agent_params, env.num_envs)
    with torch.random.fork_rng(devices=[]):
        model = build.model(spec.algo, agent, venv, device=spec.device, seed=None)
    weights.restore_policy(model, checkpoint / MODEL)
    return Actor(model, venv, int(getattr(env.action_space, "start", 0)))


def _smallest(agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Return the settings with buffers as small as a model that never learns can have."""
    least = {"n_steps": 2, "batch_size": 2 * num_envs, "buffer_size": 2 * num_envs}
    if "train_freq" in agent:
        least["n_steps"] = 1
    return {key: least.get(key, value) for key, value in agent.items()}


def _unsaid(text: str) -> None:
    """Drop a remark that training has made already."""
