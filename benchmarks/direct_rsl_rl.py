"""The script that someone would write without this product: `direct_rsl_rl SPEC FOLDER [fused]`.

It imports rsl_rl and the task, nothing else of ours, and takes its sizes from a spec. With `fused`
Adam updates all tensors in one call, as `srb` has it; rsl_rl itself leaves that off.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

import numpy as np
import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from srb_train.envs.tasks import machine

GAUSSIAN = ("class_name", "init_std", "std_range", "std_type", "learn_std")


class Batch(VecEnv):
    """The batched task as rsl_rl wants it."""

    def __init__(self, env, seed):
        self.env, self.cfg, self.device = env, {}, "cpu"
        self.num_envs, self.num_actions = env.num_envs, env.action_space.shape[0]
        self.max_episode_length = env.max_episode_steps
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.obs = self.wrapped(env.reset(seed))

    def wrapped(self, obs):
        return TensorDict({"policy": torch.from_numpy(obs)}, batch_size=[self.num_envs])

    def get_observations(self):
        return self.obs

    def step(self, actions):
        step = self.env.step(np.clip(actions.numpy(), -1.0, 1.0))
        self.obs = self.wrapped(step.obs)
        done = torch.from_numpy(step.terminated | step.truncated)
        extras = {"time_outs": torch.from_numpy(step.truncated)}
        return self.obs, torch.from_numpy(step.reward), done, extras


def network(given, class_name):
    """Return a network's settings as rsl_rl takes them."""
    known = ("hidden_dims", "activation", "obs_normalization", "rnn_type", "rnn_hidden_dim")
    config = {key: given[key] for key in (*known, "rnn_num_layers") if key in given}
    if "distribution_cfg" in given:
        config["distribution_cfg"] = {key: given["distribution_cfg"][key] for key in GAUSSIAN}
    return {"class_name": class_name, **config}


def main(spec_file, folder, optimizer=""):
    """Train as the spec says."""
    spec = json.loads(Path(spec_file).read_text(encoding="utf-8"))
    torch.set_num_threads(spec["threads"])
    torch.manual_seed(spec["seed"])
    params = {k: v for k, v in spec["env_params"].items() if k not in ("name", "id")}
    env = Batch(machine.make(spec["env"], spec["num_envs"], params), spec["seed"])
    agent = spec["agent_params"]
    model = "RNNModel" if spec["algo"] == "rsl_rl_ppo_rnn" else "MLPModel"
    config = {
        "num_steps_per_env": agent["num_steps_per_env"],
        "save_interval": 10**9,
        "logger": "tensorboard",
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": {"class_name": "PPO", **agent["algorithm"]},
        "actor": network(agent["actor"], model),
        "critic": network(agent["critic"], model),
    }
    with contextlib.redirect_stdout(io.StringIO()):
        runner = OnPolicyRunner(env, config, folder, "cpu")
        runner.logger.git_status_repos = []
        if optimizer == "fused":
            runner.alg.optimizer.param_groups[0]["fused"] = True
        rollout = spec["num_envs"] * agent["num_steps_per_env"]
        runner.learn(-(-spec["steps"] // rollout))
    runner.save(str(Path(folder) / "model.pt"))


if __name__ == "__main__":
    main(*sys.argv[1:])
