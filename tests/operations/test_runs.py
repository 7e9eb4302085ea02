"""Runs are listed, shown, measured and compared as plain data."""

import json
import os

import pytest

from srb_train.errors import UsageError
from srb_train.operations import runs
from tests.operations import scene


def test_a_list_is_newest_first_and_is_strict_json(tmp_path):
    older, newer = scene.finished_run(tmp_path), scene.make_run(tmp_path)
    found = runs.list_runs(tmp_path)
    assert [row["path"] for row in found["runs"]] == [str(newer.path), str(older.path)]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_list_keeps_only_what_was_asked_for(tmp_path):
    scene.finished_run(tmp_path)
    kept = scene.finished_run(tmp_path, env="cartpole")
    scene.make_run(tmp_path, env="cartpole")
    found = runs.list_runs(tmp_path, env="cartpole", algo="TOY-CEM", state="completed")
    assert [row["path"] for row in found["runs"]] == [str(kept.path)]


def test_the_last_n_are_the_newest_that_fit(tmp_path):
    wanted = [scene.finished_run(tmp_path).path for _ in range(3)][1:]
    scene.make_run(tmp_path)
    found = runs.list_runs(tmp_path, state="completed", last_n=2)
    assert [row["path"] for row in found["runs"]] == [str(path) for path in reversed(wanted)]


def test_a_root_that_does_not_exist_holds_no_runs(tmp_path):
    assert runs.list_runs(tmp_path / "nowhere")["runs"] == []


def test_a_damaged_record_is_told_and_the_others_are_listed(tmp_path):
    whole, damaged = scene.make_run(tmp_path), scene.make_run(tmp_path)
    (damaged.path / "run.json").write_text("{")
    found = runs.list_runs(tmp_path)
    assert [row["path"] for row in found["runs"]] == [str(whole.path)]
    assert str(damaged.path) in found["warnings"][0]


def test_a_run_at_work_shows_what_its_heartbeat_says(tmp_path):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    scene.beat(run, 1000, **{"return": 2.5, "success": 0.25})
    (row,) = runs.list_runs(tmp_path)["runs"]
    assert (row["status"], row["step"]) == ("running", 1000)
    assert (row["return"], row["success"]) == (2.5, 0.25)
    assert runs.describe(run)["pid"] == os.getpid()


def test_a_worker_that_went_away_is_lost_and_its_clock_stands_still(tmp_path):
    run = scene.lost_run(tmp_path)
    first = runs.describe(run)
    assert (first["status"], first["step"], first["return"]) == ("lost", 1500, 3.0)
    assert first["eta_seconds"] is None
    assert runs.describe(run)["elapsed_seconds"] == pytest.approx(
        first["elapsed_seconds"], abs=0.01
    )


def test_a_finished_run_tells_a_stranger_everything(tmp_path):
    run = scene.finished_run(tmp_path)
    found = runs.show_run(run.name, tmp_path)
    assert (found["status"], found["step"], found["budget"]) == ("completed", 4000, 4000)
    assert (found["return"], found["success"]) == (12.5, 0.75)
    assert found["metrics"]["episode/return"] == {"step": 4000, "value": 12.5}
    assert [row["step"] for row in found["checkpoints"]] == [2000, 4000]
    newest = f"{run.path}/ckpt/4000"
    assert found["commands"] == {
        "evaluate": f"srb agent eval --model {newest}",
        "continue": f"srb agent train --algo toy_cem --env landing --model {newest} "
        "--additional 4000",
    }


def test_a_run_that_was_stopped_early_goes_on_to_its_own_budget(tmp_path):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    scene.save(run, 2000)
    assert not runs.describe(run)["commands"]["continue"].endswith("--additional 4000")


def test_without_a_checkpoint_there_is_nothing_to_paste(tmp_path):
    found = runs.describe(scene.make_run(tmp_path))
    assert found["commands"] == {"evaluate": None, "continue": None}


def test_a_failure_is_passed_on(tmp_path):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    scene.fail(run, "non-finite reward")
    found = runs.describe(run)
    assert found["failure"]["message"] == "non-finite reward"
    assert (found["status"], found["exit_code"]) == ("failed", 1)


def test_the_best_and_the_newest_checkpoint_are_marked(tmp_path):
    run = scene.finished_run(tmp_path)
    found = runs.checkpoints(str(run.path))["checkpoints"]
    assert [(row["step"], row["best"], row["latest"]) for row in found] == [
        (2000, True, False),
        (4000, False, True),
    ]


def test_a_cut_checkpoint_is_passed_over_and_told(tmp_path):
    run = scene.finished_run(tmp_path)
    (run.path / "ckpt" / "4000" / "policy.txt").write_text("cut")
    found = runs.checkpoints(run.name, tmp_path)
    assert [row["step"] for row in found["checkpoints"]] == [2000]
    assert "4000" in found["warnings"][0]


def test_metrics_come_by_tag_and_the_last_n_of_each(tmp_path):
    run = scene.finished_run(tmp_path)
    found = runs.run_metrics(run.name, tmp_path, tags=["episode/*"], last_n=2)
    steps = {tag: [point["step"] for point in points] for tag, points in found["metrics"].items()}
    assert steps == {"episode/return": [2000, 4000], "episode/success_rate": [2000, 4000]}


def test_a_value_that_is_not_finite_is_null_with_its_name(tmp_path):
    run = scene.make_run(tmp_path)
    scene.measure(run, (10, float("inf"), 0.5))
    found = runs.run_metrics(run.name, tmp_path)
    (point,) = found["metrics"]["episode/return"]
    assert (point["value"], point["nonfinite"]) == (None, "inf")
    json.dumps(found, allow_nan=False)


def test_an_unknown_metric_is_an_error_that_lists_the_known_ones(tmp_path):
    run = scene.finished_run(tmp_path)
    with pytest.raises(UsageError, match="episode/return"):
        runs.run_metrics(run.name, tmp_path, tags=["episode/retrun"])


def test_a_comparison_aligns_values_and_names_the_settings_that_differ(tmp_path):
    one = scene.finished_run(tmp_path)
    other = scene.finished_run(tmp_path, seed=8, agent_params={"gamma": 0.98})
    found = runs.compare_runs([one.name, other.name], tmp_path, points=4)
    assert found["steps"] == [1000, 2000, 3000, 4000]
    first, second = found["runs"]
    assert found["values"][first] == [-5.0, 20.0, 20.0, 12.5]
    assert found["differences"] == {
        "run.seed": {first: 7, second: 8},
        "agent.gamma": {first: 0.99, second: 0.98},
        "agent.net.layers": {first: [32, 32], second: None},
    }
    json.dumps(found, allow_nan=False)


def test_one_run_alone_cannot_be_compared(tmp_path):
    with pytest.raises(UsageError, match="two or more"):
        runs.compare_runs([scene.finished_run(tmp_path).name], tmp_path)


def test_a_metric_that_no_run_has_is_an_error_that_lists_theirs(tmp_path):
    names = [scene.finished_run(tmp_path).name for _ in range(2)]
    with pytest.raises(UsageError, match="episode/success_rate"):
        runs.compare_runs(names, tmp_path, tag="loss")


def test_an_unknown_run_is_an_error_that_names_the_nearest(tmp_path):
    run = scene.finished_run(tmp_path)
    with pytest.raises(UsageError, match=run.name):
        runs.show_run(f"{run.name[:-4]}9999", tmp_path)
