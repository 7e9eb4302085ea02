"""What can be checked and computed about this family's settings without importing it."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from srb_train import spelling
from srb_train.errors import UnsupportedError, UsageError

ACTIVATIONS = ("tanh", "relu", "elu", "leaky_relu", "gelu", "silu")
SCALER = "RunningStandardScaler"
ADAPTIVE, LINEAR = "KLAdaptiveLR", "LinearLR"
GAUSSIAN, WALK = "GaussianNoise", "OrnsteinUhlenbeckNoise"
PREPROCESSORS = (
    "observation_preprocessor",
    "value_preprocessor",
    "amp_observation_preprocessor",
)
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    SCALER: {"epsilon": 1e-8, "clip_threshold": 5.0},
    ADAPTIVE: {
        "kl_threshold": 0.008,
        "min_lr": 1e-6,
        "max_lr": 1e-2,
        "kl_factor": 2.0,
        "lr_factor": 1.5,
    },
    LINEAR: {"start_factor": 1.0, "end_factor": 0.0},
    GAUSSIAN: {"mean": 0.0, "std": 0.1},
    WALK: {"theta": 0.15, "sigma": 0.2, "base_scale": 0.5, "mean": 0.0, "std": 1.0},
}
"""The classes of skrl that a setting may name, and what their arguments are unless set."""

_RATES = {"skrl_sac": 3, "skrl_td3": 2, "skrl_ddpg": 2}
"""Optimizers of a label, each of which may have a learning rate of its own."""
_ADAPTS = ("skrl_ppo", "skrl_ppo_rnn", "skrl_a2c", "skrl_rpo", "skrl_amp")

UNIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(PREPROCESSORS, ("str", "bool", "null")),
    "learning_rate": ("list",),
    "learning_rate_scheduler": ("str", "null"),
    "exploration_noise": ("str", "null"),
    "smooth_regularization_noise": ("str", "null"),
    "target_entropy": ("float",),
    "motions": ("str",),
}
STRUCTURAL = frozenset(
    {
        *PREPROCESSORS,
        "models",
        "memory_size",
        "learning_rate_scheduler",
        "exploration_noise",
        "learn_entropy",
        "motion_dataset",
        "reply_buffer",
    }
)
SMOKE: Mapping[str, Any] = {
    "rollouts": 64,
    "learning_epochs": 2,
    "mini_batches": 2,
    "conjugate_gradient_steps": 3,
    "gradient_steps": 1,
    "batch_size": 32,
    "memory_size": 500,
    "random_timesteps": 16,
    "learning_starts": 16,
    "amp_batch_size": 64,
    "motion_dataset": {"memory_size": 256},
    "reply_buffer": {"memory_size": 512},
}
"""What makes a run of any label take seconds."""

_AT_LEAST_ONE = (
    "rollouts",
    "learning_epochs",
    "mini_batches",
    "gradient_steps",
    "batch_size",
    "memory_size",
    "update_interval",
    "target_update_interval",
    "policy_delay",
    "conjugate_gradient_steps",
    "max_backtrack_steps",
    "amp_batch_size",
)
_AT_LEAST_NOTHING = ("random_timesteps", "learning_starts", "value_clip", "grad_norm_clip", "alpha")
_SHARES = ("discount_factor", "gae_lambda", "polyak", "percentile", "accept_ratio")


def settle(label: str, agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Return `agent` with computed values filled in; a `UsageError` shows what does not fit."""
    refuse_process_group(os.environ)
    settled = dict(agent)
    _check_ranges(settled)
    _check_models(settled["models"])
    _settle_classes(label, settled)
    settled["learning_rate"] = _rates(label, settled["learning_rate"])
    if "memory_size" in settled:
        _check_replay(settled, num_envs)
    elif label == "skrl_ppo_rnn":
        _check_sequences(settled, num_envs)
    elif "mini_batches" in settled:
        _check_minibatches(settled["rollouts"] * num_envs, settled, num_envs)
    if "motions" in settled:
        _settle_motions(settled, num_envs)
    return settled


def rollout(label: str, agent: Mapping[str, Any], num_envs: int) -> int:
    """Return the transitions between two boundaries."""
    return int(agent.get("rollouts", 1)) * num_envs


def refuse_process_group(environ: Mapping[str, str]) -> int:
    """Return the number of processes of this run, which is one; more are unsupported.

    skrl joins a process group while it is imported, and waits there for the others.
    """
    world = environ.get("WORLD_SIZE", "1")
    if world.isdigit() and int(world) > 1:
        raise UnsupportedError(
            f"WORLD_SIZE={world}: skrl labels train in one process; unset WORLD_SIZE, RANK and "
            "LOCAL_RANK, or leave out torchrun"
        )
    return 1


def choose(key: str, value: Any, known: Iterable[str]) -> str:
    """Return `value` if it is one of the known words; otherwise name the nearest."""
    words = list(known)
    if value in words:
        return str(value)
    raise spelling.not_one_of(f"agent.{key}", value, words)


def _check_ranges(agent: Mapping[str, Any]) -> None:
    for keys, least in ((_AT_LEAST_ONE, 1), (_AT_LEAST_NOTHING, 0)):
        for key in keys:
            if key in agent and agent[key] < least:
                raise UsageError(f"agent.{key}={agent[key]} must be at least {least}")
    for key in _SHARES:
        if key in agent and not 0.0 <= agent[key] <= 1.0:
            raise UsageError(f"agent.{key}={agent[key]} must lie between 0 and 1")
    for key, value in agent.get("exploration", {}).items():
        if not 0.0 <= value <= 1.0:
            raise UsageError(f"agent.exploration.{key}={value} must lie between 0 and 1")


