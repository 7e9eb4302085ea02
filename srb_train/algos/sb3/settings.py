"""What can be checked and computed about this family's settings without importing it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from srb_train import spelling
from srb_train.errors import UsageError

ACTIVATIONS = {
    "tanh": "Tanh",
    "relu": "ReLU",
    "elu": "ELU",
    "leaky_relu": "LeakyReLU",
    "gelu": "GELU",
    "silu": "SiLU",
}
"""Names in a preset and the classes of `torch.nn` that they mean."""
ACTION_NOISES = ("normal", "ornstein_uhlenbeck")
SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf", "delta_std")
LINEAR = "lin_"
MINIBATCHES = 8
"""Into how many minibatches a rollout is cut where `batch_size` is null."""

UNIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(SCHEDULES, ("float", "str")),
    "batch_size": ("int",),
    "n_top": ("int",),
    "target_kl": ("float",),
    "max_grad_norm": ("float",),
    "ent_coef": ("float", "str"),
    "target_entropy": ("float", "str"),
    "action_noise": ("str", "null"),
    "policy_kwargs.net_arch": ("mapping",),
}

STRUCTURAL = frozenset(
    {
        "policy",
        "policy_kwargs",
        "normalize_observation",
        "normalize_reward",
        "buffer_size",
        "action_noise",
        "use_sde",
        # The optimizer of A2C is stored with its kind and its epsilon.
        "use_rms_prop",
        "rms_prop_eps",
        # A checkpoint of ARS may lie within a population.
        "n_delta",
        "n_eval_episodes",
    }
)

SMOKE: Mapping[str, Any] = {
    "n_epochs": 2,
    "learning_starts": 64,
    "buffer_size": 4000,
    "batch_size": 32,
    "gradient_steps": 1,
    "n_delta": 1,
    "n_top": 1,
}
"""What makes a run of any label take seconds."""

_AT_LEAST_ONE = (
    "batch_size",
    "n_steps",
    "n_epochs",
    "n_critic_updates",
    "sub_sampling_factor",
    "cg_max_steps",
    "line_search_max_iter",
    "buffer_size",
    "train_freq",
    "policy_delay",
    "target_update_interval",
    "n_delta",
    "n_top",
    "n_eval_episodes",
)


def settle(label: str, agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Return `agent` with computed values filled in; a `UsageError` shows what does not fit."""
    settled = dict(agent)
    for key in SCHEDULES:
        if key in settled:
            settled[key] = _schedule(key, settled[key])
    for key in _AT_LEAST_ONE:
        value = settled.get(key)
        if value is not None and value < 1:
            raise UsageError(f"agent.{key}={value} must be at least 1")
    _check_choices(settled)
    if "train_freq" in settled:
        _check_replay(settled, num_envs)
    elif label == "sb3_ars":
        _check_population(settled)
    else:
        _settle_rollout(settled, num_envs)
    return settled


def rollout(label: str, agent: Mapping[str, Any], num_envs: int) -> int:
    """Return the transitions between two boundaries."""
    if label == "sb3_ars":
        return num_envs
    return int(agent.get("train_freq", agent["n_steps"])) * num_envs


def linear_start(value: object) -> float | None:
    """Return X of `lin_X`, the value of a schedule that falls to zero; None for anything else."""
    if not isinstance(value, str) or not value.startswith(LINEAR):
        return None
    return _number(value.removeprefix(LINEAR))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _schedule(key: str, value: float | str | None) -> float | str | None:
    """Accept a number, a number read as text, `lin_X`, and null where the preset has it."""
    if value is None or (isinstance(value, str) and linear_start(value) is not None):
        return value
    number = _number(value) if isinstance(value, str) else float(value)
    if number is None:
        raise UsageError(f"agent.{key}={value!r} is neither a number nor lin_<number> (lin_3e-4)")
    return number


