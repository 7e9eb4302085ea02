"""Start-up: how long the light commands take, and how long until the first environment step."""

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import clock

RUNS = 7
SRB = [sys.executable, "-m", "srb_train"]
FRAMEWORK = "import stable_baselines3, sb3_contrib, gymnasium"


def measure() -> dict[str, object]:
    """Return medians in seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        light = clock.medians(
            clock.in_turn(
                {
                    "python -c pass": [sys.executable, "-c", "pass"],
                    "srb --help": [*SRB, "--help"],
                    "srb run list": [*SRB, "run", "list", "--logdir", scratch],
                    "srb agent train --help": [*SRB, "agent", "train", "--help"],
                    "srb agent train --dry-run": [*train(scratch), "--dry-run"],
                },
                RUNS,
            )
        )
        imports, first = [], []
        for number in range(RUNS):
            imports.append(clock.wall([sys.executable, "-c", FRAMEWORK]))
            first.append(_first_step(Path(scratch) / str(number)))
    both = clock.medians({"import": imports, "first_step": first})
    return {
        "runs": RUNS,
        "light_seconds": light,
        "framework_import_seconds": both["import"],
        "first_step_seconds": both["first_step"],
        "first_step_ratio": both["first_step"] / both["import"],
    }


def train(logs: str | Path) -> list[str]:
    """Return a short training command."""
    words = ["agent", "train", "--algo", "sb3_ppo", "--env", "landing", "--logdir", str(logs)]
    return [*SRB, *words, "--hide_ui", "run.steps=16384", "run.seed=0"]


def _first_step(logs: Path) -> float:
    """Return the seconds from Enter to the end of the first environment step.

    The worker's `--perf` report holds the wall time at which its first step ended.
    """
    begun = time.time()
    clock.wall([*train(logs), "--perf"])
    report = next(logs.rglob("perf.json"))
    return float(json.loads(report.read_text(encoding="utf-8"))["first_step_at"]) - begun
