"""The bench that the tests of this family stand at."""

import pytest

from srb_train import generators, registry
from tests.algos.skrl.scene import Bench


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    """Give a bench whose task exists only here; a run seeds the process as the worker does."""
    root = tmp_path / "runs"
    root.mkdir()
    made = Bench(root)

    def make_env(name, num_envs, params):
        generators.seed_all(3, 1)
        return made.make_env(num_envs)

    monkeypatch.setattr(registry, "make_env", make_env)
    return made
