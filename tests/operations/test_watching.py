"""A board shows what lives first, reads each ended run once, and never more rows than asked."""

import os

from srb_train.operations import watching
from srb_train.operations.watching import Board, Curve, Machine
from srb_train.runs import record
from tests.operations import scene


def paths(found):
    return [row["path"] for row in found["rows"]]


def test_living_runs_come_first_then_the_newest(tmp_path):
    living = scene.make_run(tmp_path)
    scene.begin(living)
    scene.beat(living, 1000, **{"return": 2.0})
    older, newer = scene.finished_run(tmp_path), scene.finished_run(tmp_path)
    found = Board(tmp_path).look()
    assert paths(found) == [str(run.path) for run in (living, newer, older)]
    assert (found["total"], found["living"]) == (3, 1)
    row = found["rows"][0]
    assert (row["status"], row["step"], row["return"]) == ("running", 1000, 2.0)
    assert row["age"] < 60


def test_only_so_many_rows_are_returned_and_all_are_counted(tmp_path):
    for _ in range(5):
        scene.finished_run(tmp_path)
    found = Board(tmp_path).look(most=2)
    assert (len(found["rows"]), found["total"]) == (2, 5)


def test_words_choose_by_name_and_status(tmp_path):
    scene.finished_run(tmp_path)
    wanted = scene.finished_run(tmp_path, env="cartpole")
    scene.make_run(tmp_path, env="cartpole")
    assert paths(Board(tmp_path).look("CARTPOLE completed")) == [str(wanted.path)]
    assert Board(tmp_path).look("nothing like it")["rows"] == []


def test_the_record_of_an_ended_run_is_read_once(tmp_path, monkeypatch):
    ended, living = scene.finished_run(tmp_path), scene.make_run(tmp_path)
    board = Board(tmp_path)
    before = board.look()
    read, load = [], record.load
    monkeypatch.setattr(record, "load", lambda path: read.append(path) or load(path))
    assert [row["status"] for row in board.look()["rows"]] == [
        row["status"] for row in before["rows"]
    ]
    assert read == []
    ended.update(step=3999)
    living.update(step=5)
    read.clear()
    assert {row["step"] for row in board.look()["rows"]} == {3999, 5}
    assert len(read) == 2


def test_a_damaged_record_and_a_removed_run_are_passed_over(tmp_path):
    gone, damaged = scene.finished_run(tmp_path), scene.finished_run(tmp_path)
    board = Board(tmp_path)
    board.look()
    (damaged.path / "run.json").write_text("{")
    (gone.path / "run.json").unlink()
    assert board.look()["rows"] == []


def test_a_root_that_is_not_there_yet_is_empty(tmp_path):
    assert Board(tmp_path / "none").look()["rows"] == []


def test_a_curve_is_read_again_only_when_there_is_more(tmp_path, monkeypatch):
    run = scene.make_run(tmp_path)
    curve = Curve(run.path)
    assert curve.points() == []
    scene.measure(run, (10, 1.0, 0.0), (20, float("nan"), 0.0), (30, 3.0, 0.0))
    assert curve.points() == [(10, 1.0), (30, 3.0)]
    newest = watching.metrics.newest
    monkeypatch.setattr(watching.metrics, "newest", None)
    assert curve.points() == [(10, 1.0), (30, 3.0)]
    monkeypatch.setattr(watching.metrics, "newest", newest)
    scene.measure(run, (40, 4.0, 0.0))
    assert curve.points()[-1] == (40, 4.0)


def test_the_machine_says_how_busy_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Machine().look()
    assert 0 <= found["processors"] <= 100
    assert 0 < found["memory_used"] < found["memory_total"]
    assert found["gpus"] == []


def test_the_tool_of_the_driver_is_asked_now_and_then(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho x >> asked\necho 'H200, 37, 1024, 143771'\n")
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    machine = Machine()
    for _ in range(3):
        (gpu,) = machine.look()["gpus"]
    assert gpu == {
        "name": "H200", "busy": 37, "memory_used": 2**30, "memory_total": 143771 * 2**20,
    }  # fmt: skip
    assert (tmp_path / "asked").read_text() == "x\n"


def test_what_a_gpu_does_not_tell_is_not_known():
    assert watching.gpus_in("A, [N/A], [N/A], 100\nnonsense\n") == [
        {"name": "A", "busy": None, "memory_used": None, "memory_total": 100 * 2**20}
    ]
