"""Hill climbing over linear policies: keeps the weights that did best so far."""

import numpy as np


def train(context):
    """Climb until the context says stop."""
    env = context.make_env()
    shape = (env.observation_space.shape[0], env.action_space.shape[0])
    best, score = np.zeros(shape), np.array(-np.inf)
    if context.resume is not None:
        with np.load(context.resume / "climb.npz") as stored:
            best, score = stored["best"], stored["score"]

    def save(folder):
        np.savez(folder / "climb.npz", best=best, score=score)
        return {"restored": ["weights", "score"]}

    with context.until_stopped(save):
        obs = env.last_obs
        while True:
            context.boundary()
            weights = best + context.spec.agent_params["spread"] * np.random.standard_normal(shape)
            total = 0.0
            for _ in range(context.spec.agent_params["horizon"]):
                step = env.step(act(weights, obs, env.action_space))
                obs, total = step.obs, total + float(step.reward.mean())
            if total > score:
                best, score = weights, np.array(total)
            context.metrics.write(context.step, {"climb/score": float(score)})


def act(weights, obs, space):
    """Return clipped linear actions."""
    return np.clip(obs @ weights, space.low, space.high).astype(np.float32)


class Climber:
    """The best weights as a policy."""

    def __init__(self, weights, space):
        """Act for `space`."""
        self.weights, self.space = weights, space

    def act(self, obs):
        """Return actions."""
        return act(self.weights, obs, self.space)

    def reset(self, rows):
        """Forget nothing."""


def load(checkpoint, spec, env):
    """Rebuild the policy of a checkpoint."""
    with np.load(checkpoint / "climb.npz") as stored:
        return Climber(stored["best"], env.action_space)
