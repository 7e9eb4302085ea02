"""Overhead: the whole command `srb agent train` against a direct Stable-Baselines3 script.

Both train the same algorithm on the same batch of landings with the same sizes, seed and threads,
and both write TensorBoard scalars and a final model.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import clock

RUNS = 3
CASES = {"sb3_ppo": ("run.steps=500000",), "sb3_sac": ("run.steps=20000", "env.num_envs=16")}


def measure() -> dict[str, object]:
    """Return seconds of both sides and the ratio of the medians, for each case."""
    return {"runs": RUNS, "cases": {algo: _case(algo, more) for algo, more in CASES.items()}}


def _case(algo: str, overrides: tuple[str, ...]) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        srb = _srb(algo, overrides, scratch)
        spec = Path(scratch) / "spec.json"
        clock.wall([*srb, "run.seed=0"])
        spec.write_bytes(next(Path(scratch).rglob("spec.json")).read_bytes())
        direct = [sys.executable, "-m", "benchmarks.direct_sb3", str(spec), scratch]
        seconds = clock.in_turn({"srb": [*srb, "run.seed=0"], "direct": direct}, RUNS)
        steps = json.loads(spec.read_text(encoding="utf-8"))["steps"]
    middle = clock.medians(seconds)
    pairs = [a / b for a, b in zip(seconds["srb"], seconds["direct"], strict=True)]
    return {
        "steps": steps,
        "seconds": seconds,
        "medians": middle,
        "ratio": middle["srb"] / middle["direct"],
        "ratio_of_pairs": statistics.median(pairs),
    }


def _srb(algo: str, overrides: tuple[str, ...], logs: str) -> list[str]:
    words = ["agent", "train", "--algo", algo, "--env", "landing", "--logdir", logs, "--hide_ui"]
    return [sys.executable, "-m", "srb_train", *words, *overrides]
