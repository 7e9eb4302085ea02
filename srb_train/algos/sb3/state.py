"""What SB3 forgets: everything beside weights and optimisers that exact continuation needs.

SB3's own `load` re-seeds, unpickles code and drops the last observations, so it is not used: a
fresh model is built from the settings and filled from tensors, arrays and plain numbers.

model.zip        SB3's own file, which SB3 alone can load (of `sbx` arrays: model.npz)
sb3.json         counters and the generator of random actions
sb3.npz          the episode window, memories, noises, ARS's population
normalizer.npz   running statistics, where observations or rewards are normalised
replay.npz       the filled rows of the replay buffer, where it is saved
"""

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise, VectorizedActionNoise
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecNormalize

from srb_train.algos.sb3.ars import Population, SteppedARS
from srb_train.contracts import Array
from srb_train.errors import IntegrityError
from srb_train.stored import read_arrays

NUMBERS = "sb3.json"
ARRAYS = "sb3.npz"
NORMALIZER = "normalizer.npz"

_COUNTERS = (
    "num_timesteps",
    "_n_updates",
    "_episode_num",
    "_current_progress_remaining",
    "exploration_rate",
    "_n_calls",
)


def numbers(model: BaseAlgorithm) -> dict[str, Any]:
    """Return counters and the generator of random actions as plain data."""
    return {
        "counters": {name: getattr(model, name) for name in _COUNTERS if hasattr(model, name)},
        "action_generator": model.action_space.np_random.bit_generator.state,
    }


def restore_numbers(model: BaseAlgorithm, stored: Mapping[str, Any]) -> None:
    """Put back what `numbers` gave."""
    for name, value in stored["counters"].items():
        setattr(model, name, value)
    model.action_space.np_random.bit_generator.state = stored["action_generator"]


def arrays(model: BaseAlgorithm) -> dict[str, Array]:
    """Return the episode window and all that running episodes hold, by dotted name."""
    # Not the wall time of an episode: two equal runs are to leave equal files.
    episodes = [(each["r"], each["l"]) for each in model.ep_info_buffer]
    found: dict[str, Array] = {
        "episodes": np.array(episodes, dtype=np.float64).reshape(-1, 2),
        "successes": np.array(model.ep_success_buffer, dtype=bool),
        "episode_starts": np.array(model._last_episode_starts),
    }
    memory = _places(getattr(model, "_last_lstm_states", None))
    found.update({f"memory.{place}": tensor.cpu().numpy() for place, tensor in memory})
    found.update({f"noise.{row}": noise.noise_prev for row, noise in _walks(model)})
    if isinstance(model, SteppedARS) and model.population is not None:
        state = model.population.state_dict()
        found.update({f"population.{name}": value for name, value in state.items()})
    return found


def restore_arrays(model: BaseAlgorithm, stored: Mapping[str, Array], *, goes_on: bool) -> None:
    """Put back the window, and what belongs to running episodes unless they start anew.

    Noises are not restored here, see `restore_noise`.
    """
    window = model._stats_window_size
    episodes = ({"r": r, "l": int(length), "t": 0.0} for r, length in stored["episodes"].tolist())
    model.ep_info_buffer = deque(episodes, maxlen=window)
    model.ep_success_buffer = deque(stored["successes"].tolist(), maxlen=window)
    population = part(stored, "population")
    if isinstance(model, SteppedARS):
        model.weights = torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach()
        model.population = Population.from_state(population) if population else None
    if not goes_on:
        if isinstance(model, SteppedARS) and model.population is not None:
            model.population.row_return[:] = 0.0
        return
    model._last_episode_starts = stored["episode_starts"]
    for place, tensor in _places(getattr(model, "_last_lstm_states", None)):
        tensor.copy_(torch.from_numpy(stored[f"memory.{place}"]))


def restore_noise(model: BaseAlgorithm, stored: Mapping[str, Array]) -> None:
    """Put back the noises' last values, which `learn` has reset."""
    for row, noise in _walks(model):
        noise.noise_prev = stored[f"noise.{row}"].copy()


def normalizer(venv: VecNormalize) -> dict[str, Array]:
    """Return running statistics and the running discounted returns."""
    found = {"returns": venv.returns}
    for name, statistics in _statistics(venv).items():
        for field in ("mean", "var", "count"):
            found[f"{name}.{field}"] = np.array(getattr(statistics, field))
    return found


def restore_normalizer(venv: VecNormalize, folder: Path) -> None:
    """Put back what `normalizer` gave; a file that is absent or does not fit is an error."""
    stored = read_arrays(folder / NORMALIZER)
    for name, statistics in _statistics(venv).items():
        for field in ("mean", "var", "count"):
            value = stored.get(f"{name}.{field}")
            if value is None or value.shape != np.shape(getattr(statistics, field)):
                raise IntegrityError(
                    f"{folder / NORMALIZER} holds no {field} of {name} that fits this task; "
                    "a fresh normaliser would change what the policy sees"
                )
            setattr(statistics, field, value if field != "count" else float(value))
    if stored["returns"].shape == venv.returns.shape:
        venv.returns = stored["returns"]


def read_numbers(folder: Path) -> dict[str, Any]:
    """Read the plain data of a checkpoint."""
    path = folder / NUMBERS
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{path} cannot be read: {error}; use another checkpoint") from error
    return found


def flat(name: str, obs: Array | Mapping[str, Array]) -> dict[str, Array]:
    """Return observations, which may be a dict, by dotted name."""
    if isinstance(obs, Mapping):
        return {f"{name}.{key}": value for key, value in obs.items()}
    return {name: obs}


def part(stored: Mapping[str, Array], name: str) -> dict[str, Array]:
    """Return the entries below `name`, without it."""
    start = f"{name}."
    return {key.removeprefix(start): v for key, v in stored.items() if key.startswith(start)}


def _places(memory: Any) -> list[tuple[str, torch.Tensor]]:
    """Return the tensors (layers, N, hidden) of a recurrent policy by name."""
    if memory is None:
        return []
    return [
        (f"{owner}.{kind}", tensor)
        for owner in ("pi", "vf")
        for kind, tensor in zip(("hidden", "cell"), getattr(memory, owner), strict=True)
    ]


def _walks(model: BaseAlgorithm) -> list[tuple[int, OrnsteinUhlenbeckActionNoise]]:
    """Return the noises that remember their last value, by row."""
    noise = model.action_noise
    rows = noise.noises if isinstance(noise, VectorizedActionNoise) else [noise]
    walks = [each for each in rows if isinstance(each, OrnsteinUhlenbeckActionNoise)]
    return list(enumerate(walks))


def _statistics(venv: VecNormalize) -> dict[str, RunningMeanStd]:
    """Return the running statistics by what they are of."""
    found = {"reward": venv.ret_rms}
    if venv.norm_obs:
        observed = venv.obs_rms
        several = observed if isinstance(observed, dict) else {"": observed}
        found.update({f"obs.{key}" if key else "obs": each for key, each in several.items()})
    return found
