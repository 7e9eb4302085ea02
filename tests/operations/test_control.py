"""Runs that live on their own are started, stopped, resumed, waited for and cleaned up."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from srb_train import operations
from srb_train.errors import UsageError
from srb_train.operations import Goal, TrainRequest
from srb_train.runs import metrics, status
from srb_train.runs.store import Run

ENDLESS = ("run.steps=1e9", "run.checkpoint_every=400")


@pytest.fixture
def logs(tmp_path):
    """A log root; whatever still trains below it at the end of the test is killed."""
    root = tmp_path / "logs"
    yield root
    for row in operations.list_runs(root)["runs"]:
        record = Run(Path(row["path"])).record()
        known = ("supervisor_pid", "supervisor_started"), ("pid", "process_started")
        for pid, started in known:
            if status.is_alive(record[pid], record[started], record["boot_id"]):
                os.kill(record[pid], signal.SIGKILL)


def request(root: Path, *overrides: str) -> TrainRequest:
    typed = ("env.num_envs=4", "agent.horizon=25", "run.seed=1", *overrides)
    return TrainRequest(algo="toy_cem", env="cartpole", logdir=root, overrides=typed)


def start(root: Path, *overrides: str) -> Run:
    found = operations.start(request(root, *overrides))
    assert found["ready"], found
    return Run(Path(found["path"]))


def until(fact, seconds: float = 20.0):
    """Wait on a condition, which a slow machine may take its time for."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def test_a_started_run_is_watched_by_a_process_of_its_own_until_it_is_completed(logs):
    run = start(logs, "run.steps=5000")
    assert run.record()["supervisor_pid"] not in (os.getpid(), None)
    found = operations.wait(str(run.path), Goal(done=True), seconds=60, poll=0.1)
    assert (found["reached"], found["status"], found["timed_out"]) == (True, "completed", False)
    assert run.record()["exit_code"] == 0
    assert "toy_cem on cartpole" in run.log_path.read_text()


def test_a_stopped_run_is_saved_and_goes_on_where_it_was(logs):
    run = start(logs, *ENDLESS)
    operations.wait(str(run.path), Goal(step=1000), seconds=60, poll=0.05)
    stopped = operations.stop(str(run.path), logs)
    assert (stopped["stopped"], stopped["forced"]) == (True, False)
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 143)
    reached = run.checkpoints().latest().step
    assert reached == stopped["step"] >= 1000
    with pytest.raises(UsageError, match="no process to stop"):
        operations.stop(str(run.path), logs)
    resumed = operations.resume(str(run.path), logs, overrides=(f"run.steps={reached + 500}",))
    assert resumed["ready"]
    assert operations.wait(str(run.path), Goal(done=True), seconds=60, poll=0.05)["reached"]
    assert [part["from_step"] for part in run.record()["segments"]] == [0, reached]


def test_a_run_that_does_not_answer_is_killed_and_its_record_says_so(logs):
    run = start(logs, *ENDLESS)
    operations.wait(str(run.path), Goal(step=500), seconds=60, poll=0.05)
    os.kill(run.record()["pid"], signal.SIGSTOP)
    found = operations.stop(str(run.path), logs, seconds=0.3)
    assert (found["stopped"], found["forced"]) == (True, True)
    assert (found["status"], found["exit_code"], found["signal"]) == ("failed", 137, "SIGKILL")
    assert operations.resume(str(run.path), logs)["ready"]


def test_a_run_is_stopped_while_its_worker_still_imports(logs):
    found = operations.start(request(logs, *ENDLESS), seconds=0.0)
    assert found["pid"] is None or found["status"] in ("starting", "running")
    stopped = operations.stop(found["path"], logs)
    assert stopped["stopped"]
    assert not stopped["forced"]


