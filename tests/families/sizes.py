"""Toy sizes for any label, found from its plate and preset alone: a new one needs no entry."""

from collections.abc import Iterator, Mapping
from typing import Any

from srb_train import config, registry

COPIES = 4
HORIZON = 16
_HORIZONS = ("n_steps", "rollouts", "num_steps_per_env", "horizon")
"""What families call the steps of a rollout; only labels that learn from rollouts have them so."""
_NETWORKS = ("net_arch", "layers", "hidden_dims")
_REPLAYS = {"buffer_size": 400, "memory_size": 100}
"""Replay buffers that fill up and begin to overwrite within a toy run."""


def preset(algo: str) -> dict[str, Any]:
    """Return the settings of a label's preset by dotted key."""
    family, _, _ = registry.family_of(algo)
    task = config.Selected(name="cartpole", preset="cartpole")
    guest = registry.presets(family)
    found = config.compose(algo, task, [], config_dir=None, unions=family.unions, guest=guest)
    return dict(_flat(found.agent))


def shrink(algo: str) -> tuple[str, ...]:
    """Return the overrides of `agent` that make a label quick to train."""
    family, label, _ = registry.family_of(algo)
    known = preset(algo)
    small = {key: value for key, value in _flat(family.smoke) if known.get(key) is not None}
    for key, value in known.items():
        last = key.rpartition(".")[2]
        if label.on_policy and key in _HORIZONS:
            small[key] = HORIZON
        elif last in _NETWORKS and isinstance(value, list):
            small[key] = [8]
        elif key in _REPLAYS and isinstance(value, int) and value > 0:
            small[key] = _REPLAYS[key]
    return tuple(f"agent.{key}={value}" for key, value in sorted(small.items()))


def _flat(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
