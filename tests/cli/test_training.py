"""The command line from Enter to the record: train, stop, go on, evaluate, in real processes."""

import json
import shutil
import signal
import subprocess
import sys

import pytest

from srb_train.cli import main, reference
from tests.conftest import environment

TASK = ("--algo", "toy_cem", "--env", "gymnasium/CartPole-v1")
TOY = ("env.num_envs=4", "agent.horizon=25")
"""Four rows for 25 steps: a boundary every 100 transitions."""


@pytest.fixture
def root(tmp_path):
    """A log root of our own."""
    return tmp_path / "logs"


@pytest.fixture
def train(srb, root):
    """Train the toy label there."""
    return lambda *words: srb("agent", "train", *TASK, "--logdir", root, *words)


@pytest.fixture
def plan(root, capsys):
    """Ask for a plan there; returns its text."""

    def ask(*words):
        code = main(["agent", "train", *TASK, "--logdir", str(root), "--dry-run", *words])
        out, said = capsys.readouterr()
        assert (code, said) == (0, "")
        return out

    return ask


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A log root with one run of 300 steps, and what the command that made it said."""
    folder = tmp_path_factory.mktemp("trained")
    words = ("agent", "train", *TASK, *TOY, "run.steps=300", "--logdir", folder / "logs")
    done = subprocess.run(
        [sys.executable, "-m", "srb_train", *map(str, words)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return folder / "logs", done


@pytest.fixture
def run(trained, root):
    """A copy of that run in our own log root."""
    shutil.copytree(trained[0], root)
    return only_run(root)


def only_run(root):
    (found,) = (root / "gymnasium" / "CartPole-v1" / "toy_cem").iterdir()
    return found


def record(run):
    return json.loads((run / "run.json").read_text())


def steps(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines if "episode/count" in line]


def test_a_training_ends_with_a_summary_that_says_what_to_do_next(trained):
    logs, done = trained
    run = only_run(logs)
    assert (done.returncode, done.stderr) == (0, "")
    first, *_ = done.stdout.splitlines()
    assert first == f"toy_cem on gymnasium/CartPole-v1: {run}"
    for said in (
        "completed",
        "step 300 of 300 (100%)",
        f"srb agent eval --model {run}/ckpt/300",
        f"--model {run}/ckpt/300 --additional 300",
    ):
        assert said in done.stdout


def test_the_lines_to_paste_work(run, srb):
    shown = json.loads(srb("run", "show", run, "--json", check=True).stdout)
    evaluate, go_on = (shown["commands"][name].split()[1:] for name in ("evaluate", "continue"))
    evaluated = srb(*evaluate, "--episodes", 5, "--json", check=True)
    found = json.loads(evaluated.stdout)
    assert (found["episodes_completed"], len(found["episodes"]), found["step"]) == (5, 5, 300)
    assert set(found) == set(reference.EVALUATION) - {"video"}
    srb(*go_on, check=True)
    assert record(run)["step"] == 600


def test_a_budget_is_a_total_and_more_is_additional(run, train):
    again = train("run.steps=300", "--continue_training")
    assert again.returncode == 0
    assert "the budget of 300 is reached" in again.stdout
    assert len(record(run)["segments"]) == 1
    train("--continue", "run.steps=500")
    assert record(run)["step"] == 500
    train("--continue", "--additional", "2e2")
    assert record(run)["step"] == 700
    axis = steps(run)
    assert axis == sorted(set(axis))
    assert axis[-1] == 700


def test_the_highest_step_is_chosen_by_number_and_the_rule_is_told(run, plan):
    for step in (2_048_000, 1_024_000_000):
        copy = run / "ckpt" / str(step)
        shutil.copytree(run / "ckpt" / "300", copy)
        manifest = json.loads((copy / "manifest.json").read_text())
        (copy / "manifest.json").write_text(json.dumps({**manifest, "step": step}))
    text = plan("--continue_training", "run.steps=2e9")
    assert f"step 1,024,000,000: {run}/ckpt/1024000000" in text
    assert "its highest step" in text


def test_a_path_with_equals_signs_needs_no_quoting(run, plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run / "ckpt" / "300", "my-epoch=3-step=900.zip")
    assert "my-epoch=3-step=900.zip" in plan("--model", "my-epoch=3-step=900.zip", "run.steps=400")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_saves_and_leaves_by_its_number(start_srb, root, name, code):
    words = ("agent", "train", *TASK, *TOY, "run.steps=2e5", "--logdir", root)
    child = start_srb(*words)
    next(line for line in child.stdout if line.startswith("step "))
    child.send_signal(signal.Signals[name])
    said = child.stdout.read()
    child.wait()
    found = record(only_run(root))
    assert child.returncode == code, said
    assert "Traceback" not in said
    assert "go on" in said
    assert (found["status"], found["signal"], found["exit_code"]) == ("stopped", name, code)
    assert found["checkpoints"]["latest"] == found["step"] > 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["agent.horizn=3"], "agent.horizon"),
        (["agent.elites=99"], "env.num_envs=4"),
        (["agent.horizon=much"], "agent.horizon"),
        (["--continue"], "no run to continue"),
        (["--model", "nowhere"], "nowhere"),
        (["--additional", "5"], "--additional"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_leaves_nothing_behind(capsys, root, words, part):
    assert main(["agent", "train", *TASK, *TOY, "--logdir", str(root), *words]) == 2
    out, said = capsys.readouterr()
    assert (out, len(said.splitlines())) == ("", 1)
    assert part in said
    assert not root.exists()


@pytest.mark.parametrize("who", ["zero", "rand"])
def test_zero_and_random_actions_play_without_a_run(srb, tmp_path, who):
    done = srb("agent", who, "--env", "gymnasium/CartPole-v1", "--episodes", 6, "--json")
    found = json.loads(done.stdout)
    assert (found["algo"], found["episodes_completed"]) == (who, 6)
    assert list(tmp_path.iterdir()) == []


def test_evaluating_what_is_not_there_is_an_error(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["agent", "eval", "--model", "nowhere"]) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert str(tmp_path / "nowhere") in said


def test_a_log_root_that_cannot_be_written_is_one_line(capsys, root):
    root.write_text("a file")
    assert main(["agent", "train", *TASK, *TOY, "--logdir", str(root)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "--logdir" in said
