"""From plain settings to an agent of skrl; names are looked up in tables and never evaluated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from skrl.agents.torch import Agent
from skrl.agents.torch.a2c import A2C
from skrl.agents.torch.amp import AMP
from skrl.agents.torch.ddpg import DDPG
from skrl.agents.torch.ddqn import DDQN
from skrl.agents.torch.dqn import DQN
from skrl.agents.torch.ppo import PPO, PPO_RNN
from skrl.agents.torch.rpo import RPO
from skrl.agents.torch.sac import SAC
from skrl.agents.torch.td3 import TD3
from skrl.agents.torch.trpo import TRPO
from skrl.memories.torch import Memory, RandomMemory
from skrl.models.torch import Model
from skrl.resources.noises.torch import GaussianNoise, OrnsteinUhlenbeckNoise
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR

from srb_train.algos.skrl import models, settings
from srb_train.algos.skrl.bridge import Rows
from srb_train.algos.skrl.episodes import ManyRows, RowByRow
from srb_train.algos.skrl.motions import Motions
from srb_train.spec import RunSpec

AGENTS: Mapping[str, type[Agent]] = {
    "skrl_ppo": PPO,
    "skrl_ppo_rnn": PPO_RNN,
    "skrl_a2c": A2C,
    "skrl_rpo": RPO,
    "skrl_trpo": TRPO,
    "skrl_sac": SAC,
    "skrl_td3": TD3,
    "skrl_ddpg": DDPG,
    "skrl_dqn": DQN,
    "skrl_ddqn": DDQN,
    "skrl_cem": ManyRows,
    "skrl_amp": AMP,
}
_NOISES = {settings.GAUSSIAN: GaussianNoise, settings.WALK: OrnsteinUhlenbeckNoise}
_OURS = {"models", "memory_size", "exploration", "motions", "motion_dataset", "reply_buffer"}
"""Settings that are not skrl's own; they are turned into objects."""


class LinearLR:
    """A learning rate that moves in a straight line over all updates of a run.

    It is a function of the update's number, so that a run which goes on with another budget
    follows the line of that budget.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        start_factor: float,
        end_factor: float,
        total: int,
    ) -> None:
        """Begin at `start_factor` of the optimizer's own rate."""
        self.epoch = 0
        self._optimizer = optimizer
        self._rates = [group["lr"] for group in optimizer.param_groups]
        self._ends = (start_factor, end_factor)
        self._total = max(1, total)
        self.apply()

    def step(self) -> None:
        """Count one update."""
        self.epoch += 1
        self.apply()

    def apply(self) -> None:
        """Set the rate of the present update."""
        first, last = self._ends
        factor = first + (last - first) * min(1.0, self.epoch / self._total)
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = factor * rate

    def get_last_lr(self) -> list[float]:
        """Return the present rates."""
        return [group["lr"] for group in self._optimizer.param_groups]


@dataclass
class Learner:
    """An agent and all that a checkpoint of it needs to know about its parts."""

    agent: Agent
    rows: Rows
    rates: Mapping[str, float]
    """Configured learning rate by the name of the optimizer's attribute."""
    memories: Mapping[str, Memory]
    """What outlives an update, by name: a replay buffer, motions, replies."""
    update_every: int
    """Steps of all rows between two consistent points."""
    timesteps: int
    """Steps of all rows that the budget is worth."""
    warmup_from: int = field(default=0)
    """Step of all rows from which `learning_starts` counts."""

    @property
    def schedulers(self) -> dict[str, Any]:
        """Schedulers by the name of their optimizer's attribute."""
        found = {name: _scheduler(self.agent, name) for name in self.rates}
        return {name: scheduler for name, scheduler in found.items() if scheduler is not None}


