"""Environments: they restart ended rows within a step, and write into the same buffers again."""

from dataclasses import dataclass, field

import gymnasium
import numpy as np
import torch

from isaaclab.app import AppLauncher, require_app

require_app()

LIMIT = 20
OUT = 1.0


@dataclass
class SceneCfg:
    num_envs: int = 4096
    env_spacing: float = 2.0


@dataclass
class SimCfg:
    device: str = "cuda:0"
    dt: float = 0.01
    use_fabric: bool = True


@dataclass
class CartCfg:
    scene: SceneCfg = field(default_factory=SceneCfg)
    sim: SimCfg = field(default_factory=SimCfg)
    decimation: int = 2
    episode_length_s: float = 0.4
    speed: float = 0.1
    seed: int | None = None


class CartEnv(gymnasium.Env):
    """A point on a line: it is pushed, it is lost beyond 1, it is cut after its time."""

    metadata = {"render_modes": [None, "human", "rgb_array"]}  # noqa: RUF012

    def __init__(self, cfg, render_mode=None, **kwargs):
        require_app()
        if cfg.sim.device != AppLauncher.launched["device"]:
            raise RuntimeError("the simulation and the app are on different devices")
        if render_mode == "rgb_array" and not AppLauncher.launched.get("enable_cameras"):
            raise RuntimeError("pictures need cameras")
        self.cfg, self.render_mode = cfg, render_mode
        self.num_envs, self.device = cfg.scene.num_envs, cfg.sim.device
        self.extras = {}
        box = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
        term = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
        critic = gymnasium.spaces.Dict({"place": term, "push": term})
        self.single_observation_space = gymnasium.spaces.Dict({"policy": box, "critic": critic})
        self.single_action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))
        self.obs_buf = torch.zeros(self.num_envs, 2)
        self.reward_buf = torch.zeros(self.num_envs)
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.push = torch.zeros(self.num_envs, 1)
        self.closed, self.begun = False, False

    @property
    def step_dt(self):
        return self.cfg.sim.dt * self.cfg.decimation

    @property
    def max_episode_length(self):
        return int(np.ceil(self.cfg.episode_length_s / self.step_dt))

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            torch.manual_seed(seed)
        self.begun = True
        self._reset_idx(torch.arange(self.num_envs))
        return self._observe(), self.extras

    def step(self, action):
        if self.closed or not self.begun:
            raise RuntimeError("stepped before a reset, or after the end")
        if not isinstance(action, torch.Tensor) or action.dtype != torch.float32:
            raise TypeError("actions are float32 tensors")
        if action.shape != (self.num_envs, 1):
            raise ValueError(f"actions are of shape {tuple(action.shape)}")
        self.push = action
        self.obs_buf[:, :1] += self.cfg.speed * action
        self.obs_buf[:, 1] += self.step_dt
        self.episode_length_buf += 1
        self.reward_buf[:] = 1.0 - self.obs_buf[:, 0].abs()
        terminated = self.obs_buf[:, 0].abs() > OUT
        timed_out = self.episode_length_buf >= self.max_episode_length
        ids = (terminated | timed_out).nonzero().squeeze(-1)
        if len(ids):
            self._reset_idx(ids)
        return self._observe(), self.reward_buf, terminated, timed_out, self.extras

    def render(self):
        if self.render_mode is None:
            return None
        return np.full((48, 64, 3), 7, dtype=np.uint8)

    def close(self):
        if self.closed:
            raise RuntimeError("closed twice")
        self.closed = True
        print("the environment is closed", flush=True)

    def _reset_idx(self, ids):
        self.extras["log"] = {"Episode_Reward/place": torch.tensor(0.5)}
        self.obs_buf[ids, 0] = torch.rand(len(ids)) - 0.5
        self.obs_buf[ids, 1] = 0.0
        self.episode_length_buf[ids] = 0

    def _observe(self):
        return {"policy": self.obs_buf, "critic": {"place": self.obs_buf[:, :1], "push": self.push}}
