"""How runs end: signals, crashes, NaNs, full disks; nothing is lost and the record is right."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from srb_train.runs import metrics
from tests.cases.conftest import LONG, TOY, has_trained, runs, strict_lines, until
from tests.conftest import environment

FAULT = ("--algo", "toy_cem", "env.num_envs=4", "agent.horizon=25", "run.seed=3")
SLOW = (
    "--algo", "toy_cem", "--env", "gymnasium/faults:Slow-v0", "env.num_envs=2",
    "agent.horizon=100000", "run.steps=100000000",
)  # fmt: skip
"""A run whose first rollout lasts longer than any grace."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_s10_s11_a_signal_saves_and_leaves_by_its_code(start_srb, logs, number, code):
    child = start_srb("agent", "train", *LONG, "--logdir", logs, "--hide_ui")
    until(lambda: has_trained(logs, 3000), "some training")
    child.send_signal(number)
    output, _ = child.communicate(timeout=15)
    assert child.returncode == code, output
    assert "Traceback" not in output
    (run,) = runs(logs)
    record = run.record()
    assert (record["status"], record["signal"]) == ("stopped", number.name)
    assert record["exit_code"] == code
    newest = run.checkpoints().latest()
    assert newest.step == record["step"]
    again = start_srb(
        "agent", "train", *TOY[:4], "--continue", "--logdir", logs, f"run.steps={newest.step + 100}"
    )
    output, _ = again.communicate(timeout=60)
    assert again.returncode == 0, output


def test_s11_a_signal_before_the_first_update_saves_the_start(start_srb, logs):
    child = start_srb("agent", "train", *SLOW, "--logdir", logs, "--hide_ui")
    until(lambda: has_trained(logs), "the first steps")
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=15)
    assert child.returncode == 143, output
    (run,) = runs(logs)
    assert run.record()["status"] == "stopped"
    assert run.checkpoints().latest().step == 0


def test_s11_a_signal_during_the_video_leaves_no_half_of_it(start_srb, logs):
    words = (*TOY, "run.steps=100", "--video", "--logdir", logs, "--hide_ui")
    child = start_srb("agent", "train", *words)
    until(lambda: runs(logs) and (runs(logs)[0].path / "videos").exists(), "the first frame")
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=15)
    assert child.returncode == 143, output
    (run,) = runs(logs)
    # The training was over; only its film is given up.
    assert (run.record()["status"], run.record()["step"]) == ("completed", 100)
    assert run.checkpoints().latest().step == 100
    assert list((run.path / "videos").iterdir()) == []


def test_s11_a_signal_during_an_evaluation_ends_it(srb, start_srb, logs):
    slow = ("--algo", "toy_cem", "--env", "gymnasium/faults:Slow-v0", "env.num_envs=2")
    size = ("agent.horizon=5", "run.steps=10", "env.kwargs.seconds=0.01")
    srb("agent", "train", *slow, *size, "--logdir", logs, check=True)
    (run,) = runs(logs)
    child = start_srb("agent", "eval", "--run", run.path, "--logdir", logs, "--episodes", "100000")
    until(lambda: psutil.Process(child.pid).children(), "the child that plays")
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=15)
    assert child.returncode == 143, output
    assert not list(run.path.rglob("eval.json"))


def test_a_second_signal_leaves_at_the_next_step(start_srb, logs):
    child = start_srb("agent", "train", *SLOW, "--logdir", logs, "--hide_ui")
    until(lambda: has_trained(logs), "the first steps")
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=15)
    assert child.returncode in (130, 143), output


def test_usr1_takes_a_checkpoint_and_training_goes_on(start_srb, logs):
    words = (*TOY, "run.steps=200000000", "run.checkpoint_every=100000000")
    child = start_srb("agent", "train", *words, "--logdir", logs, "--hide_ui")
    until(lambda: has_trained(logs, 1000), "some training")
    (run,) = runs(logs)
    assert [found.step for found in run.checkpoints().all()] == [0]
    child.send_signal(signal.SIGUSR1)
    until(lambda: len(run.checkpoints().all()) > 1, "the checkpoint that was asked for")
    assert run.status().state == "running"
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=15) == 143


def test_s12_a_killed_trainer_is_failed_and_a_killed_pair_is_lost(start_srb, srb, logs):
    child = start_srb("agent", "train", *LONG, "--logdir", logs, "--hide_ui")
    until(lambda: has_trained(logs, 3000), "some training")
    (run,) = runs(logs)
    os.kill(run.record()["pid"], signal.SIGKILL)
    child.communicate(timeout=15)
    assert child.returncode == 137
    record = run.record()
    assert (record["status"], record["signal"], record["exit_code"]) == ("failed", "SIGKILL", 137)
    assert record["step"] >= 3000

    again = start_srb(
        "agent", "train", *TOY[:4], "--continue", "--logdir", logs, "run.steps=3000000000"
    )
    until(lambda: run.status().state == "running", "the run to go on")
    until(lambda: len(run.record()["segments"]) == 2, "a second segment")
    worker = run.record()["pid"]
    again.kill()
    os.kill(worker, signal.SIGKILL)
    again.communicate(timeout=15)
    until(lambda: run.status().state == "lost", "the loss to be seen")
    listed = srb("run", "list", "--logdir", logs, check=True)
    assert "lost" in listed.stdout
    assert "running" not in listed.stdout


