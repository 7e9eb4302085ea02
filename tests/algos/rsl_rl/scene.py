"""A tiny task in the shapes that rsl_rl takes, and a real context around it, in one process."""

import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces

from srb_train import config, generators
from srb_train.algos.rsl_rl import PLATE, machine
from srb_train.context import Context, Desk
from srb_train.contracts import Step
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import Checkpoints
from srb_train.runs.heartbeat import Heartbeat
from srb_train.spec import RunSpec
from srb_train.stop import Stop

torch.set_num_threads(1)

VECTOR = spaces.Box(-np.inf, np.inf, (3,), np.float32)
IMAGE = spaces.Box(0, 255, (36, 36, 1), np.uint8)
OBSERVATIONS = {
    "vector": VECTOR,
    "double": spaces.Box(-10.0, 10.0, (3, 1), np.float64),
    "image": IMAGE,
    "dict": spaces.Dict({"state": VECTOR, "hint": spaces.Box(-1.0, 1.0, (1,), np.float32)}),
    "camera": spaces.Dict({"state": VECTOR, "camera": IMAGE}),
    "choice": spaces.Discrete(3),
}
ACTIONS = {
    "continuous": spaces.Box(np.float32([0.0, -2.0]), np.float32([1.0, 2.0])),
    "discrete": spaces.Discrete(3),
    "endless": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "square": spaces.Box(-1.0, 1.0, (2, 2), np.float64),
}


class Buoy:
    """A float on a line, pushed about: reward for being near the middle.

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
        self.kind = observation
        self.x = np.zeros((num_envs, 2))
        self.age = np.zeros(num_envs, np.int64)
        self.rng = np.random.default_rng(0)
        self.actions: list[np.ndarray] = []

    def reset(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self._begin(np.ones(self.num_envs, bool))
        return self.look(self.x, self.age)

    def _begin(self, rows):
        self.x[rows] = self.rng.uniform(-1, 1, (rows.sum(), 2))
        self.age[rows] = 0

    def look(self, x, age):
        vector = np.concatenate([x, age[:, None] / 15], axis=1)
        single = vector.astype(np.float32)
        if self.kind == "double":
            return vector[..., None]
        if self.kind == "dict":
            return {"state": single, "hint": np.sign(single[:, :1])}
        if self.kind in ("image", "camera"):
            grey = (127 + 60 * x[:, :1, None, None]).clip(0, 255)
            picture = np.broadcast_to(grey, (len(x), 36, 36, 1)).astype(np.uint8)
            return picture if self.kind == "image" else {"state": single, "camera": picture}
        return single

    def step(self, action) -> Step:
        self.actions = [*self.actions[-3:], action]
        if not self.constant:
            push = action.reshape(len(action), -1)[:, -1]
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
            final = self.look(self.x[done], self.age[done])
            info = {"success": near[done] > 0.5}
            self._begin(done)
        return Step(self.look(self.x, self.age), reward, terminated, truncated, final, info)

    def state_dict(self):
        words = [self.rng.bit_generator.state["state"][key] for key in ("state", "inc")]
        halves = [word >> shift & (2**64 - 1) for word in words for shift in (64, 0)]
        return {"x": self.x.copy(), "age": self.age.copy(), "rng": np.array(halves, np.uint64)}

    def load_state_dict(self, state):
        self.x, self.age = state["x"].copy(), state["age"].copy()
        high, low, inc_high, inc_low = (int(half) for half in state["rng"])
        generator = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
        self.rng.bit_generator.state = {**self.rng.bit_generator.state, "state": generator}

    def render(self, row=0):
        return None

    def close(self):
        pass


class Forgetful(Buoy):
    """The same task, which cannot tell its state."""

    def state_dict(self):
        return None


class Sick(Buoy):
    """The same task, whose reward is no number after a while."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=step.reward * np.nan) if self.age.max() > 8 else step


@cache
def _preset(label: str) -> dict[str, Any]:
    task = config.Selected(name="gymnasium/Any-v0", preset="gymnasium", id="Any-v0")
    return dict(config.compose(label, task, [], config_dir=None, unions=PLATE.unions).agent)


def changed(label: str, num_envs: int = 4, **changes: Any) -> dict[str, Any]:
    """Return a preset with values changed by dotted key, settled for a number of rows."""
    agent = deepcopy(_preset(label))
    for key, value in changes.items():
        *sections, name = key.split(".")
        place = agent
        for section in sections:
            place = place[section]
        assert name in place, f"{label} has no {key}"
        place[name] = value
    return PLATE.settle(label, agent, num_envs)


