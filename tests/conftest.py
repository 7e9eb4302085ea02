"""Fixtures of the whole suite: one thread, a command line to call, runs at toy size."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
FAULTS = ROOT / "tests" / "envs" / "gymnasium"
sys.path.insert(0, str(FAULTS))

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# Programs that JAX has compiled are shared by all tests and kept for the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".pytest_cache" / "jax"))

# How long an example takes says what else the machine does, not whether a promise is kept.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

Srb = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**more: str) -> dict[str, str]:
    """Return a child's environment: ours without secrets, with the fault tasks importable."""
    return {**os.environ, "PYTHONPATH": str(FAULTS), "COLUMNS": "200", **more}


@pytest.fixture
def srb(tmp_path: Path) -> Srb:
    """Run `srb` in a scratch folder and return what it said."""

    def run(*words: object, check: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "srb_train", *map(str, words)],
            cwd=tmp_path,
            env=environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def start_srb(tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Start `srb` in the background; whatever still lives at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, **more: str) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-m", "srb_train", *map(str, words)],
            cwd=tmp_path,
            env=environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()