def test_a_worker_whose_supervisor_dies_saves_and_stops(start_srb, logs):
    child = start_srb("agent", "train", *LONG, "--logdir", logs, "--hide_ui")
    until(lambda: has_trained(logs, 3000), "some training")
    (run,) = runs(logs)
    child.kill()
    until(lambda: run.record()["status"] == "stopped", "the worker to notice")
    assert run.record()["signal"] == "SUPERVISOR_LOST"
    assert run.checkpoints().latest().step == run.record()["step"]


def test_s13_a_nan_reward_stops_the_run_and_says_where(srb, logs):
    task = ("--env", "gymnasium/faults:NanReward-v0", "env.kwargs.at=200")
    words = (*FAULT, *task, "run.steps=4000", "run.checkpoint_every=100", "--logdir", logs)
    done = srb("agent", "train", *words)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    for word in ("reward", "row 0", "step", "nonfinite.npz", "last good checkpoint"):
        assert word in said
    assert "Traceback" not in said
    (run,) = runs(logs)
    record = run.record()
    assert record["status"] == "failed"
    assert "non-finite reward" in record["failure"]["message"]
    assert (run.path / "nonfinite.npz").exists()
    assert run.checkpoints().latest().step <= 800


def test_s13_without_the_guard_the_metrics_stay_strict_json(srb, logs):
    task = ("--env", "gymnasium/faults:NanReward-v0", "env.kwargs.at=30")
    words = (*FAULT, *task, "run.steps=2000", "run.nan_guard=false", "--logdir", logs)
    srb("agent", "train", *words, "run.log_every=100", check=True)
    (run,) = runs(logs)
    lines = strict_lines(run.metrics_path)
    odd = [line for line in lines if line["value"] is None]
    assert odd
    assert {line["nonfinite"] for line in odd} <= {"nan", "inf", "-inf"}


def test_s14_a_cut_event_file_is_exported_with_one_warning(srb, logs):
    srb("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, check=True)
    (run,) = runs(logs)
    (events,) = run.path.glob("events.out.tfevents*")
    live = metrics.read(run.metrics_path).records
    run.metrics_path.unlink()
    os.truncate(events, events.stat().st_size - 7)
    done = subprocess.run(
        [sys.executable, "-m", "srb_train.runs.tensorboard", str(run.path)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert len([line for line in done.stderr.splitlines() if events.name in line]) == 1
    exported = metrics.read(run.metrics_path).records
    assert 0 < len(live) - len(exported) <= 5


@pytest.fixture
def small_disk(tmp_path):
    """A disk with room for two checkpoints and a half."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_s15_a_full_disk_is_named_and_the_last_checkpoint_stays_good(srb, small_disk):
    words = (*TOY, "run.steps=100000", "run.checkpoint_every=500", "run.keep_checkpoints=20")
    done = srb("agent", "train", *words, "run.log_every=50000", "--logdir", small_disk)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "No space left on device" in said
    assert "run.keep_checkpoints" in said
    assert "Traceback" not in said
    (run,) = runs(small_disk)
    checkpoints = run.checkpoints()
    assert checkpoints.latest().open()
    assert checkpoints.warnings == []
    assert list((run.path / "ckpt").glob(".*")) == []


def test_a_crash_of_the_task_is_recorded_and_what_was_saved_stays(srb, logs):
    task = ("--env", "gymnasium/faults:Crash-v0", "env.kwargs.at=200")
    done = srb(
        "agent", "train", *FAULT, *task, "run.steps=4000", "run.checkpoint_every=100",
        "--logdir", logs,
    )  # fmt: skip
    assert done.returncode == 1
    (run,) = runs(logs)
    assert "the simulator gave up at step 200" in run.record()["failure"]["message"]
    assert "Traceback" in run.log_path.read_text()
    assert run.checkpoints().latest().step > 0


def test_a_task_that_prints_and_reads_stdin_is_logged_and_does_not_hang(srb, logs):
    task = ("--env", "gymnasium/faults:Chatty-v0")
    srb("agent", "train", *FAULT, *task, "run.steps=400", "--logdir", logs, "--hide_ui", check=True)
    log = runs(logs)[0].log_path.read_text()
    assert "chatty: a line on stdout" in log
    assert "chatty: a line on stderr" in log
