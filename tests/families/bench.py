"""A bench to put one label on: requests at toy size, workers in processes that fork quickly.

Workers are forked from a server process that has imported the frameworks once, so that a hundred
short runs cost seconds; a worker may be told to kill itself at a step, which is a crash injected
at an exact place.
"""

import io
import multiprocessing
import os
import signal
import zipfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from srb_train import operations, playback, registry, worker
from srb_train.context import Context
from srb_train.evaluate import evaluate
from srb_train.operations import TrainRequest
from srb_train.operations.acting import EVAL_SEED
from srb_train.operations.train import place
from srb_train.runs.store import Run
from srb_train.stop import Stop

FRAMEWORKS = [
    "stable_baselines3",
    "sb3_contrib",
    "sbx",
    "skrl.agents.torch",
    "rsl_rl.algorithms",
    # The first optimizer of a process imports this, which takes seconds.
    "torch._dynamo",
    "srb_train.worker",
    "tests.families.bench",
]
TIMEOUT = 240.0
CWD = "cwd"


def every_label() -> list[str]:
    """Return the labels of every installed family."""
    return [name for name, (family, _) in registry.labels().items() if not registry.missing(family)]


def forks() -> Any:
    """Return the multiprocessing context whose server has the frameworks imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(FRAMEWORKS)
    return context


Blow = tuple[int, signal.Signals]
"""A step, and the signal that a worker sends itself at the first step past it."""


def _work(run: str, order: str, log: str, cwd: str, blow: Blow | None) -> None:
    """Be a worker in the working directory beside the logs; take the blow where it is due."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.chdir(cwd)
    if blow is not None:
        _strike(*blow)
    stop = Stop()
    stop.install()
    os._exit(worker.obey(run, order, stop))


def _strike(step: int, number: signal.Signals) -> None:
    original = Context._advance
    left = [number]

    def advance_and_strike(self: Context, transitions: int) -> None:
        original(self, transitions)
        if self.step > step and left:
            os.kill(os.getpid(), left.pop())

    Context._advance = advance_and_strike


@dataclass(frozen=True)
class Bench:
    """One label on one small task under one log root."""

    root: Path
    algo: str
    env: str
    overrides: tuple[str, ...]

    def request(self, *overrides: str, **more: Any) -> TrainRequest:
        """Return a request for this label; later overrides win."""
        typed = () if more.get("continue_training") or more.get("model") else self.overrides
        return TrainRequest(
            algo=self.algo,
            env=self.env,
            logdir=self.root,
            overrides=(*typed, *overrides),
            **more,
        )

    def plan(self) -> operations.Plan:
        """Return what a fresh run of this label would do."""
        return operations.prepare(self.request())

    def train(self, *overrides: str, blow: Blow | None = None, code: int = 0, **more: Any) -> Run:
        """Carry out a request in a forked worker, which must leave by `code`; returns its run."""
        plan = operations.prepare(self.request(*overrides, **more))
        run, order = place(plan, {})
        log = run.path / "train.log"
        run_in = self.root.parent / CWD
        run_in.mkdir(exist_ok=True)
        child = forks().Process(
            target=_work, args=(str(run.path), str(order), str(log), str(run_in), blow)
        )
        child.start()
        child.join(TIMEOUT)
        if child.is_alive():
            child.kill()
            raise AssertionError(f"the worker still runs after {TIMEOUT} s:\n{log.read_text()}")
        order.unlink()
        assert child.exitcode == code, log.read_text()
        assert list(run_in.iterdir()) == [], "a framework wrote into the working directory"
        return run

    def at(self, root: Path) -> "Bench":
        """Return the same label under another log root."""
        return replace(self, root=root)


def play(run: Run, episodes: int, num_envs: int) -> dict[str, Any]:
    """Evaluate a run's newest checkpoint in this process, as `srb agent eval` does in a child."""
    spec = run.spec()
    with closing(registry.make_env(spec.env, num_envs, spec.env_params)) as env:
        policy = playback.load(run.checkpoints().latest(), spec, env)
        return evaluate(policy, env, episodes, EVAL_SEED).as_dict()


def differences(one: Path, other: Path) -> list[str]:
    """Return what differs between two checkpoint folders, bit for bit, by file and array."""
    first, second = contents(one), contents(other)
    names = sorted(set(first) | set(second))
    return [name for name in names if not _same(first.get(name), second.get(name))]


def contents(folder: Path) -> dict[str, np.ndarray]:
    """Return every array of a checkpoint: of .npz files and of a framework's own .zip and .pt."""
    arrays: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as stored:
            arrays.update({f"{path.name}:{name}": stored[name] for name in stored.files})
    for path in sorted(folder.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for member in (name for name in archive.namelist() if name.endswith(".pth")):
                tree = torch.load(io.BytesIO(archive.read(member)), weights_only=True)
                arrays.update(_leaves(f"{path.name}:{member}", tree))
    for path in sorted(folder.glob("*.pt")):
        arrays.update(_leaves(path.name, torch.load(path, weights_only=True)))
    return arrays


def _leaves(name: str, tree: Any) -> dict[str, np.ndarray]:
    if isinstance(tree, dict):
        parts = tree.items()
    elif isinstance(tree, list | tuple):
        parts = enumerate(tree)
    elif isinstance(tree, torch.Tensor):
        return {name: tree.detach().numpy()}
    else:
        return {name: np.array(tree if tree is not None else "none")}
    leaves: dict[str, np.ndarray] = {}
    for part, value in parts:
        leaves |= _leaves(f"{name}.{part}", value)
    return leaves


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    return one.tobytes() == other.tobytes()
