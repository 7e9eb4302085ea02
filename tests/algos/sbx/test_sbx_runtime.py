"""JAX is set up once, before its first use, and what the user has said about it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from srb_train.algos.sbx import runtime
from srb_train.errors import UnsupportedError, UsageError

PROGRAM = """
import os, sys
from srb_train.algos.sbx import machine, runtime
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized(), "an import has used JAX already"
print(runtime.prepare("cpu", int(sys.argv[1])))
import jax
print(jax.jit(lambda x: x @ x)(jax.numpy.ones((3, 3))).sum())
print(os.environ.get("XLA_FLAGS"))
"""


def prepare_in_a_child(threads: int, **environment: str) -> list[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_", "JAX_", "PJRT_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(threads)],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_one_thread_is_one_thread_and_programs_are_kept(tmp_path):
    said, result, flags = prepare_in_a_child(1, XDG_CACHE_HOME=str(tmp_path))
    folder = tmp_path / "srb-train" / "jax"
    assert "threads 1" in said
    assert str(folder) in said
    assert result == "27.0"
    assert flags == "--xla_cpu_multi_thread_eigen=false"
    assert any(folder.iterdir())


@pytest.mark.slow
def test_what_the_user_has_said_stands(tmp_path):
    kept = tmp_path / "mine"
    flags = "--xla_cpu_multi_thread_eigen=true --xla_cpu_enable_fast_math=false"
    given = {"XLA_FLAGS": flags, "JAX_COMPILATION_CACHE_DIR": str(kept)}
    said, _, after = prepare_in_a_child(1, **given)
    assert after == flags
    assert str(kept) in said
    assert any(kept.iterdir())


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_said_and_does_no_harm(tmp_path):
    (tmp_path / "file").write_text("in the way")
    said, result, flags = prepare_in_a_child(2, XDG_CACHE_HOME=str(tmp_path / "file"))
    assert "compiled programs not kept" in said
    assert result == "27.0"
    assert flags == "None"


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(UnsupportedError, match=r"'cuda'.*run\.device=cpu"):
        runtime.prepare("cuda", 1)
    with pytest.raises(UsageError, match=r"'gpu' is not cpu, cuda"):
        runtime.prepare("gpu", 1)
    with pytest.raises(UnsupportedError, match="1 of that kind"):
        runtime.prepare("cpu:3", 1)


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert runtime._folder() == Path("/somewhere/srb-train/jax")
