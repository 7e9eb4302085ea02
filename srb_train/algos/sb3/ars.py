"""Augmented Random Search whose population is judged by all rows at once, one step at a time.

The update is that of sb3-contrib (Mania et al. 2018, arXiv:1803.07055, algorithm 2). Its own
evaluation runs one candidate after the other to the end of whole episodes; here each row takes the
next open episode of any candidate, and every step of the rows is a consistent point.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import ARS
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from srb_train.contracts import Array


@dataclass
class Population:
    """How far the evaluation of one population is; J jobs of one episode each, N rows."""

    started_at: int
    """Transitions done when it began."""
    generator: Array
    """Torch's generator before the directions were drawn: it tells what they are."""
    returns: Array
    """(candidates,) sums over the episodes that ended."""
    job: Array
    """(N,) the episode that a row runs; -1 while it finishes one that does not count."""
    row_return: Array
    """(N,) of the running episodes."""
    taken: int
    """Jobs that a row has begun."""
    ended: int = 0

    @classmethod
    def begin(cls, model: "SteppedARS") -> Self:
        """Give the first jobs to the rows that are at the start of an episode."""
        job = np.full(model.n_envs, -1)
        free = np.flatnonzero(model._last_episode_starts)[: model.jobs]
        job[free] = np.arange(len(free))
        return cls(
            started_at=model.num_timesteps,
            generator=model.generator_state(),
            returns=np.zeros(model.pop_size),
            job=job,
            row_return=np.zeros(model.n_envs),
            taken=len(free),
        )

    def add(self, reward: Array, done: Array, model: "SteppedARS") -> None:
        """Take one step of all rows; rows that ended begin the next open job."""
        self.row_return += reward + model.alive_bonus_offset
        for row in np.flatnonzero(done):
            if self.job[row] >= 0:
                self.returns[self.job[row] // model.n_eval_episodes] += self.row_return[row]
                self.ended += 1
            self.row_return[row] = 0.0
            self.job[row] = self.taken if self.taken < model.jobs else -1
            self.taken += int(self.job[row] >= 0)

    def state_dict(self) -> dict[str, Array]:
        """Return everything as arrays."""
        return {name: np.array(value) for name, value in vars(self).items()}

    @classmethod
    def from_state(cls, state: Mapping[str, Array]) -> Self:
        """Read what `state_dict` gave."""
        return cls(
            started_at=int(state["started_at"]),
            taken=int(state["taken"]),
            ended=int(state["ended"]),
            generator=np.array(state["generator"]),
            returns=np.array(state["returns"]),
            job=np.array(state["job"]),
            row_return=np.array(state["row_return"]),
        )


class SteppedARS(ARS):
    """ARS that can be stopped, saved and gone on with at every step of its rows."""

    population: Population | None = None
    """The population that is being judged; None between two of them."""

    @property
    def jobs(self) -> int:
        """Episodes that judge one population."""
        return int(self.pop_size * self.n_eval_episodes)

    def generator_state(self) -> Array:
        """Return the state of the generator that draws the directions."""
        cuda = self.device.type == "cuda"
        state = torch.cuda.get_rng_state(self.device) if cuda else torch.get_rng_state()
        return state.numpy()

    def evaluate_candidates(
        self, candidate_weights: torch.Tensor, callback: BaseCallback, async_eval: Any
    ) -> torch.Tensor:
        """Return the summed returns (candidates,) of all candidates."""
        population = self.population
        assert population is not None
        assigned = np.full(self.n_envs, -1)
        while population.ended < self.jobs:
            callback.on_rollout_start()
            candidates = np.maximum(population.job, 0) // self.n_eval_episodes
            if not np.array_equal(candidates, assigned):
                weights = self._row_weights(candidate_weights[candidates])
                assigned = candidates
            obs, reward, done, infos = self.env.step(self._act(weights))
            self.num_timesteps += self.n_envs
            callback.on_step()
            self._update_info_buffer(infos, done)
            self._last_obs, self._last_episode_starts = obs, done
            population.add(reward, done, self)
        callback.on_rollout_end()
        return torch.as_tensor(population.returns, dtype=torch.float32, device=self.device)

    def _row_weights(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Cut (N, parameters) into a batch of each parameter of the network, in its order."""
        shapes = [each.shape for each in self.policy.action_net.parameters()]
        blocks = torch.split(flat, [shape.numel() for shape in shapes], dim=1)
        return [block.reshape(-1, *shape) for block, shape in zip(blocks, shapes, strict=True)]

    def _act(self, weights: list[torch.Tensor]) -> Array:
        """Let each row act by the weights of its own candidate; within the action space."""
        policy = self.policy
        obs, _ = policy.obs_to_tensor(self._last_obs)
        output = policy.extract_features(obs, policy.features_extractor)[:, None]
        own = iter(weights)
        for layer in policy.action_net:
            if not isinstance(layer, nn.Linear):
                output = layer(output)
                continue
            output = output @ next(own).mT
            if layer.bias is not None:
                output += next(own)[:, None]
        output = output[:, 0].cpu()
        if not isinstance(self.action_space, spaces.Box):
            return output.argmax(dim=1).numpy()
        action = output.numpy().reshape(-1, *self.action_space.shape)
        if policy.squash_output:
            return policy.unscale_action(action)
        return np.clip(action, self.action_space.low, self.action_space.high)

    def _do_one_update(self, callback: BaseCallback, async_eval: Any) -> None:
        if self.population is None:
            self.population = Population.begin(self)
            self.ep_info_buffer.clear()
        else:
            self._rewind(self.population.generator)
        super()._do_one_update(callback, async_eval)
        self.population = None

    def _rewind(self, state: Array) -> None:
        """Make the next draw give the directions of the population that was interrupted."""
        stored = torch.from_numpy(np.array(state, dtype=np.uint8))
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(stored, self.device)
        else:
            torch.set_rng_state(stored)

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        # ARS.learn hands over the steps of one call where schedules need the run's total.
        start = self.population.started_at if self.population else num_timesteps
        super()._update_current_progress_remaining(start, self._total_timesteps)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "population"]
