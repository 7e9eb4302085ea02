"""rsl_rl: its algorithms and networks in a loop of our own, which knows when to stop.

`model.pt` in a checkpoint is rsl_rl's own file; `state` tells what lies beside it.
"""

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from srb_train.algos.rsl_rl import build, settings, state, teacher
from srb_train.algos.rsl_rl.bridge import Bridge, Moved
from srb_train.algos.rsl_rl.framework import PPO, Algorithm
from srb_train.contracts import Array, BatchedEnv, Policy, Tracked, TrainContext
from srb_train.errors import IntegrityError, TrainingFailed, UnsupportedError, UsageError
from srb_train.spec import RunSpec


class Learner:
    """An algorithm at work on the bridge, one iteration after the other."""

    def __init__(
        self, context: TrainContext, env: Tracked, algorithm: Algorithm, bridge: Bridge
    ) -> None:
        """Begin with no iteration done; the bridge leads to `env`."""
        self.algorithm = algorithm
        self.iterations = 0
        self._context = context
        self._env = env
        self._bridge = bridge
        self._steps = context.spec.agent_params["num_steps_per_env"]
        self._every = context.spec.log_every
        self._next_log = (context.step // self._every + 1) * self._every
        self._unlogged: dict[str, float] = {}
        self._finished = context.step

    def learn(self) -> None:
        """Iterate until the context says stop."""
        self.algorithm.train_mode()
        while True:
            self._context.boundary()
            try:
                self._iterate()
            except RuntimeError as error:
                # Torch refuses to draw from a distribution that is none, in words of its own.
                if _are_finite(self.algorithm):
                    raise
                raise self._lost() from error
            if self._finished >= self._next_log:
                self.log()

    def _iterate(self) -> None:
        begun = time.perf_counter()
        self._collect()
        collected = time.perf_counter()
        losses = self.algorithm.update()
        if not all(math.isfinite(value) for value in losses.values()):
            raise self._lost()
        self.iterations += 1
        self._finished = self._context.step
        self._unlogged = {
            **{f"Loss/{name}": float(value) for name, value in losses.items()},
            "Loss/learning_rate": float(self.algorithm.learning_rate),
            "Policy/mean_std": self.algorithm.get_policy().output_std.mean().item(),
            "Perf/collection_time": collected - begun,
            "Perf/learning_time": time.perf_counter() - collected,
        }

    def log(self) -> None:
        """Hand over the scalars of the newest iteration, if they were not yet."""
        self._next_log = (self._finished // self._every + 1) * self._every
        if self._unlogged:
            self._context.metrics.write(self._finished, self._unlogged)
        self._unlogged = {}

    def save(self, folder: Path) -> Mapping[str, Any]:
        """Write a checkpoint and return what going on from it restores."""
        return {"restored": state.save(self.algorithm, folder, self.iterations)}

    def _collect(self) -> None:
        """Fill the algorithm's storage with one rollout."""
        algorithm, bridge = self.algorithm, self._bridge
        with torch.inference_mode():
            obs = bridge.observe(self._env.last_obs)
            for _ in range(self._steps):
                moved = bridge.step(algorithm.act(obs))
                obs = moved.obs
                algorithm.process_env_step(obs, _rewards(algorithm, moved), moved.dones, {})
            algorithm.compute_returns(obs)

    def _lost(self) -> TrainingFailed:
        return TrainingFailed(
            f"losses or weights are no longer finite at step {self._context.step:,}: lower "
            "agent.algorithm.learning_rate, and keep run.nan_guard=true to see where it begins"
        )


def train(context: TrainContext) -> None:
    """Train until the context says stop."""
    spec = context.spec
    _refuse_ranks()
    env = context.make_env()
    built = build.Built(spec, env)
    if spec.algo == settings.DISTILLATION and context.resume is None:
        _check_task(spec)
    algorithm = built.algorithm(built.bridge.observe(env.last_obs))
    learner = Learner(context, env, algorithm, built.bridge)
    if context.resume is not None:
        goes_on = env.state_dict() is not None
        learner.iterations = state.restore(algorithm, context.resume, goes_on=goes_on)
        _keep_rate(algorithm, spec.agent_params["algorithm"])
    else:
        _start_from(context, algorithm)
    with context.until_stopped(learner.save):
        learner.learn()
    learner.log()


def _start_from(context: TrainContext, algorithm: Algorithm) -> None:
    """Fill what a fresh run begins with: the teacher, and weights that were brought along."""
    spec = context.spec
    if spec.algo == settings.DISTILLATION:
        path = Path(spec.agent_params["teacher"]) / state.MODEL
        try:
            state.restore_network(algorithm.teacher, "actor", path)
        except (IntegrityError, UsageError) as error:
            raise UsageError(f"agent.teacher: {error}") from error
        algorithm.teacher_loaded = True
        context.say(f"teacher: {path.parent}")
    if context.weights is not None:
        roles = state.import_weights(algorithm, context.weights)
        whose = " and ".join(roles)
        context.say(f"weights of {whose} from {context.weights}; training starts at step 0")


def _check_task(spec: RunSpec) -> None:
    """Refuse a teacher that is gone, or that knows another task."""
    folder = Path(spec.agent_params["teacher"])
    if not folder.is_dir():
        raise UsageError(f"agent.teacher={folder}: there is no such folder")
    known = teacher.task(folder)
    if known != spec.env:
        raise UsageError(
            f"agent.teacher={folder} was trained on {known}, this run is on {spec.env}: "
            "a teacher and its student have the same task"
        )


def _refuse_ranks() -> None:
    """Refuse to be one of several processes: each would train alone."""
    size = os.environ.get("WORLD_SIZE") or "1"
    if size != "1":
        raise UnsupportedError(
            f"WORLD_SIZE={size}: rsl_rl trains in one process here; unset it, "
            "or give one process more copies by env.num_envs"
        )


def _rewards(algorithm: Algorithm, moved: Moved) -> torch.Tensor:
    """Return the rewards (N,) with the value of what was cut off, for those who learn from it.

    rsl_rl itself would take the value of the observation before the last action for it.
    """
    if moved.cut is None or not isinstance(algorithm, PPO):
        return moved.rewards
    rewards = moved.rewards.clone()
    rewards[moved.cut] += algorithm.gamma * _worth(algorithm.critic, moved)
    return rewards


def _worth(critic: nn.Module, moved: Moved) -> torch.Tensor:
    """Return the values (K,) of the last observations of the rows that were cut."""
    memory = critic.get_hidden_state()
    if memory is not None:
        parts = memory if isinstance(memory, tuple) else (memory,)
        theirs = tuple(part.index_select(1, moved.cut) for part in parts)
        critic.reset(hidden_state=theirs if isinstance(memory, tuple) else theirs[0])
    values = critic(moved.last_obs).squeeze(-1)
    critic.reset(hidden_state=memory)
    return values


def _are_finite(algorithm: Algorithm) -> bool:
    """Tell whether all weights still are numbers."""
    tensors = [each for net in state.networks(algorithm).values() for each in net.parameters()]
    return all(bool(torch.isfinite(each).all()) for each in tensors)


def _keep_rate(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    """Go on with the learning rate that is typed, unless it is one that adapts itself."""
    if given.get("schedule") != "adaptive":
        algorithm.learning_rate = given["learning_rate"]
        for group in algorithm.optimizer.param_groups:
            group["lr"] = given["learning_rate"]


class Actor:
    """A trained policy for N rows that acts the same way every time."""

    def __init__(self, policy: nn.Module, bridge: Bridge) -> None:
        """Act by a network on what the bridge makes of an observation."""
        self._policy = policy
        self._bridge = bridge

    def act(self, obs: Array) -> Array:
        """Return deterministic actions (N, *action) within the action space."""
        with torch.inference_mode():
            return self._bridge.to_task(self._policy(self._bridge.observe(obs)))

    def reset(self, rows: Array) -> None:
        """Forget the memory of the rows (N,) where the mask is true."""
        with torch.inference_mode():
            self._policy.reset(torch.as_tensor(rows, device=self._bridge.device))


def load(checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> Policy:
    """Rebuild the policy of a checkpoint for acting only; no generator is disturbed."""
    built = build.Built(spec, env, acts_only=True)
    with torch.random.fork_rng(devices=[]):
        policy = built.policy()
    role = settings.SETS[spec.algo][0]
    state.restore_network(policy, role, checkpoint / state.MODEL)
    policy.eval()
    return Actor(policy, built.bridge)
