"""A run begins when another one is completed, and never when that one ended otherwise."""

import os
import signal
from pathlib import Path

import pytest

from srb_train import operations
from srb_train.errors import Interrupted, TrainingFailed, UsageError
from srb_train.operations import Goal, TrainRequest
from srb_train.runs import chain, lifecycle, status
from srb_train.runs.store import Run
from tests.operations import scene
from tests.operations.test_control import ENDLESS, logs, request, start, until

__all__ = ["logs"]

SMALL = ("run.steps=600",)


def wait_after(root: Path, other: Run, *overrides: str, **more) -> Run:
    asked = TrainRequest(
        **{**vars(request(root, *(overrides or SMALL))), "after": str(other.path), **more}
    )
    found = operations.start(asked)
    assert (found["status"], found["ready"]) == ("waiting", False), found
    assert str(other.path) in found["message"]
    return Run(Path(found["path"]))


def test_a_run_waits_for_another_and_begins_when_that_is_completed(logs):
    first = start(logs, *ENDLESS)
    second = wait_after(logs, first)
    rows = operations.list_runs(logs, state="waiting")["runs"]
    assert [row["path"] for row in rows] == [str(second.path)]
    shown = operations.show_run(str(second.path))
    assert (shown["status"], shown["pid"]) == ("waiting", None)
    assert shown["after"]["path"] == str(first.path)
    assert first.record()["run_id"] in shown["reason"]
    operations.stop(str(first.path), logs)
    reached = first.checkpoints().latest().step
    # Stopped is not completed.
    until(lambda: second.status().state == "failed")
    third = wait_after(logs, resumed(logs, first, reached + 20_000))
    found = operations.wait(str(third.path), Goal(done=True), seconds=60, poll=0.1)
    assert found["reached"], found
    assert first.status().state == "completed"
    assert third.record()["after"]["ended_at"] is not None
    assert third.record()["started_at"] >= first.record()["ended_at"]


def resumed(logs: Path, run: Run, steps: int) -> Run:
    assert operations.resume(str(run.path), logs, overrides=(f"run.steps={steps}",))["ready"]
    return run


def test_a_run_does_not_begin_when_the_other_one_fails(logs, tmp_path):
    ends = tmp_path / "ends.txt"
    first = start(logs, *ENDLESS)
    notice = f"run.notify=[sh,-c,'echo $SRB_STATUS >> {ends}']"
    second = wait_after(logs, first, *SMALL, notice)
    os.kill(first.record()["pid"], signal.SIGKILL)
    until(lambda: second.status().state == "failed")
    record = second.record()
    assert (record["exit_code"], record["pid"], record["segments"]) == (1, None, [])
    assert f"{first.path} is failed" in record["failure"]["message"]
    until(ends.exists)
    until(lambda: ends.read_text() == "failed\n")
    assert not list(second.path.glob(".order-*"))


def test_a_waiting_run_is_stopped_like_any_other(logs):
    first = start(logs, *ENDLESS)
    second = wait_after(logs, first)
    stopped = operations.stop(str(second.path), logs)
    assert (stopped["stopped"], stopped["began"], stopped["forced"]) == (True, False, False)
    assert (stopped["status"], stopped["exit_code"]) == ("stopped", 143)
    assert first.status().state == "running"


def test_a_waiting_run_whose_supervisor_is_killed_is_lost(logs):
    first = start(logs, *ENDLESS)
    second = wait_after(logs, first)
    os.kill(second.record()["supervisor_pid"], signal.SIGKILL)
    until(lambda: second.status().state == "lost")


def test_a_run_after_a_completed_one_begins_at_once(logs):
    first = start(logs, *SMALL)
    assert operations.wait(str(first.path), Goal(done=True), seconds=60, poll=0.05)["reached"]
    asked = TrainRequest(**{**vars(request(logs, *SMALL)), "after": str(first.path)})
    found = operations.start(asked)
    assert found["ready"], found
    assert Run(Path(found["path"])).record()["after"]["ended_at"] is not None


@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_a_run_that_ended_otherwise_is_not_waited_for(tmp_path, how):
    other = scene.make_run(tmp_path)
    scene.begin(other)
    lifecycle.finish(other, how)
    asked = TrainRequest(algo="toy_cem", env="landing", logdir=tmp_path, after=str(other.path))
    with pytest.raises(UsageError, match=f"--after .* is {how}"):
        operations.prepare(asked)
    assert len(operations.list_runs(tmp_path)["runs"]) == 1


def test_a_lost_run_is_not_waited_for(tmp_path):
    other = scene.lost_run(tmp_path)
    with pytest.raises(TrainingFailed, match="is lost"):
        chain.is_completed(other)


