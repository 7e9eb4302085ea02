"""Where episodes end: what skrl gets wrong about them, put right from outside."""

from typing import Any

import torch
from skrl.agents.torch.cem import CEM
from skrl.agents.torch.ppo import PPO_RNN
from skrl.memories.torch import RandomMemory

from srb_train.algos.skrl.bridge import Seen


def bootstrap(agent: PPO_RNN, obs: torch.Tensor, states: torch.Tensor | None, seen: Seen) -> Seen:
    """Close truncated rows with the value of their last observation, and show them as ended.

    skrl's recurrent PPO takes the value of the observation before the step for that of the one
    after it, and lets advantages flow from one episode into the next.
    """
    rows = seen.truncated.squeeze(1)
    if not bool(rows.any()):
        return seen
    memory = [part[:, rows].contiguous() for part in agent._rnn_initial_states["value"]]
    _, outputs = agent.value.act(_inputs(agent, (obs, states), rows, memory), role="value")
    after = (seen.next_obs, seen.next_states)
    last = _inputs(agent, after, rows, outputs["rnn"])
    worth, _ = agent.value.act(last, role="value")
    reward = seen.reward.clone()
    reward[rows] += agent.cfg.discount_factor * agent._value_preprocessor(worth, inverse=True)
    return seen._replace(
        reward=reward,
        terminated=seen.terminated | seen.truncated,
        truncated=torch.zeros_like(seen.truncated),
    )


def remember(agent: PPO_RNN) -> None:
    """Let go of what the step before left behind, so that this step's memory is recorded.

    skrl keeps one mapping for the memories before and after a step, and from the second step on
    records the policy's memory after it.
    """
    agent._rnn_initial_states = dict(agent._rnn_initial_states)


def _inputs(
    agent: PPO_RNN,
    view: tuple[torch.Tensor, torch.Tensor | None],
    rows: torch.Tensor,
    memory: list[torch.Tensor],
) -> dict[str, Any]:
    """Return what the value network takes for some rows of (observations, states)."""
    obs, states = view
    return {
        "observations": agent._observation_preprocessor(obs[rows]),
        "states": None if states is None else agent._state_preprocessor(states[rows]),
        "rnn": memory,
    }


class RowByRow(RandomMemory):
    """A memory that is read row by row: all steps of the first, then all of the second."""

    def sample_all(
        self, names: list[str], *, mini_batches: int = 1, sequence_length: int = 1
    ) -> list[list[torch.Tensor | None]]:
        """Return everything in one batch."""
        order = self.all_sequence_indexes
        return [[self.tensors_view[n][order] if n in self.tensors else None for n in names]]


class ManyRows(CEM):
    """The cross-entropy method over the episodes of all rows; skrl's own follows row 0 alone.

    An episode is cut where a rollout begins or ends, and counts by what it earned between.
    """

    def init(self, *, trainer_cfg: dict[str, Any] | None = None) -> None:
        """Make room for where episodes end."""
        super().init(trainer_cfg=trainer_cfg)
        self._ends: list[torch.Tensor] = []

    def record_transition(self, **transition: Any) -> None:
        """Remember a step of all rows."""
        kept = {name: transition[name] for name in ("observations", "actions", "rewards")}
        self.memory.add_samples(**kept)
        self._ends.append((transition["terminated"] | transition["truncated"]).squeeze(1))

    def update(self, *, timestep: int, timesteps: int) -> None:
        """Learn from the best episodes."""
        ends = torch.stack(self._ends, dim=1)
        ends[:, -1] = True
        after = ends.flatten().nonzero().flatten() + 1
        self._episode_tracking = [[0, *after.tolist()]]
        self._ends = []
        super().update(timestep=timestep, timesteps=timesteps)
