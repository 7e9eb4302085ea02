"""Reference behaviour: read, refused, and made as the documentation says."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from srb_train.algos.skrl import bridge
from srb_train.algos.skrl.motions import Motions, pair
from srb_train.errors import UsageError
from tests.algos.skrl.scene import Slider, motions
from tests.families.bench import Bench

ROWS = bridge.Rows(Slider(2), "skrl_amp", torch.device("cpu"))
GUIDE = Path(__file__).parents[3] / "docs" / "families" / "skrl.md"


def test_draws_are_rows_of_both_arrays_side_by_side(tmp_path):
    found = Motions(Path(motions(tmp_path / "m.npz")), ROWS).draw(500)
    assert found.shape == (500, 6)
    torch.testing.assert_close(found[:, 3:], found[:, :3] + 0.1)
    assert len(found.unique(dim=0)) > 50
    assert torch.equal(pair(found[:, :3], found[:, 3:]), found)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"observations": np.zeros((5, 3))}, "next_observations"),
        ({"observations": np.zeros((5, 4)), "next_observations": np.zeros((5, 4))}, "3 numbers"),
        ({"observations": np.zeros((5, 3)), "next_observations": np.zeros((4, 3))}, "as many rows"),
        ({"observations": np.zeros((0, 3)), "next_observations": np.zeros((0, 3))}, "as many rows"),
        (
            {"observations": np.full((5, 3), np.nan), "next_observations": np.zeros((5, 3))},
            "NaN",
        ),
        ({"observations": np.array([{}]), "next_observations": np.zeros((5, 3))}, "no .npz"),
        (None, "no .npz"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(arrays, words, tmp_path):
    path = tmp_path / "m.npz"
    if arrays is None:
        path.write_bytes(b"not a zip")
    else:
        np.savez(path, **arrays)
    with pytest.raises(UsageError, match=re.escape(words)) as refusal:
        Motions(path, ROWS)
    assert str(path) in str(refusal.value)


@pytest.mark.slow
def test_the_recipe_of_the_guide_makes_motions_that_can_be_imitated(tmp_path, monkeypatch):
    sizes = ("env.num_envs=4", "run.steps=128", "run.seed=1")
    teacher = Bench(tmp_path / "logs", "skrl_ppo", "cartpole", (*sizes, "agent.rollouts=8"))
    run = teacher.train()
    recipe = re.search(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    exec(recipe.replace("logs/cartpole/skrl_ppo/20261130T101502Z", str(run.path)), {})
    with np.load("motions.npz") as made:
        assert made["observations"].shape == made["next_observations"].shape
        assert len(made["observations"]) > 100
    tiny = ("agent.rollouts=8", "agent.mini_batches=2", "agent.motions=motions.npz")
    student = Bench(tmp_path / "logs", "skrl_amp", "cartpole", (*sizes, *tiny))
    assert student.train().record()["status"] == "completed"
