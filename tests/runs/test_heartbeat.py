"""A heartbeat tells how training goes, costs the loop nothing, and never ends the training."""

import math
import os
import threading
import time
import timeit

import pytest

from srb_train.runs import files, heartbeat, status
from srb_train.runs.heartbeat import Heartbeat


def wait_for(path, condition):
    while True:
        found = heartbeat.read(path)
        if found is not None and condition(found):
            return found


def test_a_beat_says_who_where_and_how_far(tmp_path):
    path = tmp_path / "heartbeat.json"
    pulse = Heartbeat(path, budget=1000)
    pulse.update(10, values={"episode/return": 1.5}, phase="training")
    pulse.update(20, values={"episode/length": 7})
    before = time.time()
    pulse.beat()
    found = heartbeat.read(path)
    assert found["pid"] == os.getpid()
    assert found["started"] == status.process_started(os.getpid())
    assert (found["boot_id"], found["host"]) == (status.boot_id(), status.this_host())
    assert (found["step"], found["budget"], found["phase"]) == (20, 1000, "training")
    assert found["values"] == {"episode/return": 1.5, "episode/length": 7.0}
    assert before <= found["progress_at"] <= found["time"] <= time.time()


def test_before_the_first_step_there_is_no_progress_and_no_rate(tmp_path):
    Heartbeat(tmp_path / "h.json").beat()
    found = heartbeat.read(tmp_path / "h.json")
    assert (found["step"], found["progress_at"], found["rate"]) == (None, None, None)


def test_a_thread_renews_the_file_until_it_is_stopped(tmp_path):
    path = tmp_path / "h.json"
    with Heartbeat(path, interval=0.005) as pulse:
        first = heartbeat.read(path)
        wait_for(path, lambda found: found["time"] > first["time"])
        pulse.update(5)
        wait_for(path, lambda found: found["step"] == 5)
        pulse.update(6, phase="saving")
    last = heartbeat.read(path)
    assert (last["step"], last["phase"]) == (6, "saving")
    assert "heartbeat" not in [thread.name for thread in threading.enumerate()]
    pulse.stop()
    assert heartbeat.read(path) == last
    assert os.listdir(tmp_path) == ["h.json"]


def test_the_rate_is_measured_from_the_first_step_seen_not_from_zero(tmp_path, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: float(next(clock)))
    pulse = Heartbeat(tmp_path / "h.json")
    rates = []
    for step in (1_000_000, 1_000_100, 1_000_300, 1_000_300):
        pulse.update(step)
        pulse.beat()
        rates.append(heartbeat.read(tmp_path / "h.json")["rate"])
    assert rates == [None, 100.0, 150.0, 100.0]


def test_a_standstill_shows_in_the_rate_and_in_the_time_of_progress(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(heartbeat.time, "time", lambda: now[0])
    pulse = Heartbeat(tmp_path / "h.json")
    for second in range(60):
        now[0] = float(second)
        pulse.update(min(second, 20) * 10)
        pulse.beat()
    found = heartbeat.read(tmp_path / "h.json")
    assert (found["rate"], found["progress_at"], found["time"]) == (0.0, 20.0, 59.0)


def test_numbers_that_json_lacks_are_null_and_the_tag_stays(tmp_path):
    pulse = Heartbeat(tmp_path / "h.json")
    pulse.update(1, values={"loss": math.nan, "return": -math.inf, "length": 3})
    pulse.beat()
    values = heartbeat.read(tmp_path / "h.json")["values"]
    assert values == {"loss": None, "return": None, "length": 3.0}


FULL = """
import resource, sys
from pathlib import Path
from srb_train.runs.heartbeat import Heartbeat
with Heartbeat(Path(sys.argv[1]), interval=0.001) as pulse:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    while pulse.failure is None:
        pulse.update(1)
    print(pulse.failure)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    while pulse.failure is not None:
        pulse.update(77)
"""


def test_a_full_disk_costs_beats_and_nothing_else(tmp_path, python):
    child = python(FULL, tmp_path / "h.json")
    said, _ = child.communicate()
    assert (child.returncode, said) == (0, "[Errno 27] File too large\n")
    assert heartbeat.read(tmp_path / "h.json")["step"] == 77
    assert os.listdir(tmp_path) == ["h.json"]


def test_a_vanished_folder_costs_beats_and_nothing_else(tmp_path):
    pulse = Heartbeat(tmp_path / "gone" / "h.json")
    pulse.start()
    assert "No such file" in pulse.failure
    pulse.stop()


@pytest.mark.parametrize("content", [b"", b'{"step": 1', b"[1]", b"\0\0\0", b"NaN"])
def test_a_torn_or_strange_file_is_no_heartbeat(tmp_path, content):
    (tmp_path / "h.json").write_bytes(content)
    assert heartbeat.read(tmp_path / "h.json") is None


def test_an_absent_file_is_no_heartbeat(tmp_path):
    assert heartbeat.read(tmp_path / "none.json") is None


def test_a_worker_killed_while_it_beats_leaves_a_whole_beat(deaths):
    assert deaths("Beat") > 10


def test_beats_are_not_forced_onto_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "fsync", lambda fd: pytest.fail("a lease needs no fsync"))
    Heartbeat(tmp_path / "h.json").beat()


def test_an_update_in_the_hot_path_costs_far_less_than_an_environment_step(tmp_path):
    pulse = Heartbeat(tmp_path / "h.json")
    update = pulse.update
    seconds = min(timeit.repeat(lambda: update(5), number=20_000, repeat=5)) / 20_000
    # About 0.1 us on an idle machine; the bound leaves room for a busy one.
    assert seconds < 3e-6
