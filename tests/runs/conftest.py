"""What the tests of the runs package share: a spec, runs made of it, and other processes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec

ROOT = Path(__file__).parents[2]
Child = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spec() -> RunSpec:
    return RunSpec(
        algo="sb3_ppo",
        env="landing",
        steps=1000,
        num_envs=2,
        seed=7,
        checkpoint_every=100,
        log_every=10,
        agent_params={"gamma": 0.99},
    )


@pytest.fixture
def run(spec: RunSpec, tmp_path: Path) -> Run:
    return RunStore(tmp_path / "logs").create(spec, {}, {}, {})


@pytest.fixture
def python():
    """Start Python code in another process, with our package and its arguments in `sys.argv`."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


@pytest.fixture
def deaths(tmp_path: Path) -> Callable[[str], int]:
    """Tell a story of crash.py in which the writer dies at each line; returns how often it did."""

    def tell(story: str) -> int:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).parent / "crash.py"), story, str(tmp_path / "x")],
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return int(done.stdout)

    return tell
