"""Supervision: memory of a supervisor, cost of the log pump, and how quick its readers are.

`python -m benchmarks.supervision` prints JSON. Processor time is that of the measured process
alone, so other programs on the machine move it little.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks import clock
from srb_train import operations, supervisor
from srb_train.operations import TrainRequest
from srb_train.operations.logs import tail
from srb_train.operations.watching import Board
from srb_train.runs import files, layout, record, series
from srb_train.runs.log import BoundedLog
from srb_train.runs.metrics import Record
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec

RUNS = 10_000
POINTS = 1_000_000
LOG_BYTES = 10**9
PUMP_SECONDS = 5
PUMP_BYTES_A_SECOND = 10**6
SPEC = RunSpec(
    algo="sb3_ppo", env="landing", steps=1, num_envs=1, seed=0, checkpoint_every=1, log_every=1
)
CHATTY = """
import sys, time
seconds, rate = map(float, sys.argv[1:])
line = "[env {row:03d}] step {step:08d} reward {reward:+.6f} position ({x:+.4f}, {y:+.4f}) ok\\n"
begun, sent, step = time.monotonic(), 0, 0
while time.monotonic() - begun < seconds:
    while sent < rate * (time.monotonic() - begun):
        step += 1
        text = line.format(row=step % 64, step=step, reward=step / 7, x=step / 3, y=-step / 9)
        sys.stdout.write(text)
        sys.stdout.flush()
        sent += len(text)
    time.sleep(0.001)
print("sent", sent)
"""


def measure() -> dict[str, object]:
    """Return memory, rates and seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        return {
            "supervisor": _supervisor(root / "live"),
            "waiting_supervisor": _waiting(root / "waiting"),
            "pump": _pump(root),
            "log": _log(root / "log"),
            "list": _listing(root / "many"),
            "metrics": _metrics(root / "points"),
        }


def _request(root: Path, **more: object) -> TrainRequest:
    words = ("env.num_envs=4", "agent.horizon=25", "run.steps=1e9", "run.checkpoint_every=1e9")
    return TrainRequest(algo="toy_cem", env="cartpole", logdir=root, overrides=words, **more)


def _cost_of(pid: int, seconds: float = 5.0) -> dict[str, float]:
    """Watch a process for a while: memory of its own, and its share of one core."""
    process = psutil.Process(pid)
    time.sleep(1.0)
    before, begun = process.cpu_times(), time.monotonic()
    time.sleep(seconds)
    after, passed = process.cpu_times(), time.monotonic() - begun
    memory = process.memory_full_info()
    return {
        "resident_bytes": memory.rss,
        "unique_bytes": memory.uss,
        "share_of_a_core": (after.user + after.system - before.user - before.system) / passed,
    }


def _supervisor(root: Path) -> dict[str, float]:
    found = operations.start(_request(root))
    try:
        return _cost_of(Run(Path(found["path"])).record()["supervisor_pid"])
    finally:
        operations.stop(found["path"], root)


def _waiting(root: Path) -> dict[str, float]:
    first = operations.start(_request(root))
    second = operations.start(_request(root, after=first["path"]))
    try:
        return _cost_of(Run(Path(second["path"])).record()["supervisor_pid"])
    finally:
        for found in (second, first):
            operations.stop(found["path"], root)


class _Nobody:
    def line(self, text: str) -> None:
        """Show nothing."""


def _pump(root: Path) -> dict[str, float]:
    """Pump lines that come one by one at a fixed rate; counts our own processor time."""
    wanted = (str(PUMP_SECONDS), str(PUMP_BYTES_A_SECOND))
    program = [sys.executable, "-uc", CHATTY, *wanted]
    child = subprocess.Popen(program, stdout=subprocess.PIPE)
    before, begun = time.process_time(), time.monotonic()
    with BoundedLog(root / "pumped.log") as log, child:
        supervisor._pump(child.stdout, log, _Nobody(), frozenset())
        passed, spent = time.monotonic() - begun, time.process_time() - before
    sent = int((root / "pumped.log").read_text().split()[-1])
    return {
        "bytes_a_second": sent / passed,
        "share_of_a_core": spent / passed,
        "seconds_a_megabyte": spent / (sent / 1e6),
    }


def _log(root: Path) -> dict[str, float]:
    """Take the newest lines of a log that grew without bounds, as one from elsewhere may."""
    run = RunStore(root).create(SPEC, {}, {}, {})
    block = b"".join(b"line %08d of a very long log\n" % number for number in range(30_000))
    with run.log_path.open("wb") as file:
        while file.tell() < LOG_BYTES:
            file.write(block)
    name = str(run.path)
    return {
        "bytes": run.log_path.stat().st_size,
        "tail_50_seconds": _best(lambda: tail(name, last_n=50)),
        "tail_all_seconds": _best(lambda: tail(name, last_n=None), 3),
    }


def _listing(root: Path) -> dict[str, float]:
    for number in range(RUNS):
        folder = root / "landing" / "sb3_ppo" / f"20260101T000000Z-{number:05}"
        folder.mkdir(parents=True)
        facts = {
            "run_id": folder.relative_to(root).as_posix(), "sequence": number,
            "status": "completed", "host": os.uname().nodename,
        }  # fmt: skip
        (folder / layout.RUN).write_text(json.dumps(record.new(SPEC, facts)), "utf-8")
        files.write_json(folder / layout.SPEC, SPEC.as_dict(), durable=False)
    board = Board(root)
    command = [sys.executable, "-m", "srb_train", "run"]
    show = [*command, "show", str(root / "landing" / "sb3_ppo" / "20260101T000000Z-00007")]
    listing = [*command, "list", "--logdir", str(root)]
    commands = {"list": [*listing, "--last-n", "20"], "all": listing, "show": show}
    seconds = clock.medians(clock.in_turn(commands, 5))
    first = _best(board.look, 1)
    return {
        "runs": RUNS,
        "command_list_20_seconds": seconds["list"],
        "command_list_all_seconds": seconds["all"],
        "command_show_seconds": seconds["show"],
        "list_20_seconds": _best(lambda: operations.list_runs(root, last_n=20)),
        "show_seconds": _best(lambda: operations.show_run(show[-1])),
        "first_look_seconds": first,
        "next_look_seconds": _best(board.look),
    }


def _metrics(root: Path) -> dict[str, float]:
    run = RunStore(root).create(SPEC, {}, {}, {})
    tags = ["episode/return", *(f"train/value_{number}" for number in range(19))]
    with run.metrics_path.open("wb") as file:
        for step in range(POINTS // len(tags)):
            file.write(b"".join(Record.of(tag, step, 1.7e9, step / 7).line() for tag in tags))
    path, name = run.metrics_path, str(run.path)
    one = [sys.executable, "-m", "srb_train", "run", "metrics", name]
    commands = {"all": one, "one": [*one, tags[0], "--last-n", "20"]}
    seconds = clock.medians(clock.in_turn(commands, 5))
    return {
        "points": POINTS,
        "read_all_seconds": _best(lambda: series.read(path)),
        "read_one_of_20_tags_seconds": _best(lambda: series.read(path, tags=[tags[0]])),
        "command_overview_seconds": seconds["all"],
        "command_one_tag_seconds": seconds["one"],
    }


def _best(call: object, times: int = 5) -> float:
    """Return the seconds of the quickest call."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return min(taken)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
