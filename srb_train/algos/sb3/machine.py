"""Stable-Baselines3 and sb3-contrib: their own `learn`, led by one callback.

`model.zip` in a checkpoint is SB3's own file; `state` tells what lies beside it.
"""

from pathlib import Path

import torch
from stable_baselines3.common.vec_env import VecNormalize

from srb_train.algos.sb3 import actor, bridge, build, session, weights
from srb_train.contracts import BatchedEnv, Policy, TrainContext
from srb_train.spec import RunSpec


def train(context: TrainContext) -> None:
    """Train until the context says stop."""
    spec = context.spec
    env = context.make_env()
    venv = bridge.wrap(env, spec.agent_params, context.say)
    model = build.model(
        spec.algo, spec.agent_params, venv, device=spec.device, seed=spec.seed % 2**32
    )
    if context.resume is None and context.weights is not None:
        weights.load_native(model, context.weights)
        context.say(f"weights from {context.weights}; training starts at step 0")
        if isinstance(venv, VecNormalize):
            context.say("an SB3 file holds no normaliser: its statistics start anew")
    session.train(context, env, model, weights)


def load(checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> Policy:
    """Rebuild the policy of a checkpoint for acting only; no generator is disturbed."""
    venv = actor.wrap(env, spec.agent_params, checkpoint)
    agent = actor.smallest(spec.agent_params, env.num_envs)
    with torch.random.fork_rng(devices=[]):
        model = build.model(spec.algo, agent, venv, device=spec.device, seed=None)
    weights.restore_policy(model, checkpoint)
    return actor.Actor(model, venv, env)
