"""Stable Baselines Jax: its own `learn`, led by the callback of the family `sb3`.

`model.npz` in a checkpoint holds the arrays of the model; `srb_train.algos.sb3.state` tells what
lies beside it.
"""

from pathlib import Path

import numpy as np

from srb_train.algos.sb3 import actor, session
from srb_train.algos.sbx import build, runtime, weights
from srb_train.contracts import BatchedEnv, Policy, TrainContext
from srb_train.spec import RunSpec


def train(context: TrainContext) -> None:
    """Train until the context says stop."""
    spec = context.spec
    context.say(runtime.prepare(spec.device, spec.threads))
    env = context.make_env()
    venv = build.wrap(spec.algo, env, spec.agent_params, context.say)
    model = build.model(spec.algo, spec.agent_params, venv, seed=spec.seed % 2**32)
    session.train(context, env, model, weights)


def load(checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> Policy:
    """Rebuild the policy of a checkpoint for acting only; no generator is disturbed."""
    runtime.prepare(spec.device, spec.threads)
    venv = actor.wrap(env, spec.agent_params, checkpoint)
    agent = actor.smallest(spec.agent_params, env.num_envs)
    drawn = np.random.get_state()
    model = build.model(spec.algo, agent, venv, seed=None)
    np.random.set_state(drawn)
    weights.restore(model, checkpoint)
    return actor.Actor(model, venv, env)
