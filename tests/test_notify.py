"""A user's command is told how a run ended; whatever it does, the run stays as it is."""

import json
import os
import signal
import sys
import time

import pytest

from srb_train import notify, supervisor
from srb_train.errors import UsageError
from srb_train.operations import TrainRequest, prepare
from srb_train.runs import lifecycle, status
from tests.operations import scene


def told(command, found=None, environ=os.environ):
    facts = found or dict.fromkeys(("run", "path", "step", "budget", "return", "success"))
    return notify.tell(
        command, {"status": "completed", "exit_code": 0, **facts}, environ, lambda child: None
    )


def test_a_text_is_divided_and_a_list_is_taken_as_it_is():
    assert notify.words("say 'it is over' $HOME") == ["say", "it is over", "$HOME"]
    assert notify.words(["say", "it is over", 3]) == ["say", "it is over", "3"]


@pytest.mark.parametrize(
    ("command", "said"),
    [("", "empty"), ([], "empty"), ("no-such-program x", "no-such-program"), ("a 'b", "quotation")],
)
def test_a_command_that_cannot_be_started_is_refused(command, said):
    with pytest.raises(UsageError, match=said):
        notify.check(command)


def test_no_command_is_no_mistake():
    notify.check(None)


def test_a_plan_with_a_command_that_is_not_there_is_refused(tmp_path):
    asked = TrainRequest(
        algo="toy_cem", env="cartpole", logdir=tmp_path, overrides=("run.notify=no-such-program",)
    )
    with pytest.raises(UsageError, match=r"run\.notify.*no-such-program"):
        prepare(asked)


def test_a_command_may_be_a_text_a_list_or_nothing(tmp_path):
    for word, kept in (
        ("run.notify=[sh,-c,'exit 0']", ["sh", "-c", "exit 0"]),
        ('run.notify="sh -c true"', "sh -c true"),
        ("run.notify=null", None),
    ):
        asked = TrainRequest(algo="toy_cem", env="cartpole", logdir=tmp_path, overrides=(word,))
        assert prepare(asked).spec.notify == kept


def test_facts_are_in_the_environment_and_on_the_standard_input(tmp_path):
    run = scene.finished_run(tmp_path)
    out = tmp_path / "told.json"
    script = (
        "import json, os, sys\n"
        "mine = {k: v for k, v in os.environ.items() if k.startswith('SRB_')}\n"
        f"json.dump([mine, json.load(sys.stdin)], open({str(out)!r}, 'w'))"
    )
    assert told([sys.executable, "-c", script], notify.facts(run)) is None
    variables, facts = json.loads(out.read_text())
    assert facts["run"] == variables["SRB_RUN"] == run.record()["run_id"]
    assert (facts["status"], facts["step"], facts["return"]) == ("completed", 4000, 12.5)
    assert (variables["SRB_STATUS"], variables["SRB_STEP"]) == ("completed", "4000")


def test_what_is_not_known_is_an_empty_variable(tmp_path):
    assert notify.variables(notify.facts(scene.make_run(tmp_path)))["SRB_RETURN"] == ""


def test_facts_hold_no_secret_and_are_short(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "Zx9Qm2Lk7Pv4")
    run = scene.make_run(tmp_path)
    scene.begin(run)
    scene.fail(run, "the server refused Zx9Qm2Lk7Pv4 " + "x" * 100_000)
    data = json.dumps(notify.facts(run))
    assert "Zx9Qm2Lk7Pv4" not in data
    assert len(data) < 8000


def test_a_failure_is_one_line_with_its_last_words():
    said = told(["sh", "-c", "echo first >&2; echo 'no such channel' >&2; exit 3"])
    assert said == "notify: sh left by 3: no such channel"


def test_a_command_that_cannot_be_started_is_one_line():
    assert told(["/no/such/program"]).startswith("notify: /no/such/program cannot be started")


def test_a_command_that_reads_and_says_nothing_is_fine():
    assert told(["true"]) is None


def test_a_command_that_takes_too_long_is_killed_with_what_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(notify, "SECONDS", 0.5)
    mark = tmp_path / "child"
    said = told(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"])
    assert "longer than" in said
    child = int(mark.read_text())
    end = time.monotonic() + 10
    while status.process_started(child) is not None:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_command_that_says_very_much_takes_no_memory(monkeypatch):
    monkeypatch.setattr(notify, "SECONDS", 1.0)
    assert "killed" in told(["sh", "-c", "yes hello >&2"])


def test_something_left_running_does_not_hold_the_run():
    begun = time.monotonic()
    assert told(["sh", "-c", "sleep 30 &"]) is None
    assert time.monotonic() - begun < 10


class Display:
    """A display that remembers its lines."""

    def __init__(self):
        self.lines = []

    def line(self, text):
        self.lines.append(text)

    def tick(self, run):
        pass

    def close(self, run):
        pass


def test_a_failure_is_a_line_of_the_log_and_the_run_stays_as_it_is(tmp_path):
    run = scene.finished_run(tmp_path)
    before = run.record()
    display = Display()
    command = ["sh", "-c", "echo token=abcdef123456 >&2; exit 1"]
    supervisor.announce(run, command, display, os.environ)
    assert run.record() == before
    (line,) = display.lines
    assert line.startswith("notify: sh left by 1")
    assert "abcdef123456" not in run.log_path.read_text()
    assert run.log_path.read_text() == f"{line}\n"


def test_a_run_of_another_process_is_not_told_of(tmp_path):
    run = scene.finished_run(tmp_path)
    assert notify.is_due(run.record(), (os.getpid(), None))
    assert not notify.is_due(run.record(), (1, None))


@pytest.mark.parametrize("how", ["completed", "stopped", "failed"])
def test_every_end_is_due(tmp_path, how):
    run = scene.make_run(tmp_path)
    scene.begin(run)
    assert not notify.is_due(run.record(), (os.getpid(), None))
    lifecycle.finish(run, how)
    assert notify.is_due(run.record(), (os.getpid(), None))


def test_a_run_tells_its_end_whether_it_completes_or_is_stopped(srb, start_srb, tmp_path):
    ends = tmp_path / "ends.txt"
    notice = f"run.notify=[sh,-c,'echo $SRB_STATUS $SRB_STEP >> {ends}']"
    words = ("--algo", "toy_cem", "--env", "cartpole", "env.num_envs=4", "agent.horizon=25", notice)
    logs = ("--logdir", tmp_path / "logs", "--hide_ui")
    srb("agent", "train", *words, "run.steps=1000", *logs, check=True)
    assert ends.read_text() == "completed 1000\n"
    child = start_srb("agent", "train", *words, "run.steps=1e9", *logs)
    end = time.monotonic() + 60
    while not (b := list((tmp_path / "logs").rglob("heartbeat.json"))) or len(b) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 130
    assert ends.read_text().splitlines()[1].startswith("stopped ")
