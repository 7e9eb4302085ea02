"""Overhead: the whole command `srb agent train` against a direct Stable-Baselines3 script.

Both train the same algorithm on the same batch of landings with the same sizes, seed and threads,
and both write TensorBoard scalars and a final model. A pair is one run of each, one after the
other; both the wall time of the whole command and the processor time of all its processes count.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import clock

CASES = {
    "sb3_ppo, 512 copies": ("sb3_ppo", ("run.steps=500000",), 3),
    "sb3_ppo, 16 copies": ("sb3_ppo", ("run.steps=500000", "env.num_envs=16"), 2),
    "sb3_sac, 16 copies": ("sb3_sac", ("run.steps=20000", "env.num_envs=16"), 2),
}
"""Name -> label, settings, pairs."""


def measure() -> dict[str, object]:
    """Return seconds of both sides and the medians of their ratios, for each case."""
    return {"cases": {name: _case(*case) for name, case in CASES.items()}}


def _case(algo: str, overrides: tuple[str, ...], pairs: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        srb = _srb(algo, (*overrides, "run.seed=0"), scratch)
        spec = Path(scratch) / "spec.json"
        direct = [sys.executable, "-m", "benchmarks.direct_sb3", str(spec), scratch]
        rows = []
        for _ in range(pairs):
            ours = clock.cost(srb)
            spec.write_bytes(
                next(Path(scratch).rglob("run.json")).with_name(spec.name).read_bytes()
            )
            rows.append({"srb": ours, "direct": clock.cost(direct)})
        steps = json.loads(spec.read_text(encoding="utf-8"))["steps"]
    return {
        "steps": steps,
        "pairs": rows,
        "wall_ratio": _ratio(rows, 0),
        "cpu_ratio": _ratio(rows, 1),
    }


def _ratio(rows: list[dict[str, tuple[float, float]]], part: int) -> float:
    return statistics.median(row["srb"][part] / row["direct"][part] for row in rows)


def _srb(algo: str, overrides: tuple[str, ...], logs: str) -> list[str]:
    words = ["agent", "train", "--algo", algo, "--env", "landing", "--logdir", logs, "--hide_ui"]
    return [sys.executable, "-m", "srb_train", *words, *overrides]
