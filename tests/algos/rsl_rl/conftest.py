"""The bench that the tests of this family stand at."""

import pytest

from srb_train import registry
from tests.algos.rsl_rl.scene import Bench


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    """Give a bench whose task exists only here."""
    made = Bench(tmp_path)
    monkeypatch.setattr(
        registry, "make_env", lambda name, num_envs, params: made.make_env(num_envs)
    )
    return made