def test_an_unknown_run_is_named(tmp_path):
    scene.finished_run(tmp_path)
    asked = TrainRequest(algo="toy_cem", env="landing", logdir=tmp_path, after="nobody")
    with pytest.raises(UsageError, match="nobody"):
        operations.prepare(asked)


def planned(tmp_path, **more):
    run = scene.finished_run(tmp_path, **more.pop("spec", {}))
    asked = {"algo": "toy_cem", "env": "landing", "logdir": tmp_path, "after": run.name}
    return lambda **words: operations.prepare(TrainRequest(**{**asked, **words}))


def test_going_on_and_waiting_exclude_each_other(tmp_path):
    plan = planned(tmp_path)
    with pytest.raises(UsageError, match="goes on in"):
        plan(continue_training=True)


def test_weights_need_a_family_that_has_a_model_file(tmp_path):
    run = scene.finished_run(tmp_path)
    asked = TrainRequest(
        algo="toy_cem", env="landing", logdir=tmp_path, after=run.name, model=run.name
    )
    with pytest.raises(UsageError, match="no model file"):
        operations.prepare(asked)


def test_weights_of_another_label_are_refused_with_the_label(tmp_path):
    run = scene.finished_run(tmp_path)
    asked = TrainRequest(
        algo="sb3_ppo", env="landing", logdir=tmp_path, after=run.name, model=str(run.path)
    )
    with pytest.raises(UsageError, match="--algo toy_cem"):
        operations.prepare(asked)


def test_the_newest_model_file_is_what_a_run_begins_with(tmp_path):
    run = scene.finished_run(tmp_path)
    path = chain.newest_weights(run, (".txt",))
    assert path == run.path / "ckpt" / "4000" / "policy.txt"
    with pytest.raises(TrainingFailed, match="no model file"):
        chain.newest_weights(run, (".zip",))
    with pytest.raises(TrainingFailed, match="no complete checkpoint"):
        chain.newest_weights(scene.make_run(tmp_path), (".txt",))


def test_waiting_in_the_foreground_says_so_and_leaves_by_130(tmp_path, monkeypatch):
    other = scene.make_run(tmp_path)
    scene.begin(other)
    asked = TrainRequest(algo="toy_cem", env="landing", logdir=tmp_path, after=str(other.path))
    said = []

    def interrupted(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(operations.control.time, "sleep", interrupted)
    with pytest.raises(Interrupted) as ended:
        operations.await_turn(asked, said.append)
    assert ended.value.exit_code == 130
    assert said == [f"waits for {other.path}"]
    assert len(operations.list_runs(tmp_path)["runs"]) == 1


def test_in_the_foreground_a_completed_run_is_not_waited_for(tmp_path):
    other = scene.finished_run(tmp_path)
    asked = TrainRequest(algo="toy_cem", env="landing", logdir=tmp_path, after=str(other.path))
    operations.await_turn(asked, pytest.fail)


def test_the_status_of_a_waiting_run_needs_its_supervisor():
    me = os.getpid()
    known = {
        "status": "reserved", "pid": None, "process_started": None, "signal": None,
        "failure": None, "step": 0, "budget": 9, "host": status.this_host(),
        "boot_id": status.boot_id(), "supervisor_pid": me,
        "supervisor_started": status.process_started(me),
        "after": {"run": "landing/toy_cem/x", "path": "/x", "weights": False, "ended_at": None},
    }  # fmt: skip

    def judged(**more):
        return status.derive({**known, **more}, None, 0.0, status.this_host())

    assert (judged().state, judged().reason) == ("waiting", "for landing/toy_cem/x")
    assert judged(supervisor_started=1.0).state == "lost"
    assert judged(after={**known["after"], "ended_at": "2026"}).state == "reserved"
    assert judged(after=None).state == "reserved"


@pytest.mark.slow
def test_a_run_begins_with_the_weights_of_the_one_it_waited_for(logs):
    tiny = ("env.num_envs=2", "agent.n_steps=16", "agent.batch_size=32", "run.seed=1")

    def asked(*overrides, **more):
        return TrainRequest(
            algo="sb3_ppo", env="cartpole", logdir=logs, overrides=(*tiny, *overrides), **more
        )

    first = operations.start(asked("run.steps=20000"))
    assert first["ready"], first
    second = operations.start(asked("run.steps=64", after=first["path"], model=first["path"]))
    assert second["status"] == "waiting"
    assert operations.wait(second["path"], Goal(done=True), seconds=120, poll=0.2)["reached"]
    newest = Run(Path(first["path"])).checkpoints().latest()
    spec = Run(Path(second["path"])).spec()
    assert Path(spec.weights_from).parent == newest.path
    assert spec.resume_from is None
    assert "weights from" in Run(Path(second["path"])).log_path.read_text()
