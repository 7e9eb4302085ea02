"""Kills a writer before each of its lines in turn: `python crash.py STORY FOLDER`.

A story prepares a folder, changes it, and checks what a reader finds afterwards. The change runs
in a fork that is killed with SIGKILL before the n-th line of our code, for n = 1, 2, 3, … until it
comes through alive. The number of deaths is printed.
"""

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from srb_train.runs import files, heartbeat, layout
from srb_train.runs.checkpoint import Checkpoints
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec

SPEC = RunSpec(
    algo="sb3_ppo",
    env="landing",
    steps=1000,
    num_envs=2,
    seed=0,
    checkpoint_every=100,
    log_every=10,
)


class Replace:
    """A file is replaced: readers find the old or the new one, whole."""

    def prepare(self, folder: Path) -> None:
        files.write_json(folder / "f.json", ["old"])

    def change(self, folder: Path) -> None:
        files.write_json(folder / "f.json", ["new"] * 1000)

    def check(self, folder: Path) -> None:
        assert files.read_json(folder / "f.json") in (["old"], ["new"] * 1000)


class Create:
    """A run is created: readers find none, or a complete one."""

    def prepare(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)

    def change(self, folder: Path) -> None:
        RunStore(folder).create(SPEC, {}, {"long": "record"}, {"agent": "gamma: 0.9"})

    def check(self, folder: Path) -> None:
        store = RunStore(folder)
        for run in store.all():
            assert run.spec() == SPEC
            assert run.record()["status"] == "reserved"
            assert files.read_json(run.path / layout.METADATA) == {"long": "record"}
            assert (run.path / layout.PARAMS / "agent.yaml").read_text() == "gamma: 0.9\n"
        assert store.warnings == []


class Update:
    """A record is updated: it is the old or the new one, and the next writer is not locked out."""

    def prepare(self, folder: Path) -> None:
        RunStore(folder).create(SPEC, {}, {}, {}).path.rename(folder / "run")

    def change(self, folder: Path) -> None:
        Run(folder / "run").update(step=700, status="running")

    def check(self, folder: Path) -> None:
        run = Run(folder / "run")
        record = run.record()
        assert (record["step"], record["status"]) in ((0, "reserved"), (700, "running"))
        assert run.update(exit_code=3)["exit_code"] == 3


class Beat:
    """A heartbeat is renewed: it is the old or the new one."""

    def prepare(self, folder: Path) -> None:
        files.write_json(folder / "heartbeat.json", {"step": 1})

    def change(self, folder: Path) -> None:
        pulse = heartbeat.Heartbeat(folder / "heartbeat.json")
        pulse.update(2, values={"episode/return": 1.0})
        pulse.beat()

    def check(self, folder: Path) -> None:
        found = heartbeat.read(folder / "heartbeat.json")
        assert found is not None and found["step"] in (1, 2)


def weights(word: str) -> Callable[[Path], None]:
    """Return what writes two files that hold a word."""

    def write(folder: Path) -> None:
        (folder / "inner").mkdir()
        (folder / "model.bin").write_text(word)
        (folder / "inner" / "extra.bin").write_text(word)

    return write


class Commit:
    """A checkpoint is committed and an old one dropped: the newest is always whole."""

    def prepare(self, folder: Path) -> None:
        for step in (900, 1000):
            Checkpoints(folder, keep=2).commit(step, weights(str(step)), {})

    def change(self, folder: Path) -> None:
        Checkpoints(folder, keep=2).commit(1100, weights("1100"), {})

    def check(self, folder: Path) -> None:
        checkpoints = Checkpoints(folder, keep=2)
        newest = checkpoints.latest()
        assert newest is not None and newest.step in (1000, 1100)
        assert (newest.open() / "model.bin").read_text() == str(newest.step)
        assert checkpoints.warnings == []
        checkpoints.commit(1200, weights("1200"), {})
        assert sorted(path.name for path in folder.iterdir()) in (
            ["1000", "1200"],
            ["1100", "1200"],
        )


class Again:
    """A step is committed again: at every moment the old or the new one is valid."""

    def prepare(self, folder: Path) -> None:
        Checkpoints(folder).commit(1000, weights("old"), {})

    def change(self, folder: Path) -> None:
        Checkpoints(folder).commit(1000, weights("new"), {})

    def check(self, folder: Path) -> None:
        checkpoints = Checkpoints(folder)
        newest = checkpoints.latest()
        assert newest is not None and newest.step == 1000
        assert (newest.open() / "model.bin").read_text() in ("old", "new")
        assert [found.step for found in checkpoints.all()] == [1000]
        assert checkpoints.at(1000).path == newest.path
        checkpoints.commit(1001, weights("1001"), {})
        assert sorted(path.name for path in folder.iterdir()) == ["1000", "1001"]


STORIES = {story.__name__: story for story in (Replace, Create, Update, Beat, Commit, Again)}


TRACED = (os.path.dirname(files.__file__), shutil.__file__)


def die_at(number: int) -> None:
    """Kill this process before its `number`-th new line of the runs package or of `shutil`.

    A line is new once for each way that led to it, so that every write has its deaths and the
    rounds of a loop have them together.
    """
    seen: set[tuple[object, ...]] = set()

    def trace(frame: FrameType, event: str, argument: object) -> object:
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        if event == "line":
            seen.add(tuple((up.f_code, up.f_lineno) for up in lineage(frame)))
            if len(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def lineage(frame: FrameType) -> Iterator[FrameType]:
    """Yield a frame and whatever called it."""
    up: FrameType | None = frame
    while up is not None:
        yield up
        up = up.f_back


def main(name: str, place: str) -> None:
    """Tell one story with every possible death."""
    story = STORIES[name]()
    # What a killed process has handed to the system stays; only a power cut asks for more.
    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    for number in itertools.count(1):
        folder = Path(place)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        story.prepare(folder)
        child = os.fork()
        if child == 0:
            die_at(number)
            story.change(folder)
            sys.settrace(None)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        story.check(folder)
        if status == 0:
            print(number - 1)
            return
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


if __name__ == "__main__":
    main(*sys.argv[1:])
