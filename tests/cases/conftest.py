"""How the cases read what a command left behind."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from srb_train.runs.store import Run, RunStore

TOY = ("--algo", "toy_cem", "--env", "cartpole", "env.num_envs=4", "agent.horizon=25", "run.seed=3")
LONG = (*TOY, "run.steps=200000000", "run.checkpoint_every=2000")
DEADLINE = 60.0


def runs(logs: Path) -> list[Run]:
    """Return all runs below a log root, newest first."""
    return RunStore(logs).all()


def until(true: Callable[[], object], what: str) -> None:
    """Wait until something is true; say what was waited for when it never is."""
    end = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < end, f"waited {DEADLINE} s for {what}"
        time.sleep(0.02)


def has_trained(logs: Path, step: int = 1) -> bool:
    """Tell whether the newest run says that it went past a step."""
    found = runs(logs)
    return bool(found) and ((found[0].heartbeat() or {}).get("step") or 0) >= step


def is_clean(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    """Assert that an error is short, names what must be named, and shows no traceback."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) <= 15
    assert "Traceback" not in done.stdout + done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def strict_lines(path: Path) -> list[dict]:
    """Return the lines of a metrics file; a token that JSON does not have fails."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{path} holds {token}")

    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line, parse_constant=refuse) for line in lines]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A fresh log root, not there yet."""
    return tmp_path / "logs"