def _check_models(models: Mapping[str, Any]) -> None:
    for name, plan in models.items():
        if not isinstance(plan, Mapping):
            continue
        choose(f"models.{name}.activation", plan["activation"], ACTIVATIONS)
        sizes = {"layers": plan["layers"], **{key: [plan[key]] for key in _GRU & plan.keys()}}
        for key, widths in sizes.items():
            if any(width < 1 for width in widths):
                raise UsageError(f"agent.models.{name}.{key}={plan[key]}: at least 1 each")


_GRU = {"hidden_size", "num_layers"}


def _settle_classes(label: str, agent: dict[str, Any]) -> None:
    """Replace truth values by names, and fill in the arguments of what is named."""
    schedulers = (ADAPTIVE, LINEAR) if label in _ADAPTS else (LINEAR,)
    known: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(PREPROCESSORS, (SCALER,)),
        "learning_rate_scheduler": schedulers,
        "exploration_noise": (GAUSSIAN, WALK),
        "smooth_regularization_noise": (GAUSSIAN,),
    }
    for key in known.keys() & agent.keys():
        value = agent[key]
        if isinstance(value, bool):
            value = SCALER if value else None
        agent[key] = None if value is None else choose(key, value, known[key])
        arguments = f"{key}_kwargs"
        if arguments in agent:
            agent[arguments] = _arguments(arguments, agent[arguments], agent[key])


def _arguments(key: str, given: Mapping[str, Any], name: str | None) -> dict[str, float]:
    """Return the arguments of a class, defaults filled in; none where no class is named."""
    if name is None:
        return {}
    defaults = DEFAULTS[name]
    for argument, value in given.items():
        choose(key, argument, defaults)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"agent.{key}.{argument}={value!r} must be a number")
    return {**defaults, **{argument: float(value) for argument, value in given.items()}}


def _rates(label: str, given: float | list[Any]) -> float | list[float]:
    """Return the learning rate, or one for each optimizer of the label."""
    if not isinstance(given, list):
        return given
    wanted = _RATES.get(label, 0)
    if len(given) != wanted or not all(isinstance(each, int | float) for each in given):
        several = f"a number or a list of {wanted} numbers" if wanted else "a number"
        raise UsageError(f"agent.learning_rate={given}: {label} takes {several}")
    return [float(each) for each in given]


def _check_replay(agent: Mapping[str, Any], num_envs: int) -> None:
    kept, batch = agent["memory_size"] * num_envs, agent["batch_size"]
    if kept < batch:
        raise UsageError(
            f"agent.memory_size={agent['memory_size']} x env.num_envs={num_envs} = {kept} "
            f"transitions cannot fill agent.batch_size={batch}; "
            f"use agent.memory_size={-(-batch // num_envs)} or more"
        )
    if batch < 2 and agent["observation_preprocessor"] is not None:
        raise UsageError("agent.batch_size=1: a preprocessor needs at least 2 transitions")


def _check_minibatches(parts: int, agent: Mapping[str, Any], num_envs: int) -> None:
    """Refuse minibatches that are unequal or too small; `parts` is what is dealt out to them."""
    count, size = agent["mini_batches"], agent["rollouts"] * num_envs
    if parts % count == 0 and size // count > 1:
        return
    fits = [n for n in range(1, parts + 1) if parts % n == 0 and size // n > 1]
    head = f"agent.rollouts={agent['rollouts']} x env.num_envs={num_envs} = {size:,} transitions"
    if not fits:
        raise UsageError(f"{head}; a minibatch needs at least 2")
    near = _beside(fits, count)
    raise UsageError(
        f"agent.mini_batches={count} does not cut the rollout into equal parts of 2 or more:\n"
        f"  {head}\n"
        f"nearest that fit: agent.mini_batches={' or '.join(str(n) for n in near)}"
    )


def _beside(fits: list[int], wanted: int) -> list[int]:
    below = [n for n in fits if n < wanted][-1:]
    return below + [n for n in fits if n > wanted][:1]


def _check_sequences(agent: Mapping[str, Any], num_envs: int) -> None:
    """A minibatch of a recurrent label is whole sequences of the rollout."""
    length, steps = agent["models"]["sequence_length"], agent["rollouts"]
    fits = [n for n in range(1, steps + 1) if steps % n == 0]
    if length not in fits:
        near = " or ".join(str(n) for n in _beside(fits, length))
        raise UsageError(
            f"agent.models.sequence_length={length} does not divide agent.rollouts={steps}; "
            f"nearest that do: {near}"
        )
    _check_minibatches(steps // length * num_envs, agent, num_envs)


def _settle_motions(agent: dict[str, Any], num_envs: int) -> None:
    """Check that there are motions to imitate, and round the memories up to whole additions.

    A memory of skrl that is overrun within one addition forgets that it was full.
    """
    if agent["motions"] is None:
        raise UsageError(
            "agent.motions=null: skrl_amp imitates reference behaviour; give an .npz with the "
            "arrays `observations` and `next_observations` (docs/families/skrl.md makes one)"
        )
    path = Path(agent["motions"]).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"agent.motions={path}: no such file")
    agent["motions"] = str(path)
    additions = {
        "motion_dataset": agent["amp_batch_size"],
        "reply_buffer": agent["rollouts"] * num_envs,
    }
    for key, added in additions.items():
        size = agent[key]["memory_size"]
        if size < 1:
            raise UsageError(f"agent.{key}.memory_size={size} must be at least 1")
        agent[key] = {**agent[key], "memory_size": -(-size // added) * added}
