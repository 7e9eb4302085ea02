"""`srb run` starts, watches and stops runs; its exit codes are those of the reference."""

import json
import os
import signal
from pathlib import Path

import pytest

from srb_train.cli import main
from tests.operations import scene

WORDS = ("--algo", "toy_cem", "--env", "cartpole", "env.num_envs=4", "agent.horizon=25")


@pytest.fixture
def said(capsys):
    """Run a command in this process; returns its exit code and what it printed."""

    def run(*words: str) -> tuple[int, str]:
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out + err

    return run


def test_a_run_is_started_watched_stopped_and_resumed_from_the_shell(said, tmp_path):
    logs = ("--logdir", str(tmp_path))
    code, out = said("run", "start", *WORDS, "run.steps=1e9", *logs, "--json")
    found = json.loads(out)
    assert (code, found["ready"], found["done"]) == (0, True, False)
    run = found["run"]
    try:
        assert said("run", "wait", run, "--step", "200", "--poll", "0.05", *logs)[0] == 0
        assert said("run", "check", run, "--done", *logs)[0] == 1
        assert said("run", "wait", run, "--done", "--timeout", "0.1", *logs)[0] == 124
        code, out = said("run", "stop", run, *logs)
        assert code == 0
        assert "saved and stopped" in out
        assert "toy_cem on cartpole" in said("run", "logs", run, *logs)[1]
        assert said("run", "logs", run, "--follow", "--last-n", "1", *logs)[0] == 0
        assert said("run", "wait", run, "--done", *logs)[0] == 1
        code, out = said("run", "stop", run, *logs)
        assert (code, "no process to stop" in out) == (2, True)
        code, out = said("run", "resume", run, "run.steps=1e8", *logs)
        assert code == 0
        assert "trains" in out
    finally:
        said("run", "stop", run, *logs)


def test_a_detached_training_leaves_this_process_at_once(said, tmp_path):
    code, out = said(
        "agent", "train", *WORDS, "run.steps=1e9", "--logdir", str(tmp_path), "--detach", "--json"
    )
    found = json.loads(out)
    try:
        assert (code, found["ready"]) == (0, True)
        assert os.getpgid(found["pid"]) != os.getpgid(0)
    finally:
        os.kill(found["pid"], signal.SIGKILL)


def test_json_of_a_run_in_the_foreground_is_refused(said):
    code, out = said("agent", "train", *WORDS, "--json")
    assert (code, "--detach" in out) == (2, True)


def test_a_shell_at_the_end_of_a_run_in_the_background_is_refused(said, tmp_path):
    code, out = said("run", "start", *WORDS, "--logdir", str(tmp_path), "--repl")
    assert (code, "--repl" in out) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_cannot_begin_leaves_by_one(said, tmp_path):
    words = ("--algo", "toy_cem", "--env", "gymnasium/NoSuchTask-v0", "--logdir", str(tmp_path))
    code, out = said("run", "start", *words)
    assert (code, "NoSuchTask" in out) == (1, True)


def test_a_goal_must_be_named(said, tmp_path):
    run = str(scene.finished_run(tmp_path).path)
    code, out = said("run", "check", run)
    assert (code, "--first-metric" in out) == (2, True)
    assert said("run", "check", run, "--first-metric")[0] == 0
    assert said("run", "check", run, "--return", "1e9")[0] == 1


def test_how_many_is_a_number_or_all(said, tmp_path):
    scene.finished_run(tmp_path)
    logs = ("--logdir", str(tmp_path))
    assert said("run", "list", "--last-n", "-1", *logs)[0] == 0
    code, out = said("run", "list", "--last-n", "0", *logs)
    assert (code, "-1 for all" in out) == (2, True)


def test_a_log_root_without_orphans_says_so(said, tmp_path):
    scene.finished_run(tmp_path)
    code, out = said("run", "cleanup", "--logdir", str(tmp_path))
    assert (code, "no orphans" in out) == (0, True)


def test_a_file_is_changed_from_the_shell(said, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("gamma: 0.9 # mine\n")
    code, out = said("run", "config", "update", str(mine), "gamma=0.95", "new.flag=true")
    assert code == 0
    assert json.loads(out.partition("\n")[2]) == {"gamma": 0.95, "new": {"flag": True}}
    assert "# mine" in mine.read_text()
    assert said("run", "config", "get", str(mine), "--json")[0] == 0
    assert said("run", "config", "update", str(mine))[0] == 2
    assert said("run", "config", "get", str(Path(tmp_path) / "absent.yaml"))[0] == 2