def learner(spec: RunSpec, rows: Rows) -> Learner:
    """Build a fresh agent, ready to train."""
    agent_params = spec.agent_params
    timesteps = -(-spec.steps // spec.num_envs)
    memories = _memories(spec, rows)
    agent = AGENTS[spec.algo](
        models=networks(spec.algo, agent_params["models"], rows),
        memory=memories.pop("rollout", memories.get("memory")),
        observation_space=rows.observation_space,
        state_space=rows.state_space,
        action_space=rows.action_space,
        device=rows.device,
        cfg=_config(spec, rows, timesteps),
        **(_imitation(agent_params, rows, memories) if spec.algo == "skrl_amp" else {}),
    )
    agent.init()
    agent.enable_training_mode(True)
    made = Learner(
        agent=agent,
        rows=rows,
        rates=_learning_rates(agent),
        memories=memories,
        update_every=agent_params.get("rollouts", 1),
        timesteps=timesteps,
    )
    _fuse(made)
    return made


def networks(label: str, plans: Mapping[str, Any], rows: Rows) -> dict[str, Model]:
    """Return the models of a label by the names that skrl gives them."""
    discrete = isinstance(rows.action_space, spaces.Discrete)
    if label in ("skrl_dqn", "skrl_ddqn"):
        return {n: models.QNetwork(rows, plans["q_network"]) for n in _with_target("q_network")}
    if label in ("skrl_td3", "skrl_ddpg", "skrl_sac"):
        return _actor_critic(label, plans, rows)
    length = plans.get("sequence_length", 1)
    kind = models.CategoricalPolicy if discrete else models.GaussianPolicy
    made: dict[str, Model] = {"policy": kind(rows, plans["policy"], length)}
    if "value" in plans:
        made["value"] = models.Value(rows, plans["value"], length)
    if "discriminator" in plans:
        made["discriminator"] = models.Discriminator(
            _pairs(rows), plans["discriminator"], rows.device
        )
    return made


def scaler(arguments: Mapping[str, float], size: Any, device: torch.device) -> dict[str, Any]:
    """Return the arguments of a `RunningStandardScaler`."""
    return {**arguments, "size": size, "device": device}


def _actor_critic(label: str, plans: Mapping[str, Any], rows: Rows) -> dict[str, Model]:
    if label == "skrl_sac":
        made: dict[str, Model] = {"policy": models.SquashedPolicy(rows, plans["policy"])}
    else:
        made = {
            n: models.DeterministicPolicy(rows, plans["policy"]) for n in _with_target("policy")
        }
    critics = ("critic",) if label == "skrl_ddpg" else ("critic_1", "critic_2")
    names = [name for critic in critics for name in _with_target(critic)]
    return {**made, **{name: models.Critic(rows, plans["critic"]) for name in names}}


def _with_target(name: str) -> tuple[str, str]:
    return name, f"target_{name}"


def _pairs(rows: Rows) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (2 * rows.observation_space.shape[0],), np.float32)


def _memories(spec: RunSpec, rows: Rows) -> dict[str, Memory]:
    """Return the memories of a label; `rollout` is used up by each update."""
    agent = spec.agent_params
    place = {"num_envs": spec.num_envs, "device": rows.device}
    if "memory_size" in agent:
        return {"memory": RandomMemory(memory_size=agent["memory_size"], **place)}
    # Each transition of a rollout is used once an epoch; skrl by itself draws with replacement.
    kind = RowByRow if spec.algo == "skrl_cem" else RandomMemory
    found: dict[str, Memory] = {
        "rollout": kind(memory_size=agent["rollouts"], replacement=False, **place)
    }
    for name in ("motion_dataset", "reply_buffer"):
        if name in agent:
            size = agent[name]["memory_size"]
            found[name] = RandomMemory(memory_size=size, device=rows.device)
    return found


def _imitation(
    agent: Mapping[str, Any], rows: Rows, memories: Mapping[str, Memory]
) -> dict[str, Any]:
    motions = Motions(Path(agent["motions"]), rows)
    return {
        "amp_observation_space": _pairs(rows),
        "motion_dataset": memories["motion_dataset"],
        "reply_buffer": memories["reply_buffer"],
        "collect_reference_motions": motions.draw,
    }


