"""skrl's agents in a loop of our own: skrl's trainers can neither stop nor go on.

`agent.pt` in a checkpoint is skrl's own file; `state` tells what lies beside it.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from srb_train.algos.skrl import alone

# isort: split
# Nothing that imports skrl may come before `alone`.
import torch
from gymnasium import spaces
from skrl.agents.torch import Agent
from skrl.agents.torch.ppo import PPO_RNN
from skrl.models.torch import Model
from skrl.resources.preprocessors.torch import RunningStandardScaler

from srb_train.algos.skrl import bridge, build, state, weights
from srb_train.algos.skrl.bridge import Seen
from srb_train.algos.skrl.build import Learner
from srb_train.algos.skrl.episodes import bootstrap, remember
from srb_train.algos.skrl.motions import pair
from srb_train.contracts import Array, BatchedEnv, Policy, TrainContext
from srb_train.errors import IntegrityError, TrainingFailed, UnsupportedError, UsageError
from srb_train.spec import RunSpec

_LISTENING = 2**62
"""An interval at which skrl never writes, but for which it does track its losses."""
_DEVIATION = "Policy / Standard deviation"
_REDUCE = {"(min)": np.min, "(max)": np.max}


def train(context: TrainContext) -> None:
    """Train until the context says stop."""
    assert alone.PROCESSES == 1
    _quieten()
    spec = context.spec
    env = context.make_env()
    rows = bridge.Rows(env, spec.algo, _device(spec.device))
    learner = build.learner(spec, rows)
    if context.resume is not None:
        _restore(learner, context, goes_on=env.state_dict() is not None)
    elif context.weights is not None:
        weights.load_native(learner.agent, context.weights, context.say)
        context.say(f"weights from {context.weights}; training starts at step 0")

    def save(folder: Path) -> Mapping[str, Any]:
        return _save(learner, folder, replay=spec.save_replay)

    with context.until_stopped(save):
        _run(context, learner)
    _log(context, learner.agent)


def _run(context: TrainContext, learner: Learner) -> None:
    try:
        _loop(context, learner)
    except (ValueError, RuntimeError) as error:
        parameters = (p for m in learner.agent.models.values() for p in m.parameters())
        if all(bool(torch.isfinite(each).all()) for each in parameters):
            raise
        raise TrainingFailed(
            f"the weights are no longer finite at step {context.step:,}: "
            "lower agent.learning_rate, and keep run.nan_guard=true to see where it begins"
        ) from error


def _loop(context: TrainContext, learner: Learner) -> None:
    """Step and learn; every consistent point is a boundary."""
    agent, rows, every = learner.agent, learner.rows, context.spec.log_every
    time: dict[str, int] = {"timesteps": learner.timesteps}
    next_log = (context.step // every + 1) * every
    obs, states, since = rows.current(), rows.current_states(), 0
    while True:
        if since % learner.update_every == 0:
            if context.step >= next_log:
                next_log = (context.step // every + 1) * every
                _log(context, agent)
            context.boundary()
        time["timestep"] = context.step // rows.num_envs
        agent.pre_interaction(**time)
        seen = _interact(learner, obs, states, time)
        obs, states = seen.obs, seen.states
        # Some agents look at their losses only while they would write them.
        agent.write_interval = _LISTENING if context.step >= next_log else 0
        agent.post_interaction(**time)
        agent.write_interval = 0
        since += 1


def _interact(
    learner: Learner, obs: torch.Tensor, states: torch.Tensor | None, time: Mapping[str, int]
) -> Seen:
    """Act once in all rows and let the agent remember it; returns what came of it."""
    agent, recurrent = learner.agent, isinstance(learner.agent, PPO_RNN)
    with torch.no_grad():
        if recurrent:
            remember(agent)
        actions, _ = agent.act(obs, states, **time)
        seen = learner.rows.step(actions)
        infos: dict[str, torch.Tensor] = {}
        if recurrent:
            seen = bootstrap(agent, obs, states, seen)
        if hasattr(agent, "discriminator"):
            infos["amp_obs"] = pair(obs, seen.next_obs)
        agent.record_transition(
            observations=obs,
            states=states,
            actions=actions,
            rewards=seen.reward,
            next_observations=seen.next_obs,
            next_states=seen.next_states,
            terminated=seen.terminated,
            truncated=seen.truncated,
            infos=infos,
            **time,
        )
    return seen


def _log(context: TrainContext, agent: Agent) -> None:
    """Hand over what skrl has tracked since the last time, under its own tags."""
    values = {
        tag: float(_REDUCE.get(tag[-5:], np.mean)(tracked))
        for tag, tracked in agent.tracking_data.items()
    }
    agent.tracking_data.clear()
    if isinstance(agent.action_space, spaces.Discrete):
        # A choice has no deviation; skrl tracks NaN.
        values.pop(_DEVIATION, None)
    if values:
        context.metrics.write(context.step, values)


def _save(learner: Learner, folder: Path, *, replay: bool) -> dict[str, list[str]]:
    """Write a checkpoint and return what going on from it restores."""
    learner.agent.save(str(folder / weights.MODEL))
    state.save(learner, folder)
    restored = ["weights", "optimizers", "preprocessors", "schedules"]
    reset: list[str] = []
    if learner.memories:
        if replay:
            state.save_memories(learner, folder)
        (restored if replay else reset).append("replay buffer")
    return {"restored": restored, "reset": reset, "unavailable": []}


def _restore(learner: Learner, context: TrainContext, *, goes_on: bool) -> None:
    """Fill a fresh learner from a checkpoint."""
    folder = context.resume
    assert folder is not None
    weights.restore(learner.agent, folder / weights.MODEL)
    state.restore(learner, folder, goes_on=goes_on)
    if not learner.memories:
        return
    if (folder / state.MEMORY).is_file():
        state.restore_memories(learner, folder)
    elif "memory" in learner.memories:
        state.delay(learner, context.step // learner.rows.num_envs)
        context.say(
            "the checkpoint has no replay buffer: it starts empty, updates go on after "
            f"{learner.agent.cfg.learning_starts * learner.rows.num_envs:,} transitions"
        )
    else:
        context.say("the checkpoint has no replay buffer: it starts empty")


class Actor:
    """A trained policy for N rows that acts the same way every time."""

    def __init__(self, policy: Model, rows: bridge.Rows, scaler: Any) -> None:
        """Act by a policy on observations that `scaler`, if there is one, has standardized."""
        self._policy = policy
        self._rows = rows
        self._scaler = scaler
        sizes = policy.get_specification().get("rnn", {}).get("sizes", [])
        self._memory = [torch.zeros(size, device=rows.device) for size in sizes]

    def act(self, obs: Array) -> Array:
        """Return deterministic actions (N, *action) within the action space."""
        with torch.no_grad():
            seen = self._rows.observe(obs)
            if self._scaler is not None:
                seen = self._scaler(seen)
            actions, outputs = self._policy.mode({"observations": seen, "rnn": self._memory})
            self._memory = outputs.get("rnn", self._memory)
            return self._rows.act(actions)

    def reset(self, rows: Array) -> None:
        """Forget the memory of the rows (N,) where the mask is true."""
        ended = torch.from_numpy(np.asarray(rows, dtype=bool)).to(self._rows.device)
        self._memory = [part * ~ended[:, None] for part in self._memory]


def load(checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> Policy:
    """Rebuild the policy of a checkpoint for acting only; no generator is disturbed."""
    _quieten()
    device = _device(spec.device)
    rows = bridge.Rows(env, spec.algo, device)
    agent, path = spec.agent_params, checkpoint / weights.MODEL
    with torch.random.fork_rng(devices=[]):
        networks = build.networks(spec.algo, agent["models"], rows)
    stored = weights.read(path)
    name = "policy" if "policy" in networks else "q_network"
    policy = networks[name].to(device).eval()
    scaler = None
    if agent["observation_preprocessor"]:
        arguments = agent["observation_preprocessor_kwargs"]
        scaler = RunningStandardScaler(**build.scaler(arguments, rows.observation_space, device))
    for key, module in ((name, policy), ("observation_preprocessor", scaler)):
        if module is not None:
            if key not in stored:
                raise IntegrityError(f"{path} holds no {key}; use another checkpoint")
            weights.fill(module, key, stored, path)
    return Actor(policy, rows, scaler)


def _quieten() -> None:
    """Leave only warnings of what skrl says on stderr."""
    logging.getLogger("skrl").setLevel(logging.WARNING)


def _device(name: str) -> torch.device:
    """Return the device; one that this machine lacks is unsupported."""
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda") or not (index or "0").isdigit():
        raise UsageError(f"run.device={name!r} is not cpu, cuda or cuda:<number>")
    if kind == "cuda" and int(index or 0) >= torch.cuda.device_count():
        raise UnsupportedError(
            f"device {name!r} is not on this machine "
            f"({torch.cuda.device_count()} CUDA devices); use run.device=cpu"
        )
    return torch.device(name)
