"""Clips of a training run: beside it, bounded, never in its way, and the last one always there."""

import os
import signal
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest

from srb_train.filming import MOST_FAILURES, Filming, newest_step
from srb_train.filming.child import PRIORITY, retain
from srb_train.runs.store import Run
from tests.cases.conftest import LONG, TOY, has_trained, runs, until
from tests.conftest import environment

TRAIN = ("agent", "train")
BLACK = (
    "--algo", "toy_cem", "--env", "gymnasium/faults:ConstantReward-v0", "env.num_envs=2",
    "agent.horizon=10", "env.kwargs.picture=black",
)  # fmt: skip


@pytest.fixture
def logs(tmp_path):
    """A fresh log root, not there yet."""
    return tmp_path / "logs"


def clips(run):
    """Return the names of what lies among a run's videos, hidden files too."""
    folder = run.path / "videos"
    return sorted(os.listdir(folder)) if folder.exists() else []


def films(child):
    """Return the processes below a command that film."""
    found = []
    for part in psutil.Process(child.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "srb_train.filming.child" in part.cmdline():
                found.append(part)
    return found


def stands_back(child):
    """Tell whether a film of a command is made with low priority."""
    with suppress(psutil.NoSuchProcess):
        return any(film.nice() == min(19, os.nice(0) + PRIORITY) for film in films(child))


def said(run):
    """Return the lines of a run's log that tell of films."""
    return [line for line in run.log_path.read_text().splitlines() if line.startswith("video")]


def test_the_last_checkpoint_is_filmed_and_the_log_says_where(srb, logs):
    done = srb(*TRAIN, *TOY, "run.steps=200", "--video", "--logdir", logs, check=True)
    (run,) = runs(logs)
    assert clips(run)[-1] == "step-200.mp4"
    assert said(run)[-1] == f"video: {run.path}/videos/step-200.mp4"
    assert said(run)[-1] in done.stdout
    assert run.record()["status"] == "completed"


def test_checkpoints_are_filmed_while_the_run_trains(start_srb, logs):
    words = (*LONG, "run.keep_checkpoints=2", "--video", "--hide_ui", "--logdir", logs)
    child = start_srb(*TRAIN, *words)
    until(lambda: runs(logs) and has_trained(logs), "some training")
    until(lambda: stands_back(child), "a film of low priority")
    (run,) = runs(logs)
    seen: set[str] = set()

    def enough():
        assert len(films(child)) <= 1
        seen.update(name for name in clips(run) if name[0] != ".")
        return len(seen) > 2

    until(enough, "three clips")
    assert run.status().state == "running"
    until(lambda: len([name for name in clips(run) if name[0] != "."]) <= 2, "older ones to go")
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=20)
    assert child.returncode == 143, output
    assert [name for name in clips(run) if name[0] == "."] == []


def test_a_film_that_cannot_be_made_is_a_line_and_no_failure(srb, logs):
    done = srb(*TRAIN, *BLACK, "run.steps=60", "--video", "--logdir", logs, check=True)
    (run,) = runs(logs)
    assert run.record()["status"] == "completed"
    assert 1 <= len(said(run)) <= 2
    assert all("failed: [failure]" in line and "of one colour" in line for line in said(run))
    assert said(run)[-1] in done.stdout
    assert clips(run) == []


@pytest.mark.slow
def test_films_change_nothing_of_what_is_learned(srb, start_srb, logs, tmp_path):
    size = ("run.steps=12000", "run.checkpoint_every=2000")
    srb(*TRAIN, *TOY, *size, "--logdir", tmp_path / "plain", check=True)
    child = start_srb(*TRAIN, *TOY, *size, "--video", "--hide_ui", "--logdir", logs)
    until(lambda: has_trained(logs, 4000), "some training")
    (run,) = runs(logs)
    if run.record()["pid"]:
        os.kill(run.record()["pid"], signal.SIGKILL)
    child.communicate(timeout=20)
    srb(*TRAIN, *TOY[:4], "--continue", "run.steps=12000", "--video", "--logdir", logs, check=True)
    ends = [one.checkpoints().latest() for one in (run, *runs(tmp_path / "plain"))]
    assert [end.step for end in ends] == [12000, 12000]
    for name in ("cem.npz", "run_state.npz"):
        with np.load(ends[0].path / name) as filmed, np.load(ends[1].path / name) as plain:
            assert set(filmed) == set(plain)
            assert all(np.array_equal(filmed[key], plain[key]) for key in plain)


def test_a_film_does_not_outlive_its_supervisor(start_srb, logs):
    child = start_srb(*TRAIN, *LONG, "--video", "--hide_ui", "--logdir", logs)
    until(lambda: films(child), "a film")
    (film, *_) = films(child)
    (run,) = runs(logs)
    child.kill()
    until(lambda: not film.is_running() or film.status() == psutil.STATUS_ZOMBIE, "its end")
    until(lambda: run.record()["status"] == "stopped", "the worker to save and stop")
    assert [name for name in clips(run) if name[0] == "."] == []


@pytest.mark.slow
def test_a_detached_run_is_filmed_too(srb, logs):
    srb("run", "start", *TOY, "run.steps=300", "--video", "--logdir", logs, check=True)
    (run,) = runs(logs)
    until(lambda: "step-300.mp4" in clips(run), "the film of the last checkpoint")
    until(lambda: said(run), "the line that says so")


def test_after_three_failures_nothing_more_is_tried(tmp_path):
    heard: list[str] = []
    filming = Filming(Run(tmp_path), environment(), heard.append, wanted=True)
    for step in range(MOST_FAILURES + 1):
        (tmp_path / "ckpt" / str(step)).mkdir(parents=True)
        filming._looked = -float("inf")
        filming.look()
        filming.finish(complete=True)
    assert len(heard) == MOST_FAILURES + 1
    assert "spec.json is missing" in heard[0] and heard[0].startswith("video of step 0 failed")
    assert heard[-1] == f"video: given up after {MOST_FAILURES} failures"


def test_nothing_is_looked_for_unless_it_is_wanted(tmp_path):
    (tmp_path / "ckpt" / "7").mkdir(parents=True)
    filming = Filming(Run(tmp_path), environment(), pytest.fail, wanted=False)
    begun = time.monotonic()
    for _ in range(1000):
        filming.look()
    filming.finish(complete=True)
    assert time.monotonic() - begun < 1


def test_a_stop_ends_the_film_that_is_being_made(tmp_path):
    (tmp_path / "ckpt" / "7").mkdir(parents=True)
    filming = Filming(Run(tmp_path), environment(), pytest.fail, wanted=True)
    filming.look()
    filming.send_signal(signal.SIGUSR1)
    assert filming.stopped_by is None
    filming.send_signal(signal.SIGINT)
    filming.finish(complete=True)
    assert filming.stopped_by == signal.SIGINT


def test_clips_of_the_highest_steps_stay_and_strangers_are_not_touched(tmp_path):
    names = ("step-2.mp4", "step-10.mp4", "step-9.gif", "step-x.mp4", "play-1.mp4", "step-3.txt")
    for name in names:
        (tmp_path / name).write_text("")
    retain(tmp_path, 2)
    assert set(os.listdir(tmp_path)) == set(names) - {"step-2.mp4"}


def test_checkpoints_are_told_by_their_names(tmp_path):
    assert newest_step(tmp_path / "ckpt") is None
    for name in ("900", "10000", ".20000-1-00000000", "best"):
        (tmp_path / "ckpt" / name).mkdir(parents=True)
    assert newest_step(tmp_path / "ckpt") == 10000