SMALL = {
    "num_steps_per_env": 8,
    "algorithm.num_learning_epochs": 2,
    "algorithm.num_mini_batches": 2,
    "algorithm.gradient_length": 4,
    "actor.hidden_dims": [8],
    "critic.hidden_dims": [8],
    "student.hidden_dims": [8],
    "actor.rnn_hidden_dim": 8,
    "critic.rnn_hidden_dim": 8,
}


def small(label: str, **changes: Any) -> dict[str, Any]:
    """Return a preset cut to toy size, changed and settled for four rows."""
    agent = _preset(label)
    size = {key: value for key, value in SMALL.items() if _has(agent, key)}
    return changed(label, **{**size, **changes})


def _has(tree: Any, key: str) -> bool:
    for name in key.split("."):
        if not isinstance(tree, Mapping) or name not in tree:
            return False
        tree = tree[name]
    return True


@dataclass
class Sheet:
    """A sink that remembers."""

    rows: list[tuple[int, dict[str, float]]] = field(default_factory=list)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self.rows.append((step, dict(values)))

    def tags(self) -> set[str]:
        return {tag for _, values in self.rows for tag in values}

    def series(self, tag: str) -> list[tuple[int, float]]:
        return [(step, values[tag]) for step, values in self.rows if tag in values]


@dataclass
class Bench:
    """Runs of one label on one task; each `train` is as good as a fresh process."""

    root: Path
    make_env: Callable[[int], Any] = Buoy
    said: list[str] = field(default_factory=list)
    sheet: Sheet = field(default_factory=Sheet)

    def spec(self, label: str, agent: Mapping[str, Any], **more: Any) -> RunSpec:
        facts = {"steps": 192, "num_envs": 4, "seed": 3, "checkpoint_every": 64, "log_every": 32}
        return RunSpec(algo=label, env="buoy", agent_params=agent, **{**facts, **more})

    def train(self, spec: RunSpec, *, resume: Path | None = None, weights: Path | None = None):
        """Train to the end of the budget and return the newest checkpoint."""
        if resume is None:
            generators.seed_all(spec.seed, 1)
        else:
            scramble()
        folder = self.root / f"run{len(list(self.root.glob('run*')))}"
        folder.mkdir()
        desk = Desk(
            checkpoints=Checkpoints(folder / layout.CHECKPOINTS, keep=50),
            heartbeat=Heartbeat(folder / "heartbeat.json"),
            stop=Stop(),
            sinks=[self.sheet],
            facts={"grade": "exact", "label": spec.algo, "env": spec.env},
            met=lambda env: None,
            rates=None,
            say=self.said.append,
        )
        files.write_json(folder / layout.RUN, {})
        machine.train(Context(spec, desk, resume=resume, weights=weights))
        return desk.checkpoints.latest().path

    def checkpoint(self, newest: Path, step: int) -> Path:
        """Return an older checkpoint beside the newest one, the first from `step` on."""
        found = Checkpoints(newest.parent, keep=50).all()
        return min((one for one in found if one.step >= step), key=lambda one: one.step).path

    def teacher(self, **changes: Any) -> Path:
        """Train a tiny teacher and return its checkpoint."""
        return self.train(self.spec("rsl_rl_ppo", small("rsl_rl_ppo", **changes), steps=64))


def differences(one: Path, other: Path) -> list[str]:
    """Return what differs between two checkpoint folders, bit for bit, by file and array."""
    first, second = contents(one), contents(other)
    assert len(first) > 20
    return sorted(
        name
        for name in first.keys() | second.keys()
        if name not in first or name not in second or first[name] != second[name]
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every array, tensor and number of a checkpoint."""
    found = {path.name: path.read_bytes() for path in folder.glob("rsl_rl.json")}
    for path in folder.glob("*.npz"):
        with np.load(path, allow_pickle=False) as stored:
            found |= {f"{path.name}:{name}": stored[name].tobytes() for name in stored.files}
    return found | _leaves("model", torch.load(folder / "model.pt", weights_only=True))


def _leaves(name: str, tree: Any) -> dict[str, bytes]:
    if isinstance(tree, torch.Tensor):
        return {name: tree.detach().numpy().tobytes()}
    if isinstance(tree, dict | list | tuple):
        parts = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {k: leaf for part, v in parts for k, leaf in _leaves(f"{name}.{part}", v).items()}
    return {name: repr(tree).encode()}


def scramble() -> None:
    """Leave the process's generators where no run would find them."""
    seed = random.SystemRandom().randrange(2**31)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
