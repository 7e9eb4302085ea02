"""The bench of `sb3`, a count of compiled programs, and a place where they outlive a session."""

import os
import warnings
from pathlib import Path

import jax.monitoring
import pytest

from tests.algos.sb3.conftest import bench

PROGRAMS = Path(__file__).parents[3] / ".pytest_cache" / "jax"
COMPILED = "/jax/core/compile/backend_compile_duration"

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PROGRAMS))

__all__ = ["bench"]

with warnings.catch_warnings():
    # TensorFlow Probability reads a name that JAX has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import sbx  # noqa: F401


@pytest.fixture
def compiled():
    """Collect the name of each program that JAX compiles or reads from its cache."""
    programs: list[str] = []

    def listen(event, duration, **facts):
        if event == COMPILED:
            programs.append(facts["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield programs
    jax.monitoring.unregister_event_duration_listener(listen)