def _config(spec: RunSpec, rows: Rows, timesteps: int) -> dict[str, Any]:
    """Return skrl's own configuration with classes in the place of names."""
    agent = spec.agent_params
    config: dict[str, Any] = {key: value for key, value in agent.items() if key not in _OURS}
    config["experiment"] = {"write_interval": 0, "checkpoint_interval": 0}
    if "gae_lambda" in agent:
        # The recurrent agent's own bootstrap is replaced, see `episodes.bootstrap`.
        config["time_limit_bootstrap"] = spec.algo != "skrl_ppo_rnn"
    config |= (
        _preprocessors(agent, rows) | _noises(agent, rows) | _scheduler_class(agent, timesteps)
    )
    if "exploration" in agent:
        config["exploration_scheduler"] = _epsilon(**agent["exploration"])
    if "task_reward_scale" in agent:
        # skrl would scale the value of a truncated state along with the rewards.
        scale = config.pop("task_reward_scale")
        config |= {"task_reward_scale": 1.0, "rewards_shaper": lambda reward, *_: scale * reward}
    return config


def _preprocessors(agent: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    sizes = {"value_preprocessor": 1, "amp_observation_preprocessor": _pairs(rows)}
    found: dict[str, Any] = {}
    for key in (key for key in settings.PREPROCESSORS if agent.get(key)):
        size = sizes.get(key, rows.observation_space)
        found[key] = RunningStandardScaler
        found[f"{key}_kwargs"] = scaler(agent[f"{key}_kwargs"], size, rows.device)
    if rows.state_space is not None and agent["observation_preprocessor"]:
        # What a critic sees besides is on no other scale than what everybody sees.
        arguments = agent["observation_preprocessor_kwargs"]
        found["state_preprocessor"] = RunningStandardScaler
        found["state_preprocessor_kwargs"] = scaler(arguments, rows.state_space, rows.device)
    return found


def _noises(agent: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in ("exploration_noise", "smooth_regularization_noise"):
        if agent.get(key):
            found[key] = _NOISES[agent[key]]
            found[f"{key}_kwargs"] = {**agent[f"{key}_kwargs"], "device": rows.device}
    return found


def _scheduler_class(agent: Mapping[str, Any], timesteps: int) -> dict[str, Any]:
    name = agent["learning_rate_scheduler"]
    if name != settings.LINEAR:
        return {"learning_rate_scheduler": KLAdaptiveLR if name else None}
    total = _schedule_length(agent, timesteps)
    arguments = {**agent["learning_rate_scheduler_kwargs"], "total": total}
    return {"learning_rate_scheduler": LinearLR, "learning_rate_scheduler_kwargs": arguments}


def _schedule_length(agent: Mapping[str, Any], timesteps: int) -> int:
    """Return how often skrl moves a scheduler in the whole run."""
    if "rollouts" in agent:
        return -(-timesteps // agent["rollouts"]) * int(agent.get("learning_epochs", 1))
    updates = max(0, timesteps - agent["learning_starts"])
    return -(-updates // int(agent.get("update_interval", 1))) * int(agent["gradient_steps"])


def _epsilon(
    initial_epsilon: float, final_epsilon: float, fraction: float
) -> Callable[[int, int], float]:
    """Return the chance of a random action at a step, which falls over a fraction of the run."""

    def chance(timestep: int, timesteps: int) -> float:
        done = min(1.0, timestep / max(1.0, fraction * timesteps))
        return initial_epsilon + (final_epsilon - initial_epsilon) * done

    return chance


def _learning_rates(agent: Agent) -> dict[str, float]:
    """Return the configured learning rate of each optimizer of an agent."""
    given = agent.cfg.learning_rate
    several = list(given) if isinstance(given, list | tuple) else [given]
    if hasattr(agent, "critic_optimizer"):
        rates = dict(zip(("policy_optimizer", "critic_optimizer"), several, strict=False))
        if hasattr(agent, "entropy_optimizer"):
            rates["entropy_optimizer"] = several[2]
        return rates
    name = "value_optimizer" if hasattr(agent, "value_optimizer") else "optimizer"
    return {name: several[0]}


def _scheduler(agent: Agent, optimizer: str) -> Any:
    return getattr(agent, optimizer.replace("optimizer", "scheduler"), None)


def _fuse(made: Learner) -> None:
    """Let Adam update all tensors in one call, see docs/decisions/0005-adam-is-fused.md."""
    for name in made.rates:
        for group in getattr(made.agent, name).param_groups:
            group["fused"] = True
