"""A log root with a config root beside it, and a server that answers within this process."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

from srb_train import operations
from srb_train.operations.reach import Reach
from srb_train.runs import status
from srb_train.runs.store import Run

# Without the SDK there is no server to test; what `srb mcp` says then is tested elsewhere.
collect_ignore_glob = [] if find_spec("mcp") else ["test_*.py"]


@pytest.fixture
def reach(tmp_path) -> Reach:
    """Open roots; whatever still trains below the log root at the end of the test is killed.

    Made-up runs name this very process, which is left alone.
    """
    for name in ("logs", "trainings"):
        (tmp_path / name).mkdir()
    yield Reach.of(tmp_path / "logs", [tmp_path / "trainings"])
    for row in operations.list_runs(tmp_path / "logs")["runs"]:
        record = Run(Path(row["path"])).record()
        known = ("supervisor_pid", "supervisor_started"), ("pid", "process_started")
        for pid, started in known:
            ours = record[pid] in (os.getpid(), os.getppid())
            if not ours and status.is_alive(record[pid], record[started], record["boot_id"]):
                os.kill(record[pid], signal.SIGKILL)
