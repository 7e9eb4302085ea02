"""The cross-entropy method (Rubinstein 1999; as policy search Szita and Lőrincz 2006).

Each generation draws one linear policy per environment row, lets it act for `horizon` steps,
and refits a diagonal Gaussian to the elites. Generation g draws from a generator seeded with
(seed, g), so its whole state is a mean, a deviation and a number.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from srb_train.contracts import BatchedEnv, Tracked, TrainContext
from srb_train.errors import IntegrityError, UnsupportedError
from srb_train.spec import RunSpec
from srb_train.stored import read_arrays

_FILE = "cem.npz"


class Search:
    """A diagonal Gaussian over the weights of a linear policy."""

    def __init__(self, env: BatchedEnv, agent: Mapping[str, Any]) -> None:
        """Begin around zero weights."""
        if not hasattr(env.observation_space, "shape") or env.observation_space.shape is None:
            raise UnsupportedError("toy_cem takes vector observations only")
        self.inputs = int(np.prod(env.observation_space.shape))
        self.outputs = _outputs(env.action_space)
        self.agent = agent
        size = (self.inputs + 1) * self.outputs
        self.mean = np.zeros(size)
        self.std = np.full(size, float(agent["init_std"]))
        self.generation = 0

    def draw(self, seed: int, count: int) -> np.ndarray:
        """Return `count` candidates of this generation, (count, size)."""
        generator = np.random.default_rng([seed, self.generation])
        return self.mean + self.std * generator.standard_normal((count, self.mean.size))

    def refit(self, candidates: np.ndarray, fitness: np.ndarray) -> None:
        """Move to the elites; the deviation keeps a floor that shrinks with the generations."""
        elites = candidates[np.argsort(-fitness, kind="stable")[: self.agent["elites"]]]
        floor = float(self.agent["extra_std"]) / (1 + self.generation / 10)
        self.mean = elites.mean(axis=0)
        self.std = np.sqrt(elites.var(axis=0) + floor**2)
        self.generation += 1


def train(context: TrainContext) -> None:
    """Search until the context says stop."""
    env = context.make_env()
    search = Search(env, context.spec.agent_params)
    if context.resume is not None:
        _restore(search, context.resume)

    def save(folder: Path) -> Mapping[str, Any]:
        np.savez(folder / _FILE, mean=search.mean, std=search.std, generation=search.generation)
        return {"restored": ["search distribution"]}

    with context.until_stopped(save):
        while True:
            context.boundary()
            candidates = search.draw(context.spec.seed, env.num_envs)
            fitness = _try(env, candidates, search.agent["horizon"])
            search.refit(candidates, fitness)
            context.metrics.write(
                context.step,
                {"train/fitness_best": fitness.max(), "train/std": search.std.mean()},
            )


def _try(env: Tracked, candidates: np.ndarray, horizon: int) -> np.ndarray:
    """Let each row act with its own candidate; returns the mean reward of a step, (N,)."""
    obs = env.last_obs
    total = np.zeros(env.num_envs)
    for _ in range(horizon):
        step = env.step(act(candidates, obs, env.action_space))
        total += step.reward
        # Ending early must not pay: a row that keeps failing restarts and loses its streak.
        total -= step.terminated
        obs = step.obs
    return total / horizon


def act(weights: np.ndarray, obs: np.ndarray, space: Any) -> np.ndarray:
    """Return the actions of linear policies (N or 1, size) for observations (N, *obs)."""
    flat = obs.reshape(len(obs), -1)
    inputs = np.concatenate([flat, np.ones((len(flat), 1), flat.dtype)], axis=1)
    matrix = weights.reshape(len(weights), inputs.shape[1], -1)
    scores = np.einsum(
        "ni,nio->no", inputs, np.broadcast_to(matrix, (len(flat), *matrix.shape[1:]))
    )
    if hasattr(space, "n"):
        return scores.argmax(axis=1)
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    return (middle + half * np.tanh(scores)).astype(np.float32)


class LinearPolicy:
    """The mean of a search as a policy."""

    def __init__(self, search: Search, space: Any) -> None:
        """Act for `space` with the search's mean."""
        self._weights = search.mean[None]
        self._space = space

    def act(self, obs: np.ndarray) -> np.ndarray:
        """Return deterministic actions."""
        return act(self._weights, obs, self._space)

    def reset(self, rows: np.ndarray) -> None:
        """Do nothing: a linear policy has no memory."""


def load(checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> LinearPolicy:
    """Rebuild the policy of a checkpoint."""
    search = Search(env, spec.agent_params)
    _restore(search, checkpoint)
    return LinearPolicy(search, env.action_space)


def _restore(search: Search, folder: Path) -> None:
    stored = read_arrays(folder / _FILE)
    mean = stored["mean"]
    if mean.shape != search.mean.shape:
        raise IntegrityError(
            f"{folder / _FILE} holds {mean.size} weights, this task needs {search.mean.size}"
        )
    search.mean, search.std = mean, stored["std"]
    search.generation = int(stored["generation"])


def _outputs(space: Any) -> int:
    if hasattr(space, "n"):
        return int(space.n)
    if not np.isfinite(space.low).all() or not np.isfinite(space.high).all():
        raise UnsupportedError("toy_cem needs finite action bounds")
    return int(np.prod(space.shape))