def test_of_two_resumes_at_once_one_wins(logs):
    run = start(logs, "run.steps=600")
    assert operations.wait(str(run.path), Goal(done=True), seconds=60, poll=0.05)["reached"]
    answers = []

    def resume() -> None:
        try:
            answers.append(operations.resume(str(run.path), logs, additional=10**9)["ready"])
        except UsageError as error:
            answers.append(str(error))

    threads = [threading.Thread(target=resume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(True) == 1
    assert len(run.record()["segments"]) == 2
    assert run.status().alive


def test_a_worker_whose_supervisor_was_killed_saves_and_stops(logs):
    run = start(logs, *ENDLESS)
    operations.wait(str(run.path), Goal(step=500), seconds=60, poll=0.05)
    os.kill(run.record()["supervisor_pid"], signal.SIGKILL)
    until(lambda: run.status().state == "stopped")
    assert run.record()["signal"] == "SUPERVISOR_LOST"
    assert run.checkpoints().latest().step == run.record()["step"]


def test_a_run_whose_processes_were_all_killed_is_lost_and_can_be_closed(logs):
    run = start(logs, *ENDLESS)
    operations.wait(str(run.path), Goal(step=500), seconds=60, poll=0.05)
    record = run.record()
    os.kill(record["supervisor_pid"], signal.SIGSTOP)
    os.kill(record["pid"], signal.SIGKILL)
    os.kill(record["supervisor_pid"], signal.SIGKILL)
    until(lambda: run.status().state == "lost")
    assert operations.cleanup(logs)["closed"] == []
    assert operations.cleanup(logs, kill=True)["closed"] == [record["run_id"]]
    assert run.status().state == "failed"
    assert not operations.check(str(run.path), Goal(done=True))["reached"]


def test_an_orphan_is_listed_first_and_killed_when_that_is_asked(logs):
    run = start(logs, *ENDLESS)
    record = run.record()
    os.kill(record["pid"], signal.SIGSTOP)
    os.kill(record["supervisor_pid"], signal.SIGKILL)
    until(lambda: status.process_started(record["supervisor_pid"]) is None)
    (listed,) = operations.cleanup(logs)["orphans"]
    assert (listed["pid"], listed["killed"]) == (record["pid"], False)
    assert status.process_started(record["pid"]) is not None
    (ended,) = operations.cleanup(logs, kill=True)["orphans"]
    assert ended["killed"]
    assert status.process_started(record["pid"]) is None
    assert run.status().state == "failed"


def test_a_stranger_with_the_number_of_a_dead_worker_is_left_alone(logs):
    run = start(logs, "run.steps=600")
    assert operations.wait(str(run.path), Goal(done=True), seconds=60, poll=0.05)["reached"]
    watcher = run.record()["supervisor_pid"]
    until(lambda: status.process_started(watcher) is None)
    run.update(status="running", pid=os.getpid())
    assert operations.cleanup(logs, kill=True)["orphans"] == []
    with pytest.raises(UsageError, match="no process"):
        operations.stop(str(run.path), logs)


def test_nothing_is_reached_before_there_is_data(logs):
    run = start(logs, *ENDLESS)
    operations.stop(str(run.path), logs)
    run.metrics_path.write_text("")
    run.update(metrics={})
    asked = [Goal(mean_return=-1e9), Goal(first_metric=True), Goal(done=True), Goal(step=10**9)]
    assert [operations.check(str(run.path), goal)["reached"] for goal in asked] == [False] * 4


def test_a_wait_ends_with_the_run_and_with_its_time(logs):
    run = start(logs, *ENDLESS)
    late = operations.wait(str(run.path), Goal(done=True), seconds=0.2, poll=0.05)
    assert (late["reached"], late["timed_out"], late["ended"]) == (False, True, False)
    assert operations.wait(str(run.path), Goal(first_metric=True), seconds=60)["reached"]
    operations.stop(str(run.path), logs)
    over = operations.wait(str(run.path), Goal(step=10**9), seconds=60, poll=0.05)
    assert (over["reached"], over["timed_out"], over["ended"]) == (False, False, True)


def test_new_checkpoints_are_those_that_nobody_knew(logs):
    run = start(logs, "run.steps=1200", "run.checkpoint_every=400")
    assert operations.wait(str(run.path), Goal(done=True), seconds=60, poll=0.05)["reached"]
    first = operations.check(str(run.path), Goal(known_checkpoints=()))
    assert first["new_checkpoints"] == first["checkpoints"] != []
    again = operations.check(str(run.path), Goal(known_checkpoints=first["checkpoints"]))
    assert (again["reached"], again["new_checkpoints"]) == (False, [])


def test_a_goal_says_one_thing():
    for given in ({}, {"done": True, "step": 5}):
        with pytest.raises(UsageError, match="one of"):
            Goal(**given)


def test_a_run_that_cannot_begin_says_why_to_whoever_started_it(logs):
    asked = TrainRequest(algo="toy_cem", env="gymnasium/NoSuchTask-v0", logdir=logs)
    found = operations.start(asked)
    assert (found["ready"], found["status"]) == (False, "failed")
    assert "NoSuchTask" in found["message"]


def test_models_are_located_and_nothing_is_copied(logs):
    run = start(logs, "run.steps=1200", "run.checkpoint_every=400")
    assert operations.wait(str(run.path), Goal(done=True), seconds=60, poll=0.05)["reached"]
    found = operations.export(str(run.path), logs, last_n=1)
    assert found["total_checkpoints"] > len(found["checkpoints"]) == 1
    assert found["checkpoints"][0]["latest"]
    # The toy family has no file of a framework's own.
    assert found["models"] == []
    assert metrics.RETURN in json.dumps(operations.show_run(str(run.path), logs))
