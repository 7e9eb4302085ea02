"""A wish to stop: the first one waits for a boundary, the second does not."""

import os
import signal
import subprocess
import sys

from srb_train.stop import Stop


def test_nothing_is_asked_for_at_first():
    stop = Stop()
    assert (stop.requested, stop.overdue, stop.reason) == (False, False, None)


def test_the_first_wish_has_a_grace_and_the_second_has_none():
    stop = Stop(grace=1000)
    stop.ask("SIGTERM")
    assert (stop.requested, stop.overdue) == (True, False)
    stop.ask("SIGINT")
    assert (stop.reason, stop.overdue) == ("SIGTERM", True)


def test_a_grace_that_is_over_makes_it_urgent():
    stop = Stop(grace=0.0)
    stop.ask("SIGTERM")
    assert stop.overdue


PROGRAM = """
import sys, time
from srb_train.stop import Stop
stop = Stop(); stop.install(); stop.watch(sys.stdin.fileno())
print("ready", repr(sys.stdin.read()), flush=True)
while not (stop.requested or stop.checkpoint_now):
    time.sleep(0.01)
print(stop.reason, stop.checkpoint_now, flush=True)
"""


def ended_by(deed) -> list[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        lines = [child.stdout.readline()]
        deed(child)
        lines.append(child.stdout.readline())
        child.stdin.close()
    assert child.returncode == 0
    return [line.strip() for line in lines]


def test_signals_ask_by_their_names():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        said = ended_by(lambda child, number=number: os.kill(child.pid, number))
        assert said == ["ready ''", f"{number.name} False"]


def test_usr1_asks_for_a_checkpoint_only():
    assert ended_by(lambda child: os.kill(child.pid, signal.SIGUSR1))[1] == "None True"


def test_the_end_of_the_input_means_that_the_supervisor_is_gone():
    assert ended_by(lambda child: child.stdin.close())[1] == "SUPERVISOR_LOST False"
