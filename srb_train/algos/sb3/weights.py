"""Tensors from SB3's zip files into a model: never pickled code, never a silent mismatch."""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file

from srb_train.algos.sb3.ars import SteppedARS
from srb_train.contracts import Array
from srb_train.errors import IntegrityError, UsageError
from srb_train.stored import compare

MODEL = "model.zip"


def save(model: BaseAlgorithm, folder: Path) -> None:
    """Write SB3's own file."""
    # The run's own state holds the last observations.
    model.save(folder / MODEL, exclude=["_last_obs", "_last_original_obs"])


def restore(model: BaseAlgorithm, folder: Path) -> None:
    """Fill networks, optimisers and the learned entropy coefficient from a checkpoint."""
    path = folder / MODEL
    modules, variables = _read(path, model)
    wanted = set(model._get_torch_save_params()[0])
    if set(modules) != wanted:
        entropy = "ent_coef_optimizer" in wanted ^ set(modules)
        hint = "; agent.ent_coef must stay learned (auto) or fixed, as it was" if entropy else ""
        raise UsageError(
            f"{path} holds {', '.join(sorted(modules))}; "
            f"these settings need {', '.join(sorted(wanted))}{hint}"
        )
    _check(model, modules["policy"], path)
    model.set_parameters(modules, exact_match=True, device=model.device)
    learned = variables.get("log_ent_coef")
    if learned is not None:
        model.log_ent_coef.data = learned.data


def restore_policy(model: BaseAlgorithm, folder: Path) -> None:
    """Fill the networks alone from a checkpoint."""
    _fill_policy(model, folder / MODEL)


def finite(model: BaseAlgorithm) -> bool:
    """Tell whether all weights are finite."""
    return all(bool(torch.isfinite(each).all()) for each in model.policy.parameters())


def exploration(model: BaseAlgorithm) -> dict[str, Array]:
    """Return the matrices of state-dependent exploration."""
    if not model.use_sde:
        return {}
    names = ("exploration_mat", "exploration_matrices")
    return {name: getattr(_sde(model), name).detach().cpu().numpy() for name in names}


def restore_exploration(model: BaseAlgorithm, stored: Mapping[str, Array]) -> None:
    """Put back the matrices, which `learn` has drawn anew."""
    for name, value in stored.items():
        setattr(_sde(model), name, torch.from_numpy(value).to(model.device))


def redraw_exploration(model: BaseAlgorithm) -> None:
    """Draw the matrices of a rollout that the checkpoint had not begun."""
    getattr(model, "actor", model.policy).reset_noise(model.n_envs)


def _sde(model: BaseAlgorithm) -> Any:
    """Return the distribution that holds the exploration matrices."""
    return getattr(model, "actor", model.policy).action_dist


def _fill_policy(model: BaseAlgorithm, path: Path) -> None:
    modules, _ = _read(path, model)
    _check(model, modules.get("policy", {}), path)
    model.policy.load_state_dict(modules["policy"])


def load_native(model: BaseAlgorithm, path: Path) -> None:
    """Take the weights of any SB3 model file; optimisers stay fresh."""
    if not path.is_file() and path.with_name(f"{path.name}.zip").is_file():
        path = path.with_name(f"{path.name}.zip")
    if not path.is_file():
        raise UsageError(f"--model {path}: no such file, with or without .zip")
    try:
        _fill_policy(model, path)
    except IntegrityError as error:
        raise UsageError(f"--model {error}") from error
    if isinstance(model, SteppedARS):
        model.weights = torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach()


def _read(path: Path, model: BaseAlgorithm) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return state dicts by module, and single tensors by name."""
    try:
        _, modules, variables = load_from_zip_file(path, device=model.device, load_data=False)
    except (OSError, ValueError, RuntimeError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise IntegrityError(f"{path} is no readable Stable-Baselines3 file: {error}") from error
    return modules, variables or {}


def _check(model: BaseAlgorithm, stored: Mapping[str, torch.Tensor], path: Path) -> None:
    """Compare the tensors of a file with those of the policy, by name and shape."""
    needed = model.policy.state_dict()
    compare(
        {name: tuple(tensor.shape) for name, tensor in stored.items()},
        {name: tuple(tensor.shape) for name, tensor in needed.items()},
        path,
    )
