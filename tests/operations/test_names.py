"""Names of runs: what a run is called, which run a name means, and what cannot be a name."""

import pytest

from srb_train.errors import UsageError
from srb_train.operations import TrainRequest
from srb_train.operations.names import NAMES, find_named, name_of, names, start_named
from srb_train.operations.trends import trends
from srb_train.runs import files
from tests.operations import scene


def test_a_run_is_found_by_name_place_and_part(tmp_path):
    run = scene.finished_run(tmp_path)
    place = run.record()["run_id"]
    files.write_json(tmp_path / NAMES, {"walk": place, "old": "landing/toy_cem/gone"})
    assert names(tmp_path)["walk"] == place
    assert name_of(place, names(tmp_path)) == "walk"
    for name in ("walk", place, run.name, run.name[:8], "landing", f"{place}/ckpt"):
        assert find_named(name, tmp_path).path == run.path
    with pytest.raises(UsageError, match="there is no run"):
        find_named("old", tmp_path)


@pytest.mark.parametrize(
    "name", ["", "..", ".a", "a/b", "a b", "x" * 129, "20261130T101502Z", "a..b"]
)
def test_what_cannot_be_a_name_is_refused_and_nothing_is_started(tmp_path, name):
    with pytest.raises(UsageError):
        start_named(name, TrainRequest(algo="toy_cem", env="cartpole", logdir=tmp_path), seconds=0)
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_a_run_that_lives_is_refused(tmp_path):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    files.write_json(tmp_path / NAMES, {"walk": run.record()["run_id"]})
    request = TrainRequest(algo="toy_cem", env="cartpole", logdir=tmp_path)
    with pytest.raises(UsageError, match="stop it first"):
        start_named("walk", request, seconds=0)


def test_the_newest_points_come_oldest_first(tmp_path):
    run = scene.finished_run(tmp_path)
    found = trends(str(run.path), tmp_path, tags=["episode/*", "none/*"], last_n=2)
    assert found["metrics"]["episode/return"] == [
        {"step": 2000, "value": 20.0},
        {"step": 4000, "value": 12.5},
    ]
    assert found["missing"] == ["none/*"]
    assert trends(str(run.path), tmp_path, tags=["episode/return"], last_n=0)["metrics"] == {
        "episode/return": []
    }
