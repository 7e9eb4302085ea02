"""What can be checked and computed about this family's settings without importing it.

SBX speaks the language of Stable-Baselines3, whose checks come first; these are its own limits.
"""

from collections.abc import Mapping
from typing import Any

from srb_train.algos.sb3 import settings as sb3
from srb_train.errors import UsageError

UNIONS: Mapping[str, tuple[str, ...]] = {
    **sb3.UNIONS,
    "qf_learning_rate": ("float",),
    "policy_kwargs.activation_fn": ("str", "null"),
}
STRUCTURAL = sb3.STRUCTURAL
SMOKE = sb3.SMOKE

_ONE_RATE = ("sbx_dqn", "sbx_ddpg", "sbx_td3", "sbx_crossq")
"""Labels whose optimisers keep the learning rate that they began with, whatever its schedule."""

rollout = sb3.rollout


def settle(label: str, agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Return `agent` with computed values filled in; a `UsageError` shows what does not fit."""
    settled = sb3.settle(label, agent, num_envs)
    if label in _ONE_RATE and isinstance(settled["learning_rate"], str):
        start = sb3.linear_start(settled["learning_rate"])
        raise UsageError(
            f"agent.learning_rate={settled['learning_rate']}: SBX keeps one rate for {label}; "
            f"use agent.learning_rate={start}"
        )
    for key in ("ent_coef", "target_entropy"):
        if isinstance(settled.get(key), int):
            settled[key] = float(settled[key])
    _check_networks(label, settled["policy_kwargs"])
    _check_quantiles(settled)
    return settled


def _check_networks(label: str, kwargs: Mapping[str, Any]) -> None:
    dropout = kwargs.get("dropout_rate", 0.0)
    if not 0 <= dropout < 1:
        raise UsageError(
            f"agent.policy_kwargs.dropout_rate={dropout} must be from 0 to less than 1"
        )
    sizes = kwargs["net_arch"]
    if label == "sbx_dqn" and (isinstance(sizes, Mapping) or len(set(sizes)) != 1):
        raise UsageError(
            f"agent.policy_kwargs.net_arch={sizes}: SBX gives {label} two layers of one width, "
            "which is [128]"
        )
    if isinstance(sizes, Mapping):
        heads = {"pi", "vf" if label == "sbx_ppo" else "qf"}
        if set(sizes) != heads:
            names = " and ".join(sorted(heads))
            raise UsageError(f"agent.policy_kwargs.net_arch has {', '.join(sizes)}; use {names}")


def _check_quantiles(agent: Mapping[str, Any]) -> None:
    dropped = agent.get("top_quantiles_to_drop_per_net")
    if dropped is None:
        return
    quantiles = agent["policy_kwargs"]["n_quantiles"]
    if not 0 <= dropped < quantiles:
        raise UsageError(
            f"agent.top_quantiles_to_drop_per_net={dropped} must be from 0 to less than "
            f"agent.policy_kwargs.n_quantiles={quantiles}"
        )
