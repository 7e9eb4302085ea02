"""What the presets learn: label, task, seeds, budget, and the success of 200 fresh episodes."""

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import clock

SEEDS = range(5)
CASES = {"sb3_ppo on landing": ("sb3_ppo", "landing")}
SRB = [sys.executable, "-m", "srb_train", "agent"]


def measure() -> dict[str, object]:
    """Train every case over all seeds, one after the other."""
    return {"cases": {name: [_one(*case, seed) for seed in SEEDS] for name, case in CASES.items()}}


def _one(algo: str, env: str, seed: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        place = ["--algo", algo, "--env", env, "--logdir", scratch]
        begun = time.perf_counter()
        clock.wall([*SRB, "train", *place, "--hide_ui", f"run.seed={seed}"])
        taken = time.perf_counter() - begun
        out = Path(scratch) / "eval.json"
        clock.wall([*SRB, "eval", *place, "--episodes", "200", "--out", str(out)])
        result = json.loads(out.read_text(encoding="utf-8"))
    keys = ("step", "success_rate", "mean_return", "std_return", "mean_length")
    return {"seed": seed, "wall_seconds": taken, **{key: result[key] for key in keys}}
