"""Records: metrics written a second, and how long it takes to list ten thousand runs."""

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import clock
from srb_train.runs import record
from srb_train.runs.metrics import MetricsWriter
from srb_train.spec import RunSpec

RUNS = 10_000


def measure() -> dict[str, object]:
    """Return rates and seconds."""
    return {"metrics_a_second": _metrics(), "list": _listing()}


def _metrics() -> float:
    values = {f"train/value_{number}": float(number) for number in range(20)}
    with tempfile.TemporaryDirectory() as scratch:
        writer = MetricsWriter(Path(scratch) / "metrics.jsonl")
        step = iter(range(10**9))
        rate = clock.rate(lambda: writer.write(next(step), values), len(values))
        writer.close()
    return rate


def _listing() -> dict[str, float]:
    spec = RunSpec(
        algo="sb3_ppo", env="landing", steps=1, num_envs=1, seed=0, checkpoint_every=1, log_every=1
    )
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(RUNS):
            folder = Path(scratch) / "landing" / "sb3_ppo" / f"20260101T000000Z-{number:05}"
            folder.mkdir(parents=True)
            facts = {"run_id": str(folder), "sequence": number, "status": "completed"}
            (folder / "run.json").write_text(json.dumps(record.new(spec, facts)), "utf-8")
        command = [sys.executable, "-m", "srb_train", "run", "list", "--logdir", scratch]
        begun = time.perf_counter()
        clock.wall(command)
        cold = time.perf_counter() - begun
        warm = clock.medians(clock.in_turn({"list": command}, 5))["list"]
    return {"runs": RUNS, "first_seconds": cold, "median_seconds": warm}
