"""The script that someone would write without this product: `direct_sb3 SPEC FOLDER [fused]`.

It imports Stable-Baselines3 and the task, nothing else of ours, and takes its sizes from a spec.
With `fused` Adam updates all tensors in one call, as `srb` has it; SB3 itself leaves that off.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.save_util import recursive_getattr
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from srb_train.envs.tasks import machine

ALGORITHMS = {"sb3_ppo": PPO, "sb3_sac": SAC}
ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "elu": torch.nn.ELU}
OURS = ("policy", "normalize_observation", "normalize_reward", "clip_obs", "action_noise_std")


class Batch(VecEnv):
    """The batched task as Stable-Baselines3 wants it."""

    def __init__(self, env, seed):
        self.env, self.render_mode = env, None
        super().__init__(env.num_envs, env.observation_space, env.action_space)
        self.start = seed
        self.total = np.zeros(env.num_envs)
        self.length = np.zeros(env.num_envs, int)

    def reset(self):
        return self.env.reset(self.start)

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        step = self.env.step(self.actions)
        done = step.terminated | step.truncated
        self.total += step.reward
        self.length += 1
        infos = [{}] * self.num_envs
        for place, row in enumerate(np.flatnonzero(done)):
            infos[row] = {
                "terminal_observation": step.final_obs[place],
                "TimeLimit.truncated": bool(step.truncated[row]),
                "episode": {"r": self.total[row], "l": self.length[row], "t": 0.0},
            }
        self.total[done] = 0.0
        self.length[done] = 0
        return step.obs, step.reward, done, infos

    def close(self):
        self.env.close()

    def get_attr(self, name, indices=None):
        return [getattr(self, name)] * self.num_envs

    def set_attr(self, name, value, indices=None):
        setattr(self, name, value)

    def env_method(self, name, *args, indices=None, **kwargs):
        return []

    def env_is_wrapped(self, wrapper, indices=None):
        return [False] * self.num_envs

    def seed(self, seed=None):
        return [seed] * self.num_envs


def schedule(value):
    """Turn `lin_1e-3` into a linear schedule."""
    if isinstance(value, str) and value.startswith("lin_"):
        first = float(value.removeprefix("lin_"))
        return lambda remaining: remaining * first
    return value


def fuse(model):
    """Have every Adam work as `srb` has it."""
    for name in model._get_torch_save_params()[0]:
        optimizer = recursive_getattr(model, name)
        if isinstance(optimizer, torch.optim.Adam):
            for group in optimizer.param_groups:
                group["fused"] = True


def main(spec_file, folder, optimizer=""):
    """Train as the spec says."""
    spec = json.loads(Path(spec_file).read_text(encoding="utf-8"))
    torch.set_num_threads(spec["threads"])
    params = {k: v for k, v in spec["env_params"].items() if k not in ("name", "id")}
    env = Batch(machine.make(spec["env"], spec["num_envs"], params), spec["seed"])
    agent = dict(spec["agent_params"])
    if agent["normalize_observation"] or agent["normalize_reward"]:
        env = VecNormalize(
            env,
            norm_obs=agent["normalize_observation"],
            norm_reward=agent["normalize_reward"],
            clip_obs=agent["clip_obs"],
            gamma=agent["gamma"],
        )
    agent = {key: schedule(value) for key, value in agent.items() if key not in OURS}
    kwargs = agent["policy_kwargs"]
    kwargs["activation_fn"] = ACTIVATIONS[kwargs["activation_fn"]]
    model = ALGORITHMS[spec["algo"]](
        "MlpPolicy", env, seed=spec["seed"], device="cpu", tensorboard_log=folder, **agent
    )
    if optimizer == "fused":
        fuse(model)
    model.learn(spec["steps"])
    model.save(Path(folder) / "model.zip")


if __name__ == "__main__":
    main(*sys.argv[1:])
