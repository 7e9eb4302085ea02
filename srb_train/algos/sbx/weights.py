"""The arrays of an SBX model in one .npz by dotted path, and back: nothing pickled.

`policy.actor_state.params.params.Dense_0.kernel` is a weight; beside the weights stand targets,
batch statistics, optimiser states, the entropy coefficient and JAX's keys. SBX's own file pickles
code and is not used.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.training.train_state import TrainState
from stable_baselines3.common.base_class import BaseAlgorithm

from srb_train.contracts import Array
from srb_train.errors import UsageError
from srb_train.stored import compare, read_arrays

MODEL = "model.npz"
_RATE = "adaptive_learning_rate"
_LEARNED = "log_ent_coef"
_KEYS = ("key", "noise_key")


def save(model: BaseAlgorithm, folder: Path) -> None:
    """Write every array of the model."""
    found = _flat(model)
    if hasattr(model, "adaptive_lr"):
        found[_RATE] = np.array(model.adaptive_lr.current_adaptive_lr)
    np.savez(folder / MODEL, **found)


def restore(model: BaseAlgorithm, folder: Path) -> None:
    """Fill a fresh model; arrays that do not fit are a `UsageError` with both shapes."""
    path = folder / MODEL
    stored = read_arrays(path)
    rate = stored.pop(_RATE, None)
    if rate is not None and hasattr(model, "adaptive_lr"):
        model.adaptive_lr.current_adaptive_lr = rate[()]
    fresh = _flat(model)
    if any(_LEARNED in name for name in stored) != any(_LEARNED in name for name in fresh):
        raise UsageError(f"{path}: agent.ent_coef must stay learned (auto) or fixed, as it was")
    compare(_shapes(stored), _shapes(fresh), path)
    for owner, name, tree in _trees(model):
        start = f"{owner}.{name}"
        filled = jax.tree_util.tree_map_with_path(
            lambda place, leaf, start=start: _like(leaf, stored[_dotted(start, place)]), tree
        )
        setattr(model.policy if owner == "policy" else model, name, filled)


def finite(model: BaseAlgorithm) -> bool:
    """Tell whether all weights are finite."""
    states = [tree for _, _, tree in _trees(model) if isinstance(tree, TrainState)]
    leaves = jax.tree_util.tree_leaves([state.params for state in states])
    return all(bool(np.isfinite(leaf).all()) for leaf in leaves)


def exploration(model: BaseAlgorithm) -> dict[str, Array]:
    """Return the keys that state-dependent exploration draws from for a whole rollout."""
    if not model.use_sde:
        return {}
    return {name: np.asarray(getattr(model.policy, name)) for name in _KEYS}


def restore_exploration(model: BaseAlgorithm, stored: Mapping[str, Array]) -> None:
    """Put back the keys, which `learn` has split anew."""
    for name, value in stored.items():
        setattr(model.policy, name, jnp.asarray(value))


def redraw_exploration(model: BaseAlgorithm) -> None:
    """Split the key of a rollout that the checkpoint had not begun."""
    model.policy.reset_noise()


def _trees(model: BaseAlgorithm) -> list[tuple[str, str, Any]]:
    """Return (owner, attribute, tree) of all training states and keys."""
    owners = {"policy": model.policy, "model": model}
    return [
        (owner, name, value)
        for owner, thing in owners.items()
        for name, value in sorted(vars(thing).items())
        if isinstance(value, TrainState | jax.Array)
    ]


def _flat(model: BaseAlgorithm) -> dict[str, Array]:
    return {
        _dotted(f"{owner}.{name}", place): np.asarray(leaf)
        for owner, name, tree in _trees(model)
        for place, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _dotted(start: str, place: Any) -> str:
    rest = jax.tree_util.keystr(place, simple=True, separator=".")
    return f"{start}.{rest}" if rest else start


def _shapes(arrays: Mapping[str, Array]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in arrays.items()}


def _like(leaf: Any, stored: Array) -> Any:
    """Return a stored array as JAX sees the fresh leaf, so that both run the same program."""
    if isinstance(leaf, int | float):
        return type(leaf)(stored.item())
    if leaf.weak_type and leaf.ndim == 0:
        return jnp.asarray(stored.item())
    return jnp.asarray(stored, dtype=leaf.dtype)
