"""A tiny task in every shape that SB3 takes, and a real context around it, all in one process."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.save_util import load_from_zip_file

from srb_train import config, registry
from srb_train.algos.sb3 import state, weights
from srb_train.context import Context, Desk
from srb_train.contracts import Family, Step
from srb_train.runs.checkpoint import Checkpoints
from srb_train.runs.heartbeat import Heartbeat
from srb_train.spec import RunSpec
from srb_train.stop import Stop

torch.set_num_threads(1)

VECTOR = spaces.Box(-np.inf, np.inf, (3,), np.float32)
IMAGE = spaces.Box(0, 255, (36, 36, 1), np.uint8)
OBSERVATIONS = {
    "vector": VECTOR,
    "double": spaces.Box(-10.0, 10.0, (3,), np.float64),
    "image": IMAGE,
    "dict": spaces.Dict({"state": VECTOR, "camera": IMAGE}),
}
ACTIONS = {
    "continuous": spaces.Box(-2.0, 2.0, (2,), np.float32),
    "discrete": spaces.Discrete(3),
    "from_five": spaces.Discrete(3, start=5),
    "endless": spaces.Box(-np.inf, np.inf, (2,), np.float32),
}


class Slider:
    """A mass on a line under a push and some wind: reward for being near the middle.

    It terminates beyond 2 m and is truncated after `limit` steps. With `constant` nothing moves,
    every reward is 1 and nothing terminates.
    """

    array, device, render_fps, draws_endings = "numpy", "cpu", 50, False

    def __init__(
        self, num_envs: int, observation="vector", action="continuous", limit=15, constant=False
    ) -> None:
        self.num_envs, self.max_episode_steps, self.constant = num_envs, limit, constant
        self.observation_space = OBSERVATIONS[observation]
        self.action_space = ACTIONS[action]
        self.shape = observation
        self.x = np.zeros((num_envs, 2))
        self.age = np.zeros(num_envs, np.int64)
        self.rng = np.random.default_rng(0)
        self.actions: list[np.ndarray] = []

    def reset(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self._begin(np.ones(self.num_envs, bool))
        return self._obs(self.x, self.age)

    def _begin(self, rows):
        self.x[rows] = self.rng.uniform(-1, 1, (rows.sum(), 2))
        self.age[rows] = 0

    def _obs(self, x, age):
        vector = np.concatenate([x, age[:, None] / 15], axis=1)
        picture = (np.full((len(x), *IMAGE.shape), 127.0) + 60 * x[:, :1, None, None]).clip(0, 255)
        picture = np.nan_to_num(picture).astype(np.uint8)
        return {
            "vector": vector.astype(np.float32),
            "double": vector,
            "image": picture,
            "dict": {"state": vector.astype(np.float32), "camera": picture},
        }[self.shape]

    def step(self, action) -> Step:
        self.actions = [*self.actions[-3:], action]
        push = action[:, 0] if action.ndim == 2 else (action - self.action_space.start) - 1.0
        if not self.constant:
            self.x[:, 1] += 0.2 * push + self.rng.normal(0, 0.02, self.num_envs)
            self.x[:, 0] += 0.2 * self.x[:, 1]
        self.age += 1
        terminated = np.abs(self.x[:, 0]) > 2
        truncated = (self.age >= self.max_episode_steps) & ~terminated
        near = np.exp(-(self.x[:, 0] ** 2)).astype(np.float32)
        reward = np.ones(self.num_envs, np.float32) if self.constant else near
        done = terminated | truncated
        final = None
        info: dict[str, Any] = {}
        if done.any():
            final = self._obs(self.x[done], self.age[done])
            info = {"success": near[done] > 0.5}
            self._begin(done)
        return Step(self._obs(self.x, self.age), reward, terminated, truncated, final, info)

    def state_dict(self):
        words = [self.rng.bit_generator.state["state"][key] for key in ("state", "inc")]
        halves = [word >> shift & (2**64 - 1) for word in words for shift in (64, 0)]
        return {"x": self.x.copy(), "age": self.age.copy(), "rng": np.array(halves, np.uint64)}

    def load_state_dict(self, state):
        self.x, self.age = state["x"].copy(), state["age"].copy()
        high, low, inc_high, inc_low = (int(half) for half in state["rng"])
        generator = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
        full = {**self.rng.bit_generator.state, "state": generator}
        self.rng.bit_generator.state = full

    def render(self, row=0):
        return None

    def close(self):
        pass


class Forgetful(Slider):
    """The same task, which cannot tell its state."""

    def state_dict(self):
        return None


@cache
def preset(label: str) -> dict[str, Any]:
    """Return the settings of a label's preset."""
    task = config.Selected(name="gymnasium/Any-v0", preset="gymnasium", id="Any-v0")
    unions = family(label).unions
    return dict(config.compose(label, task, [], config_dir=None, unions=unions).agent)


