"""What commands print for people: aligned, complete, and without noise."""

import pytest

from srb_train.cli import main, render
from srb_train.operations.runs import describe
from tests.operations import scene


@pytest.fixture
def said(capsys):
    def run(*words: object) -> str:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


def test_columns_are_aligned_and_have_no_trailing_blanks():
    text = render.columns(("name", "value"), [["a", "1"], ["longer", ""]])
    assert text == "NAME    VALUE\na       1\nlonger"


def test_runs_are_one_line_each(said, tmp_path):
    run = scene.finished_run(tmp_path)
    head, line = said("run", "list", "--logdir", tmp_path).splitlines()
    assert head.split() == ["RUN", "STATUS", "STEP", "RETURN", "SUCCESS"]
    place = f"landing/toy_cem/{run.name}"
    assert line.split() == [place, "completed", "4,000/4,000", "12.5", "75%"]


def test_no_runs_is_said_with_the_place(said, tmp_path):
    assert said("run", "list", "--logdir", tmp_path) == f"no runs in {tmp_path}\n"


def test_a_damaged_run_is_a_warning_below_the_list(said, tmp_path):
    (scene.make_run(tmp_path).path / "run.json").write_text("{")
    assert "warning: " in said("run", "list", "--logdir", tmp_path)


def test_a_run_tells_what_it_is_and_what_to_do_next(said, tmp_path):
    run = scene.finished_run(tmp_path)
    facts = dict(line.split("  ", 1) for line in said("run", "show", run.path).splitlines())
    facts = {name: value.strip() for name, value in facts.items()}
    assert facts["what"] == "toy_cem on landing, 8 copies, seed 7, cpu"
    assert facts["step"] == "4,000 of 4,000 (100%)"
    assert facts["checkpoint"] == f"step 4,000 (exact) {run.path}/ckpt/4000"
    assert facts["evaluate"].startswith("srb agent eval --model ")
    assert facts["go on"].startswith("srb agent train --algo toy_cem --env landing --model ")


def test_a_lost_run_is_shown_without_a_time_to_go(said, tmp_path):
    text = said("run", "show", scene.lost_run(tmp_path).path)
    assert "lost (process" in text
    assert "to go" not in text


def test_an_overview_has_a_line_a_metric_with_its_history(said, tmp_path):
    lines = said("run", "metrics", scene.finished_run(tmp_path).path).splitlines()
    assert lines[1].split() == ["episode/return", "3", "4,000", "12.5", "▁█▆"]


def test_chosen_metrics_are_printed_point_by_point(said, tmp_path):
    run = scene.make_run(tmp_path)
    scene.measure(run, (10, 1.5, 0.5), (20, float("nan"), 0.5))
    text = said("run", "metrics", run.path, "episode/return")
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["episode/return", "10", "1.5"],
        ["episode/return", "20", "nan"],
    ]


def test_a_comparison_names_runs_steps_and_differences(said, tmp_path):
    one, other = scene.finished_run(tmp_path), scene.finished_run(tmp_path, seed=8)
    text = said("run", "compare", one.path, other.path, "--points", 2)
    assert "run 2  landing/toy_cem/" in text
    assert [line.split() for line in text.splitlines() if line.startswith("2,000")] == [
        ["2,000", "20", "20"]
    ]
    assert ["run.seed", "7", "8"] in [line.split() for line in text.splitlines()]


def test_checkpoints_are_one_line_each(said, tmp_path):
    text = said("run", "checkpoints", scene.finished_run(tmp_path).path)
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [
        ["2,000", "20"],
        ["4,000", "12.5"],
    ]
    assert "latest" in text.splitlines()[2]


def test_a_run_without_checkpoints_or_metrics_says_so(said, tmp_path):
    run = scene.make_run(tmp_path)
    assert "no complete checkpoint" in said("run", "checkpoints", run.path)
    assert "no metrics yet" in said("run", "metrics", run.path)


def test_labels_and_tasks_are_listed(said):
    text = said("ls")
    assert "toy_cem" in text
    assert "gymnasium/<id>" in text


def test_what_is_missing_comes_with_the_command_that_installs_it():
    row = {"backend": "x", "task": "t", "title": "T", "installed": False, "install": "pip y"}
    assert render.catalog({"envs": [row]}).endswith("x is not installed: pip y")


def test_the_doctor_shows_a_way_out_below_each_trouble():
    rows = [
        {"name": "disk", "state": "fail", "value": "0 GB", "advice": "free some"},
        {"name": "git", "state": "ok", "value": "/bin/git", "advice": None},
    ]
    assert render.findings({"findings": rows}) == (
        "fail  disk  0 GB\n            -> free some\nok    git   /bin/git"
    )


def test_the_doctor_leaves_by_one_only_on_a_failure(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["doctor", "--logdir", str(tmp_path / "file" / "logs")]) == 1
    assert "--logdir" in capsys.readouterr().out


def test_the_end_of_a_failed_run_has_the_reason_on_stderr(capsys, tmp_path):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    scene.fail(run, "non-finite reward")
    render.ending(describe(run))
    out, err = capsys.readouterr()
    assert out.startswith("failed ")
    assert err == "error [workflow_failure] non-finite reward\n"
