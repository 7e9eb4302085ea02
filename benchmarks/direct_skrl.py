"""The script that someone would write without this product: `direct_skrl SPEC FOLDER [fused]`.

It imports skrl and the task, nothing else of ours, and takes its sizes from a spec of `skrl_ppo`
or `skrl_sac`: the same batch and the same networks under skrl's own trainer, which writes
TensorBoard scalars and a final file. With `fused` Adam updates all tensors in one call, as `srb`
has it; skrl itself leaves that off.
"""

import json
import math
import sys
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import torch
from skrl.agents.torch.ppo import PPO
from skrl.agents.torch.sac import SAC
from skrl.envs.wrappers.torch import Wrapper
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.trainers.torch import SequentialTrainer
from torch import nn
from torch.distributions import Normal

from srb_train.envs.tasks import machine

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}
OURS = ("models", "memory_size")


class Batch(Wrapper):
    """The batched task as skrl wants it."""

    def __init__(self, env, seed):
        self._env, self._unwrapped, self.start, self.seen = env, env, seed, None
        self._device = torch.device("cpu")

    num_envs = property(lambda self: self._env.num_envs)
    num_agents = property(lambda self: 1)
    observation_space = property(lambda self: self._env.observation_space)
    action_space = property(lambda self: self._env.action_space)
    state_space = property(lambda self: None)

    def reset(self):
        if self.seen is None:
            self.seen = torch.from_numpy(self._env.reset(self.start))
        return self.seen, {}

    def step(self, actions):
        step = self._env.step(actions.numpy())
        self.seen = torch.from_numpy(step.obs)
        flags = (step.reward.copy(), step.terminated, step.truncated)
        return self.seen, *(torch.from_numpy(each).unsqueeze(1) for each in flags), {}

    def state(self):
        return None

    def render(self, *args, **kwargs):
        return None

    def close(self):
        self._env.close()


def perceptron(inputs, plan, outputs):
    sizes = [inputs, *plan["layers"]]
    parts = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), ACTIVATIONS[plan["activation"]]()]
    return nn.Sequential(*parts, nn.Linear(sizes[-1], outputs))


class Gaussian(GaussianMixin, Model):
    def __init__(self, env, plan):
        Model.__init__(
            self,
            observation_space=env.observation_space,
            action_space=env.action_space,
            device="cpu",
        )
        GaussianMixin.__init__(self, clip_actions=False)
        self.net = perceptron(self.num_observations, plan, self.num_actions)
        self.log_std = nn.Parameter(torch.full((self.num_actions,), plan["initial_log_std"]))

    def compute(self, inputs, role=""):
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Squashed(Model):
    def __init__(self, env, plan):
        super().__init__(
            observation_space=env.observation_space,
            action_space=env.action_space,
            device="cpu",
        )
        self.net = perceptron(self.num_observations, plan, 2 * self.num_actions)
        self.limits = (plan["min_log_std"], plan["max_log_std"])

    def compute(self, inputs, role=""):
        mean, log_std = self.net(inputs["observations"]).chunk(2, dim=-1)
        return mean, {"log_std": log_std.clamp(*self.limits)}

    def act(self, inputs, role=""):
        mean, outputs = self.compute(inputs, role)
        normal = Normal(mean, outputs["log_std"].exp())
        raw = normal.rsample()
        shrunk = 2 * (math.log(2) - raw - nn.functional.softplus(-2 * raw))
        outputs["log_prob"] = (normal.log_prob(raw) - shrunk).sum(-1, keepdim=True)
        return torch.tanh(raw), outputs


class Value(DeterministicMixin, Model):
    def __init__(self, env, plan, critic=False):
        Model.__init__(
            self,
            observation_space=env.observation_space,
            action_space=env.action_space,
            device="cpu",
        )
        DeterministicMixin.__init__(self)
        self.critic = critic
        inputs = self.num_observations + (self.num_actions if critic else 0)
        self.net = perceptron(inputs, plan, 1)

    def compute(self, inputs, role=""):
        seen = inputs["observations"]
        if self.critic:
            seen = torch.cat([seen, inputs["taken_actions"]], dim=1)
        return self.net(seen), {}


def networks(env, algo, plans):
    if algo == "skrl_ppo":
        return {"policy": Gaussian(env, plans["policy"]), "value": Value(env, plans["value"])}
    names = ("critic_1", "critic_2", "target_critic_1", "target_critic_2")
    critics = {name: Value(env, plans["critic"], critic=True) for name in names}
    return {"policy": Squashed(env, plans["policy"]), **critics}


def settings(env, agent, folder, steps):
    config = {key: value for key, value in agent.items() if key not in OURS}
    for key, size in (("observation", env.observation_space), ("value", 1)):
        if config.get(f"{key}_preprocessor"):
            config[f"{key}_preprocessor"] = RunningStandardScaler
            config[f"{key}_preprocessor_kwargs"] |= {"size": size, "device": "cpu"}
    if config["learning_rate_scheduler"] == "KLAdaptiveLR":
        config["learning_rate_scheduler"] = KLAdaptiveLR
    elif config["learning_rate_scheduler"] == "LinearLR":
        updates = steps // config["rollouts"] * config["learning_epochs"]
        config["learning_rate_scheduler"] = torch.optim.lr_scheduler.LinearLR
        config["learning_rate_scheduler_kwargs"] |= {"total_iters": updates}
    if "rollouts" in config:
        config["time_limit_bootstrap"] = True
    return {**config, "experiment": {"directory": folder, "checkpoint_interval": 0}}


def fuse(agent):
    """Have every Adam work as `srb` has it."""
    for part in vars(agent).values():
        if isinstance(part, torch.optim.Adam):
            for group in part.param_groups:
                group["fused"] = True


def main(spec_file, folder, optimizer=""):
    """Train as the spec says."""
    spec = json.loads(Path(spec_file).read_text(encoding="utf-8"))
    torch.set_num_threads(spec["threads"])
    torch.manual_seed(spec["seed"])
    np.random.seed(spec["seed"])
    params = {k: v for k, v in spec["env_params"].items() if k not in ("name", "id")}
    env = Batch(machine.make(spec["env"], spec["num_envs"], params), spec["seed"])
    assert isinstance(env.action_space, gymnasium.spaces.Box)
    agent_params, steps = spec["agent_params"], -(-spec["steps"] // spec["num_envs"])
    on_policy = "rollouts" in agent_params
    agent = (PPO if on_policy else SAC)(
        models=networks(env, spec["algo"], agent_params["models"]),
        memory=RandomMemory(
            memory_size=agent_params["rollouts" if on_policy else "memory_size"],
            num_envs=env.num_envs,
            device="cpu",
            replacement=not on_policy,
        ),
        observation_space=env.observation_space,
        action_space=env.action_space,
        device="cpu",
        cfg=settings(env, agent_params, folder, steps),
    )
    if optimizer == "fused":
        fuse(agent)
    quiet = {"headless": True, "disable_progressbar": True, "close_environment_at_exit": False}
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": steps, **quiet}).train()
    agent.save(str(Path(folder) / "agent.pt"))


if __name__ == "__main__":
    main(*sys.argv[1:])
