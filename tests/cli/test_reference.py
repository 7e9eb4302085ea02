"""The reference tells the truth: it is what the commands say, and JSON has the fields it names."""

import json
from pathlib import Path

import pytest

from srb_train.cli import main, reference
from tests.operations import scene

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.fixture
def printed(capsys):
    def run(*words: str):
        code = main([*words, "--json"])
        out, said = capsys.readouterr()
        assert (code, said) == (0, "")
        return json.loads(out)

    return run


def test_the_page_is_what_the_commands_say():
    assert PAGE.read_text(encoding="utf-8") == reference.reference(), (
        "run `python -m srb_train.cli.reference > docs/cli.md`"
    )


def test_the_page_does_not_depend_on_the_width_of_the_terminal(monkeypatch):
    before = reference.reference()
    monkeypatch.setenv("COLUMNS", "40")
    assert reference.reference() == before


def test_labels_and_tasks_have_the_fields_that_are_told(printed):
    found = printed("ls")
    assert {tuple(row) for row in found["algos"]} == {tuple(reference.LABEL)}
    assert {tuple(row) for row in found["envs"]} == {tuple(reference.TASK)}
    assert set(printed("ls", "envs")) == {"envs"}


def test_runs_have_the_fields_that_are_told(printed, tmp_path):
    run = scene.finished_run(tmp_path)
    (row,) = printed("run", "list", "--logdir", str(tmp_path))["runs"]
    assert tuple(row) == tuple(reference.ROW)
    shown = printed("run", "show", str(run.path))
    others = reference.DETAILS["others"]
    told = [*reference.ROW, *(name for name in reference.DETAILS if name != "others")]
    assert [name for name in shown if name not in told and f"`{name}`" not in others] == []
    assert [name for name in told if name not in shown] == []


def test_checkpoints_and_points_have_the_fields_that_are_told(printed, tmp_path):
    run = str(scene.finished_run(tmp_path).path)
    found = printed("run", "checkpoints", run)["checkpoints"]
    assert {tuple(row) for row in found} == {tuple(reference.CHECKPOINT)}
    points = printed("run", "metrics", run, "episode/return")["metrics"]["episode/return"]
    assert {tuple(point) for point in points} == {("step", "wall_time", "value")}


def test_a_comparison_has_the_fields_that_are_told(printed, tmp_path):
    names = [str(scene.finished_run(tmp_path).path) for _ in range(2)]
    _, told = reference.SHAPES["srb run compare"]
    assert set(printed("run", "compare", *names)) == set(told)


def test_findings_have_the_fields_that_are_told(printed, tmp_path):
    found = printed("doctor", "--logdir", str(tmp_path))
    assert {tuple(row) for row in found["findings"]} == {tuple(reference.FINDING)}


def told(fields: dict[str, str]) -> set[str]:
    """Return the field names of a table, some of whose rows name several."""
    return {name for row in fields for name in row.split(", ")}


def test_answers_of_control_have_the_fields_that_are_told(printed, tmp_path):
    run = str(scene.finished_run(tmp_path).path)
    assert set(printed("run", "export", run)) == told(reference.LOCATED)
    assert set(printed("run", "cleanup", "--logdir", str(tmp_path))) == told(reference.ORPHANS)
    assert set(printed("run", "logs", run)) == told(reference.SHAPES["srb run logs"][1])
    goals = (("--step", "1"), ("--first-metric",), ("--new-checkpoint",), ("--return", "-1e9"))
    seen = set().union(*(printed("run", "wait", run, *goal) for goal in goals))
    assert seen == told(reference.REACHED)


def test_answers_about_tasks_have_the_fields_that_are_told(printed):
    assert set(printed("env", "show", "cartpole")) == told(reference.SHOWN_TASK)
    (rate,) = printed("env", "bench", "cartpole", "--copies", "4", "--seconds", "0.05")["rates"]
    assert set(rate) == told(reference.RATE)
    (found, *_) = printed("env", "check", "cartpole")["findings"]
    assert set(found) == told(reference.FINDING)
