"""The command line from Enter to the record: train, stop, go on, evaluate, in real processes."""

import json
import shutil
import signal

import pytest

TASK = ("--algo", "toy_cem", "--env", "gymnasium/CartPole-v1")
TOY = ("env.num_envs=4", "agent.horizon=25")
"""Four rows for 25 steps: a boundary every 100 transitions."""


@pytest.fixture
def train(srb, tmp_path):
    """Train the toy label in a log root of its own."""
    return lambda *words: srb("agent", "train", *TASK, "--logdir", tmp_path / "logs", *words)


@pytest.fixture
def only_run(tmp_path):
    def find():
        (found,) = (tmp_path / "logs" / "gymnasium" / "CartPole-v1" / "toy_cem").iterdir()
        return found

    return find


def record(run):
    return json.loads((run / "run.json").read_text())


def steps(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines if "episode/count" in line]


def test_a_run_is_trained_shown_and_evaluated(train, only_run, srb):
    done = train(*TOY, "run.steps=1e3", "--hide_ui")
    run = only_run()
    assert (done.returncode, done.stderr) == (0, "")
    for said in ("completed", str(run), "step 1,000 of 1,000 (100%)", "srb agent eval --model"):
        assert said in done.stdout
    assert "completed" in srb("run", "show", run, check=True).stdout
    evaluated = srb("agent", "eval", "--model", run, "--episodes", 5, "--json", check=True)
    found = json.loads(evaluated.stdout)
    assert (found["episodes_completed"], found["step"]) == (5, 1000)
    assert found["episodes_completed"] == len(found["episodes"])


def test_the_lines_to_paste_work(train, only_run, srb):
    train(*TOY, "run.steps=300")
    shown = json.loads(srb("run", "show", only_run(), "--json", check=True).stdout)
    evaluate, go_on = (shown["commands"][name].split()[1:] for name in ("evaluate", "continue"))
    srb(*evaluate, "--episodes", 2, check=True)
    srb(*go_on, check=True)
    assert record(only_run())["step"] == 600


def test_a_budget_is_a_total_and_more_is_additional(train, only_run):
    train(*TOY, "run.steps=2000")
    again = train("run.steps=2000", "--continue_training")
    assert again.returncode == 0
    assert "the budget of 2,000 is reached" in again.stdout
    assert len(record(only_run())["segments"]) == 1
    for words in (("run.steps=3000",), ("--additional", "1000")):
        before = record(only_run())["step"]
        assert train("--continue", *words).returncode == 0
        assert record(only_run())["step"] == before + 1000
    axis = steps(only_run())
    assert axis == sorted(set(axis))
    assert axis[-1] == 4000


def test_the_highest_step_is_chosen_by_number_and_the_rule_is_told(train, only_run):
    train(*TOY, "run.steps=200")
    folder = only_run() / "ckpt"
    for step in (2_048_000, 1_024_000_000):
        copy = folder / str(step)
        shutil.copytree(folder / "200", copy)
        manifest = json.loads((copy / "manifest.json").read_text())
        (copy / "manifest.json").write_text(json.dumps({**manifest, "step": step}))
    done = train("--continue_training", "run.steps=2e9", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"step 1,024,000,000: {folder}/1024000000" in done.stdout
    assert "its highest step" in done.stdout


def test_a_path_with_equals_signs_needs_no_quoting(train, only_run, tmp_path):
    train(*TOY, "run.steps=200")
    shutil.copytree(only_run() / "ckpt" / "200", tmp_path / "my-epoch=3-step=900.zip")
    done = train("--model", "my-epoch=3-step=900.zip", "run.steps=400", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "my-epoch=3-step=900.zip" in done.stdout


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_saves_and_leaves_by_its_number(start_srb, only_run, tmp_path, name, code):
    child = start_srb(
        "agent", "train", *TASK, *TOY, "run.steps=1e9", "--logdir", tmp_path / "logs"
    )
    for line in child.stdout:
        if line.startswith("step "):
            break
    child.send_signal(signal.Signals[name])
    said = child.communicate()[0]
    found = record(only_run())
    assert child.returncode == code, said
    assert "Traceback" not in said
    assert "go on" in said
    assert (found["status"], found["signal"], found["exit_code"]) == ("stopped", name, code)
    assert found["checkpoints"]["latest"] == found["step"] > 0


def test_a_mistake_leaves_no_run_behind(train, tmp_path):
    for words in (["agent.horizn=3"], ["agent.elites=99"], ["agent.horizon=much"], ["--continue"]):
        done = train(*TOY, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) <= 15
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("who", ["zero", "rand"])
def test_zero_and_random_actions_play_without_a_run(srb, tmp_path, who):
    done = srb("agent", who, "--env", "gymnasium/CartPole-v1", "--episodes", 6, "--json")
    found = json.loads(done.stdout)
    assert (found["algo"], found["episodes_completed"]) == (who, 6)
    assert list(tmp_path.iterdir()) == []


def test_evaluating_what_is_not_there_is_an_error(srb, tmp_path):
    done = srb("agent", "eval", "--model", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert str(tmp_path / "nowhere") in done.stderr


def test_a_log_root_that_cannot_be_written_is_one_line(train, srb, tmp_path):
    (tmp_path / "logs").write_text("a file")
    done = train(*TOY, "run.steps=200")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--logdir" in done.stderr
