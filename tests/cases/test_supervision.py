"""Runs in the background hold the promises of endings, for families of every kind."""

import json
import os
import signal
import time

import psutil
import pytest

from srb_train.runs import status
from srb_train.runs.store import Run
from tests.cases.conftest import TOY, runs, until

FAMILIES = [
    pytest.param(TOY, id="toy_cem"),
    pytest.param(
        (
            "--algo", "sb3_ppo", "--env", "cartpole", "env.num_envs=2", "agent.n_steps=64",
            "agent.batch_size=64", "run.seed=3",
        ),
        id="sb3_ppo",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        ("--algo", "skrl_sac", "--env", "landing", "env.num_envs=2", "run.seed=3"),
        id="skrl_sac",
        marks=pytest.mark.slow,
    ),
]  # fmt: skip
ENDLESS = ("run.steps=200000000", "run.checkpoint_every=100000000", "run.log_every=256")


@pytest.fixture
def begun(srb, logs):
    """Start a run in the background; whatever still lives of it at the end is killed."""

    def start(words, *more: str) -> Run:
        done = srb("run", "start", *words, *ENDLESS, *more, "--logdir", logs, "--json", check=True)
        return Run(logs / json.loads(done.stdout)["run"])

    yield start
    for run in runs(logs):
        record = run.record()
        for pid, at in (("supervisor_pid", "supervisor_started"), ("pid", "process_started")):
            if status.is_alive(record[pid], record[at], record["boot_id"]):
                os.kill(record[pid], signal.SIGKILL)


def trained(run: Run, step: int) -> bool:
    return ((run.heartbeat() or {}).get("step") or 0) >= step


@pytest.mark.parametrize("words", FAMILIES)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_s10_s11_a_signal_to_either_process_saves_in_time(begun, logs, words, number, code):
    run = begun(words)
    until(lambda: trained(run, 200), "some training")
    record = run.record()
    begun_at = time.monotonic()
    os.kill(record["supervisor_pid" if number == signal.SIGINT else "pid"], number)
    until(lambda: run.status().state == "stopped", "the end")
    assert time.monotonic() - begun_at < 10
    record = run.record()
    assert (record["signal"], record["exit_code"]) == (number.name, code)
    newest = run.checkpoints().latest()
    assert newest.step == record["step"] >= 200
    assert "Traceback" not in run.log_path.read_text()


@pytest.mark.parametrize("words", FAMILIES)
def test_s12_a_killed_run_is_known_to_be_dead_and_goes_on(begun, srb, logs, words):
    run = begun(words, "run.checkpoint_every=256")
    until(lambda: len(run.checkpoints().all()) > 1, "a checkpoint")
    record = run.record()
    os.kill(record["supervisor_pid"], signal.SIGSTOP)
    os.kill(record["pid"], signal.SIGKILL)
    os.kill(record["supervisor_pid"], signal.SIGKILL)
    until(lambda: run.status().state == "lost", "the loss to be seen")
    shown = json.loads(srb("run", "show", run.path, "--json", check=True).stdout)
    assert shown["status"] == "lost"
    assert shown["step"] > 0 < shown["checkpoints"][-1]["step"]
    assert srb("run", "check", run.path, "--done").returncode == 1
    assert srb("run", "wait", run.path, "--done", "--timeout", "5").returncode == 1
    resumed = srb("run", "resume", run.path, "--logdir", logs, "--json", check=True)
    assert json.loads(resumed.stdout)["ready"]
    assert [part["status"] for part in run.record()["segments"]] == ["lost", None]


@pytest.mark.parametrize("words", FAMILIES)
def test_s12_a_killed_worker_is_failed_by_its_supervisor(begun, srb, words):
    run = begun(words, "run.checkpoint_every=256")
    until(lambda: len(run.checkpoints().all()) > 1, "a checkpoint")
    os.kill(run.record()["pid"], signal.SIGKILL)
    until(lambda: run.status().state == "failed", "the last word")
    record = run.record()
    assert (record["signal"], record["exit_code"]) == ("SIGKILL", 137)
    assert run.checkpoints().latest().step > 0


@pytest.mark.parametrize("words", FAMILIES)
def test_s20_nothing_is_held_after_a_stop(begun, srb, logs, words):
    run = begun(words)
    until(lambda: trained(run, 100), "some training")
    record = run.record()
    processes = [
        process
        for pid in (record["supervisor_pid"], record["pid"])
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True))
    ]
    srb("run", "stop", run.path, check=True)
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert alive == []
    again = srb("run", "resume", run.path, "--logdir", logs, "--json", check=True)
    assert json.loads(again.stdout)["ready"]


def test_s22_a_slow_start_returns_its_handle_and_a_wait_says_that_it_goes_on(begun, srb, logs):
    slow = ("--algo", "toy_cem", "--env", "gymnasium/faults:Slow-v0", "env.num_envs=2")
    size = ("agent.horizon=100000", "env.kwargs.seconds=0.05", "--ready", "0")
    run = begun(slow, *size)
    listed = json.loads(srb("run", "list", "--logdir", logs, "--json", check=True).stdout)
    assert [row["path"] for row in listed["runs"]] == [str(run.path)]
    waited = srb("run", "wait", run.path, "--done", "--timeout", "0.5", "--json")
    assert waited.returncode == 124
    found = json.loads(waited.stdout)
    assert next(iter(found)) == "run"
    assert (found["run"], found["timed_out"], found["ended"]) == (
        listed["runs"][0]["run"], True, False,
    )  # fmt: skip
    stopped = json.loads(srb("run", "stop", run.path, "--json", check=True).stdout)
    assert stopped["stopped"]


def test_s21_what_a_task_prints_is_in_the_log_and_json_is_alone_on_stdout(srb, logs):
    chatty = ("--algo", "toy_cem", "--env", "gymnasium/faults:Chatty-v0", "env.num_envs=4")
    words = (*chatty, "agent.horizon=25", "run.steps=400", "run.seed=3", "--logdir", logs)
    done = srb("run", "start", *words, "--json", check=True)
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert srb("run", "wait", found["path"], "--done", "--timeout", "60").returncode == 0
    log = srb("run", "logs", found["path"], "--last-n", "-1", check=True).stdout
    assert "chatty: a line on stdout" in log
    assert "chatty: a line on stderr" in log


def test_a_run_begins_after_another_from_the_shell(begun, srb, logs):
    first = begun(TOY)
    words = (*TOY, "run.steps=400", "--after", first.path, "--logdir", logs)
    done = srb("agent", "train", *words, "--detach", "--json", check=True)
    second = Run(logs / json.loads(done.stdout)["run"])
    listed = srb("run", "list", "--status", "waiting", "--logdir", logs, check=True).stdout
    assert second.name in listed
    assert f"waiting (for {first.record()['run_id']})" in srb("run", "show", second.path).stdout
    srb("run", "stop", first.path, check=True)
    until(lambda: second.status().state == "failed", "the wait to end")
    late = srb("agent", "train", *words, "--hide_ui")
    assert late.returncode == 2
    assert "is stopped" in late.stderr


def test_the_foreground_waits_and_fails_with_the_other_run(begun, start_srb, logs):
    first = begun(TOY)
    child = start_srb(
        "agent",
        "train",
        *TOY,
        "run.steps=400",
        "--after",
        first.path,
        "--logdir",
        logs,
        "--hide_ui",
    )
    assert str(first.path) in child.stdout.readline()
    os.kill(first.record()["pid"], signal.SIGKILL)
    output, _ = child.communicate(timeout=30)
    assert child.returncode == 1
    assert f"{first.path} is failed" in output
    assert len(runs(logs)) == 1
