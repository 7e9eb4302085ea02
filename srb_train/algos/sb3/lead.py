"""What leads SB3's own `learn`: a sink for its scalars, a callback, and what a framework adds.

SB3's base classes train Torch networks here and JAX networks in the family `sbx`; `Nets` names
the few things in which the two differ.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from srb_train.algos.sb3 import state
from srb_train.contracts import Array, TrainContext


class Nets(Protocol):
    """The networks of a model: a module with these functions."""

    def save(self, model: BaseAlgorithm, folder: Path) -> None:
        """Write networks, optimisers and all that an update draws from."""

    def restore(self, model: BaseAlgorithm, folder: Path) -> None:
        """Fill a fresh model from what `save` wrote; what does not fit is an error."""

    def finite(self, model: BaseAlgorithm) -> bool:
        """Tell whether all weights are finite."""

    def exploration(self, model: BaseAlgorithm) -> dict[str, Array]:
        """Return what state-dependent exploration has drawn for a rollout, by name."""

    def restore_exploration(self, model: BaseAlgorithm, stored: Mapping[str, Array]) -> None:
        """Put back what `exploration` gave."""

    def redraw_exploration(self, model: BaseAlgorithm) -> None:
        """Draw the exploration of a rollout that the checkpoint had not begun."""


class Sink(KVWriter):
    """SB3's logger on one side, the run's metrics on the other; only numbers pass."""

    def __init__(self, context: TrainContext) -> None:
        """Write to the context's metrics."""
        self._metrics = context.metrics

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0
    ) -> None:
        """Pass on what is a number, under SB3's own tags."""
        numbers = {
            tag: float(value)
            for tag, value in key_values.items()
            if isinstance(value, int | float | np.number) and not isinstance(value, bool)
        }
        self._metrics.write(step, numbers)

    def close(self) -> None:
        """Do nothing: the context closes its sinks."""


class Lead(BaseCallback):
    """Marks boundaries, logs when it is time, and finishes what `learn` undoes on a resume."""

    def __init__(
        self, context: TrainContext, nets: Nets, exploration: Mapping[str, Array] | None
    ) -> None:
        """Take the arrays of the noises to put back once `learn` has reset them."""
        super().__init__()
        self._context = context
        self._nets = nets
        self._exploration = exploration
        self._every = context.spec.log_every
        self._next_log = (context.step // self._every + 1) * self._every
        self.drawn = True
        """Whether the exploration of the coming rollout is drawn already."""

    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps >= self._next_log:
            self.log()
        if self._exploration is None:
            self.drawn = True
            self._context.boundary()
            return
        # SB3 has drawn an exploration that the uninterrupted run never had.
        self.drawn = drawn = bool(self._exploration["drawn"])
        state.restore_noise(self.model, self._exploration)
        self._nets.restore_exploration(self.model, state.part(self._exploration, "sde"))
        self._exploration = None
        self._context.boundary()
        if not drawn and self.model.use_sde:
            self._nets.redraw_exploration(self.model)

    def _on_rollout_end(self) -> None:
        self.drawn = False

    def _on_step(self) -> bool:
        return True

    def log(self) -> None:
        """Hand over what SB3 has recorded since the last time."""
        model = self.model
        self._next_log = (model.num_timesteps // self._every + 1) * self._every
        if isinstance(model, OnPolicyAlgorithm):
            model.dump_logs(model.num_timesteps // (model.n_steps * model.n_envs))
        else:
            model.dump_logs()