def family(label: str) -> Family:
    """Return the plate of a label's family."""
    return registry.family_of(label)[0]


SMALL = {
    "learning_starts": 40,
    "buffer_size": 200,
    "batch_size": 16,
    "gradient_steps": 1,
    "n_steps": 8,
    "n_epochs": 2,
    "n_delta": 3,
    "policy_kwargs.net_arch": [8],
    "policy_kwargs.lstm_hidden_size": 8,
    "policy_kwargs.n_quantiles": 5,
    "target_update_interval": 8,
}


def changed(label: str, num_envs: int = 4, **changes: Any) -> dict[str, Any]:
    """Return a preset with values changed by dotted key, settled for a number of rows."""
    agent = preset(label)
    agent = {**agent, "policy_kwargs": dict(agent["policy_kwargs"])}
    for key, value in changes.items():
        section, _, name = key.rpartition(".")
        place = agent[section] if section else agent
        assert name in place, f"{label} has no {key}"
        place[name] = value
    return family(label).settle(label, agent, num_envs)


def small(label: str, **changes: Any) -> dict[str, Any]:
    """Return a preset cut to toy size, changed and settled for four rows."""
    agent = preset(label)
    known = {*agent, *(f"policy_kwargs.{name}" for name in agent["policy_kwargs"])}
    size = {key: value for key, value in SMALL.items() if key in known}
    if "train_freq" in agent:
        size["n_steps"] = 1
    return changed(label, **{**size, **changes})


@dataclass
class Sheet:
    """A sink that remembers."""

    rows: list[tuple[int, dict[str, float]]] = field(default_factory=list)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self.rows.append((step, dict(values)))

    def tags(self) -> set[str]:
        return {tag for _, values in self.rows for tag in values}


@dataclass
class Bench:
    """Runs of one label on one task; each `train` is as good as a fresh process."""

    root: Path
    make_env: Callable[[int], Any] = Slider
    said: list[str] = field(default_factory=list)
    sheet: Sheet = field(default_factory=Sheet)

    def spec(self, label: str, agent: Mapping[str, Any], **more: Any) -> RunSpec:
        facts = {"steps": 192, "num_envs": 4, "seed": 3, "checkpoint_every": 64, "log_every": 32}
        return RunSpec(algo=label, env="slider", agent_params=agent, **{**facts, **more})

    def train(self, spec: RunSpec, *, resume: Path | None = None, weights: Path | None = None):
        """Train to the end of the budget and return the newest checkpoint."""
        scramble()
        folder = self.root / str(len(list(self.root.iterdir())))
        folder.mkdir()
        desk = Desk(
            checkpoints=Checkpoints(folder / "ckpt", keep=50),
            heartbeat=Heartbeat(folder / "heartbeat.json"),
            stop=Stop(),
            sinks=[self.sheet],
            facts={"grade": "exact"},
            met=lambda env: None,
            rates=None,
            say=self.said.append,
        )
        context = Context(spec, desk, resume=resume, weights=weights)
        registry.machine(family(spec.algo)).train(context)
        return desk.checkpoints.latest().path

    def checkpoint(self, newest: Path, step: int) -> Path:
        """Return an older checkpoint beside the newest one, the first from `step` on."""
        found = Checkpoints(newest.parent, keep=50).all()
        return min((one for one in found if one.step >= step), key=lambda one: one.step).path


def differences(one: Path, other: Path) -> list[str]:
    """Return what differs between two checkpoint folders, bit for bit, by file and array."""
    first, second = contents(one), contents(other)
    assert len(first) > 10
    return sorted(
        name
        for name in first.keys() | second.keys()
        if name not in first or name not in second or first[name] != second[name]
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every array and tensor of a checkpoint."""
    found = {"numbers": (folder / state.NUMBERS).read_bytes()}
    for path in folder.glob("*.npz"):
        with np.load(path) as stored:
            found |= {f"{path.name}:{name}": stored[name].tobytes() for name in stored.files}
    if (folder / weights.MODEL).is_file():
        _, modules, variables = load_from_zip_file(folder / weights.MODEL, load_data=False)
        found |= leaves("model", {**modules, "variables": variables or {}})
    return found


def leaves(name: str, tree: Any) -> dict[str, bytes]:
    if isinstance(tree, torch.Tensor):
        return {name: tree.detach().numpy().tobytes()}
    if isinstance(tree, dict | list | tuple):
        parts = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {key: leaf for part, v in parts for key, leaf in leaves(f"{name}.{part}", v).items()}
    return {name: repr(tree).encode()}


def scramble() -> None:
    """Leave the process's generators where no run would find them."""
    seed = random.SystemRandom().randrange(2**31)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    """Give a bench whose task exists only here."""
    made = Bench(tmp_path)
    monkeypatch.setattr(
        registry, "make_env", lambda name, num_envs, params: made.make_env(num_envs)
    )
    return made
