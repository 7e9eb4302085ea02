"""One segment of training by SB3's `learn`: go on from a checkpoint, learn, save.

Whatever keeps the networks (`Nets`), the rest of a checkpoint is the same: see `state`.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from srb_train.algos.sb3 import bridge, replay, state
from srb_train.algos.sb3.lead import Lead, Nets, Sink
from srb_train.contracts import Array, Tracked, TrainContext
from srb_train.errors import IntegrityError, TrainingFailed
from srb_train.spec import RunSpec
from srb_train.stored import read_arrays

_ROWS = "rows"


def train(context: TrainContext, env: Tracked, model: BaseAlgorithm, nets: Nets) -> None:
    """Train a fresh model until the context says stop, from its checkpoint if there is one."""
    spec = context.spec
    model.set_logger(Logger(folder=None, output_formats=[Sink(context)]))
    exploration = None
    if context.resume is not None:
        nets.restore(model, context.resume)
        exploration = _restore(model, env, context, context.resume)
    lead = Lead(context, nets, exploration)

    def save(folder: Path) -> Mapping[str, list[str]]:
        nets.save(model, folder)
        sde = {f"sde.{name}": value for name, value in nets.exploration(model).items()}
        return _save(model, spec, folder, {"drawn": np.array(lead.drawn), **sde})

    with context.until_stopped(save):
        _learn(model, spec.steps - context.step, lead, nets)
    if model.logger.name_to_value:
        lead.log()


def _learn(model: BaseAlgorithm, steps: int, lead: Lead, nets: Nets) -> None:
    try:
        model.learn(steps, lead, log_interval=None, reset_num_timesteps=False)
    except ValueError as error:
        if nets.finite(model):
            raise
        raise TrainingFailed(
            f"the weights are no longer finite at step {model.num_timesteps:,}: "
            "lower agent.learning_rate, and keep run.nan_guard=true to see where it begins"
        ) from error


def _save(
    model: BaseAlgorithm, spec: RunSpec, folder: Path, exploration: Mapping[str, Array]
) -> dict[str, list[str]]:
    """Write all but the networks and return what going on restores."""
    restored = ["weights", "optimizers", "SB3 counters"]
    reset: list[str] = []
    numbers = state.numbers(model)
    if isinstance(model, OffPolicyAlgorithm):
        numbers["warmup_from"] = model.learning_starts - spec.agent_params["learning_starts"]
        if spec.save_replay:
            replay.save(model.replay_buffer, folder)
        (restored if spec.save_replay else reset).append("replay buffer")
    (folder / state.NUMBERS).write_text(json.dumps(numbers), encoding="utf-8")
    rows = {f"{_ROWS}.{name}": value for name, value in _bridge(model).state_dict().items()}
    np.savez(folder / state.ARRAYS, **exploration, **state.arrays(model), **rows)
    normalizer = model.get_vec_normalize_env()
    if normalizer is not None:
        np.savez(folder / state.NORMALIZER, **state.normalizer(normalizer))
        restored.append("normaliser")
    return {"restored": restored, "reset": reset, "unavailable": []}


def _restore(
    model: BaseAlgorithm, env: Tracked, context: TrainContext, folder: Path
) -> Mapping[str, Array] | None:
    """Fill all but the networks from a checkpoint; returns the arrays of its exploration."""
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
    stored = read_arrays(folder / state.ARRAYS)
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
