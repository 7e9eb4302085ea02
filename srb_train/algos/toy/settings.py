"""Arithmetic of the toy family that needs no NumPy."""

from collections.abc import Mapping
from typing import Any

from srb_train.errors import UsageError


def settle(label: str, agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Fill in the number of elites; every row tries one candidate a generation."""
    elites = agent["elites"] if agent["elites"] is not None else max(1, num_envs // 5)
    if not 1 <= elites <= num_envs:
        raise UsageError(
            f"agent.elites={elites} must lie between 1 and env.num_envs={num_envs}: "
            "each copy of the environment tries one candidate"
        )
    if agent["horizon"] < 1:
        raise UsageError(f"agent.horizon={agent['horizon']} must be at least 1")
    return {**agent, "elites": elites}


def rollout(label: str, agent: Mapping[str, Any], num_envs: int) -> int:
    """Return the transitions of one generation."""
    return int(agent["horizon"]) * num_envs
