"""N copies of the Gymnasium environment that a local Minari dataset names as its own."""

from collections.abc import Mapping
from typing import Any

import minari
from gymnasium.envs.registration import EnvSpec

from srb_train import spelling
from srb_train.contracts import BatchedEnv
from srb_train.envs.gymnasium import machine as gymnasium_rows
from srb_train.errors import UnsupportedError, UsageError


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N rows of the environment of `name`, a dataset's id; see configs/env/minari.yaml."""
    spec = _spec(name, evaluation=bool(params.get("evaluation")))
    return gymnasium_rows.rows_of(f"minari/{name}", spec, num_envs, params)


def _spec(name: str, *, evaluation: bool) -> EnvSpec:
    """Return what makes the environment; with `evaluation`, the one meant for it if there is."""
    try:
        dataset: Any = minari.load_dataset(name, download=False)
    except FileNotFoundError as error:
        local = minari.list_local_datasets()
        raise UsageError(
            f"minari/{name}: the dataset is not on this machine{spelling.nearest(name, local)}, "
            f"and nothing is downloaded unasked: minari download {name}"
        ) from error
    # Minari has no public word for the second one.
    spec = (dataset._eval_env_spec if evaluation else None) or dataset.env_spec
    if spec is None:
        raise UnsupportedError(
            f"minari/{name}: the dataset does not say what environment it comes from; "
            "gymnasium/<id> takes the one that you know it to be"
        )
    return spec