def _check_choices(agent: Mapping[str, Any]) -> None:
    kwargs = agent["policy_kwargs"]
    _choose("policy_kwargs.activation_fn", kwargs.get("activation_fn"), list(ACTIVATIONS))
    _choose("action_noise", agent.get("action_noise"), ACTION_NOISES)
    if kwargs.get("shared_lstm") and kwargs.get("enable_critic_lstm"):
        raise UsageError(
            "agent.policy_kwargs.shared_lstm=true needs "
            "agent.policy_kwargs.enable_critic_lstm=false"
        )
    for key in ("ent_coef", "target_entropy"):
        value = agent.get(key)
        start = value.removeprefix("auto").removeprefix("_") if isinstance(value, str) else ""
        if start and (key == "target_entropy" or _number(start) is None):
            raise UsageError(f"agent.{key}={value!r} is neither a number nor auto")


def _choose(key: str, value: Any, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise spelling.not_one_of(f"agent.{key}", value, known)


def _check_replay(agent: Mapping[str, Any], num_envs: int) -> None:
    needed = num_envs * agent["n_steps"]
    if agent["buffer_size"] < needed:
        raise UsageError(
            f"agent.buffer_size={agent['buffer_size']:,} cannot hold agent.n_steps="
            f"{agent['n_steps']} of env.num_envs={num_envs}; it must be at least {needed:,}"
        )
    if agent["gradient_steps"] < 1 and agent["gradient_steps"] != -1:
        raise UsageError(
            f"agent.gradient_steps={agent['gradient_steps']} must be at least 1, "
            "or -1 for one a transition"
        )


def _check_population(agent: Mapping[str, Any]) -> None:
    top, directions = agent["n_top"], agent["n_delta"]
    if top is not None and top > directions:
        raise UsageError(
            f"agent.n_top={top} counts more directions than agent.n_delta={directions} tries; "
            f"use agent.n_top={directions} or null"
        )


def _settle_rollout(agent: dict[str, Any], num_envs: int) -> None:
    size = agent["n_steps"] * num_envs
    if size < 2 and ("batch_size" in agent or agent.get("normalize_advantage")):
        raise UsageError(
            f"agent.n_steps={agent['n_steps']} x env.num_envs={num_envs} = {size} transition; "
            "an update needs at least 2"
        )
    if "batch_size" not in agent:
        return
    if agent["batch_size"] is None:
        agent["batch_size"] = _minibatch(size)
    if agent["batch_size"] == 1 or size % agent["batch_size"]:
        raise UsageError(_indivisible(agent["n_steps"], num_envs, agent["batch_size"]))


def _minibatch(size: int) -> int:
    """Return the largest divisor of `size` up to an eighth of it, but more than 1."""
    divisors = _divisors(size)
    return max((d for d in divisors if d * MINIBATCHES <= size), default=divisors[0])


def _divisors(size: int) -> list[int]:
    """Return the divisors of `size` above 1, ascending."""
    small = [d for d in range(1, math.isqrt(size) + 1) if size % d == 0]
    return sorted({*small, *(size // d for d in small)} - {1})


def _indivisible(n_steps: int, num_envs: int, batch: int) -> str:
    """Say why a rollout cannot be cut into minibatches of `batch`, and what is nearest."""
    size = n_steps * num_envs
    if batch == 1:
        reason = "agent.batch_size=1: a minibatch needs at least 2 transitions"
    else:
        reason = (
            f"agent.batch_size={batch:,} does not divide the rollout:\n"
            f"  agent.n_steps={n_steps:,} x env.num_envs={num_envs:,} = {size:,} transitions "
            f"= {size // batch:,} x {batch:,} + {size % batch:,}"
        )
    lines = [reason, "nearest values that fit, one of them suffices:"]
    lines.append(
        f"  agent.batch_size={_around(_divisors(size), batch)}, or null to have it computed"
    )
    if batch > 1:
        for key, value, other in (
            ("agent.n_steps", n_steps, num_envs),
            ("env.num_envs", num_envs, n_steps),
        ):
            stride = batch // math.gcd(batch, other)
            below = value // stride * stride
            lines.append(f"  {key}={_around([below, below + stride], value)}")
    return "\n".join(lines)


def _around(values: Iterable[int], wanted: int) -> str:
    """Return the positive neighbours of `wanted` among `values` as text."""
    known = [value for value in values if value > 0]
    below = max((value for value in known if value < wanted), default=None)
    above = min((value for value in known if value > wanted), default=None)
    return " or ".join(str(value) for value in (below, above) if value is not None)
