"""Status is derived: ends are believed, signs of life are checked, absence is never life."""

import itertools
import os
import signal
import subprocess
import sys

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.runs import record, status

HERE = status.this_host()
ME = os.getpid()
NOW = 1_800_000_000.0


def made(**fields):
    """Return a record of a run on this host."""
    own = {"run_id": "r", "sequence": 1, "created_at": "2026", "host": HERE, "budget": 1000}
    return record.patch({**record.FIELDS}, **{**own, **fields})


def alive(**fields):
    """Return the record of a run that this very process trains."""
    mine = {
        "pid": ME,
        "process_started": status.process_started(ME),
        "boot_id": status.boot_id(),
        "status": "running",
    }
    return made(**{**mine, **fields})


def beat(written, **fields):
    """Return a heartbeat of the process that a record names."""
    own = {
        "pid": written["pid"],
        "started": written["process_started"],
        "host": written["host"],
        "time": NOW - 1,
        "step": 640,
        "budget": 1000,
        "progress_at": NOW - 2,
        "rate": 50.0,
        "phase": "training",
    }
    return {**own, **fields}


def derived(written, heartbeat=None, host=HERE):
    return status.derive(written, heartbeat, NOW, host)


@pytest.fixture
def child():
    """Give a process that sleeps until it is told otherwise, and clear it away."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def wait_until(condition):
    for _ in itertools.count():
        if condition():
            return


def test_this_process_is_alive_by_its_number_start_and_boot():
    started = status.process_started(ME)
    assert started is not None
    assert status.is_alive(ME, started, status.boot_id())
    assert started == status.process_started(ME)


def test_a_number_taken_by_another_process_is_not_the_one_that_was_recorded():
    started = status.process_started(ME)
    assert not status.is_alive(ME, started - 0.5, status.boot_id())
    assert not status.is_alive(ME, started + 3600, status.boot_id())


def test_another_boot_and_missing_facts_are_death():
    started = status.process_started(ME)
    assert not status.is_alive(ME, started, "another boot")
    assert not status.is_alive(None, started, status.boot_id())
    assert not status.is_alive(ME, None, status.boot_id())
    assert not status.is_alive(ME, started, None)


def test_start_times_agree_with_the_boot_and_with_what_others_count(child):
    started = status.process_started(child.pid)
    since_epoch = psutil.Process(child.pid).create_time() - psutil.boot_time()
    assert abs(started - since_epoch) < 2


def test_a_zombie_is_dead_and_so_is_nothing(child):
    started = status.process_started(child.pid)
    assert status.is_alive(child.pid, started, status.boot_id())
    child.send_signal(signal.SIGKILL)
    wait_until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert not status.is_alive(child.pid, started, status.boot_id())
    child.wait()
    assert not status.is_alive(child.pid, started, status.boot_id())
    assert status.process_started(2**30) is None


def test_a_frozen_process_lives(child):
    started = status.process_started(child.pid)
    child.send_signal(signal.SIGSTOP)
    wait_until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_STOPPED)
    assert status.is_alive(child.pid, started, status.boot_id())


def test_a_name_with_brackets_and_spaces_does_not_confuse_the_reading():
    naming = "import ctypes; ctypes.CDLL(None).prctl(15, b') Z 1 (', 0, 0, 0); print(1); input()"
    with subprocess.Popen(
        [sys.executable, "-uc", naming], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        assert status.process_started(process.pid) is not None
        process.kill()


@pytest.mark.parametrize("written", record.FINAL)
def test_the_written_last_word_wins_over_every_sign_of_life(written):
    run = alive(status=written, step=700)
    found = derived(run, beat(run))
    assert (found.state, found.step, found.rate, found.alive) == (written, 700, None, False)


def test_a_living_worker_runs_once_it_made_a_step():
    run = alive()
    assert derived(run).state == "starting"
    assert derived(run, beat(run, progress_at=None)).state == "starting"
    found = derived(run, beat(run))
    assert (found.state, found.step, found.rate, found.alive) == ("running", 640, 50.0, True)
    assert (found.beat_age, found.progress_age, found.budget) == (1.0, 2.0, 1000)


def test_a_living_worker_that_was_asked_to_stop_is_stopping():
    run = alive()
    assert derived(run, beat(run, phase="stopping")).state == "stopping"
    assert derived(alive(signal="SIGTERM"), beat(run)).state == "stopping"


def test_a_worker_that_died_without_a_word_is_lost_with_its_last_step():
    run = alive(process_started=status.process_started(ME) - 9)
    found = derived(run, beat(run))
    assert (found.state, found.step, found.rate) == ("lost", 640, None)
    assert f"process {ME} is gone" in found.reason


def test_a_worker_of_an_earlier_boot_is_lost_however_fresh_its_heartbeat():
    run = alive(boot_id="before")
    assert derived(run, beat(run, time=NOW)).state == "lost"


def test_a_dead_worker_under_a_living_supervisor_is_stopping():
    started = status.process_started(ME)
    run = alive(pid=2**30, supervisor_pid=ME, supervisor_started=started)
    assert derived(run).state == "stopping"
    awaited = alive(status="starting", pid=None, supervisor_pid=ME, supervisor_started=started)
    assert derived(awaited).state == "starting"


def test_a_reserved_run_is_reserved_until_whoever_reserved_it_died():
    assert derived(made()).state == "reserved"
    dead = made(supervisor_pid=ME, supervisor_started=1.0, boot_id=status.boot_id())
    assert derived(dead).state == "lost"
    living = {**dead, "supervisor_started": status.process_started(ME)}
    assert derived(living).state == "reserved"
    assert derived(made(), host="elsewhere").state == "reserved"


def test_a_heartbeat_of_an_earlier_segment_says_nothing():
    run = alive()
    for stale in ({"pid": 1}, {"started": 0.5}, {"host": "elsewhere"}):
        found = derived(run, beat(run, **stale))
        assert (found.state, found.step, found.beat_age) == ("starting", 0, None)


@pytest.mark.parametrize(
    ("age", "state"),
    [(0, "running"), (29, "running"), (31, "lost"), (9e9, "lost"), (-29, "running"), (-31, "lost")],
)
def test_another_host_is_judged_by_its_lease_alone(age, state):
    run = alive(host="elsewhere")
    assert derived(run, beat(run, time=NOW - age)).state == state


def test_another_host_without_a_heartbeat_is_lost_though_the_number_lives_here():
    assert derived(alive(host="elsewhere")).state == "lost"
    assert derived(alive(host=None)).state == "lost"


@given(
    written=st.sampled_from(record.LIVE),
    pid=st.sampled_from([None, 2**30]),
    started=st.none() | st.floats(0, 1e6),
    boot=st.sampled_from([None, "before", status.boot_id()]),
    host=st.sampled_from([None, HERE, "elsewhere"]),
    heartbeat=st.none()
    | st.just({})
    | st.dictionaries(st.sampled_from(["pid", "step"]), st.none()),
)
def test_missing_facts_never_make_a_run_alive(written, pid, started, boot, host, heartbeat):
    run = made(status=written, pid=pid, process_started=started, boot_id=boot, host=host)
    assert derived(run, heartbeat).state in ("reserved", "lost")
