"""One ordinary run of a label by the command line, and what its policy earns afterwards."""

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import clock

SRB = [sys.executable, "-m", "srb_train", "agent"]
EPISODES = 200


@dataclass(frozen=True)
class Case:
    """A task, the settings that are typed for it, and the mean return that is asked for."""

    env: str
    settings: tuple[str, ...] = ()
    goal: float | None = None

    def run(self, algo: str, seed: int) -> dict[str, object]:
        """Train and evaluate once; returns what was reached and how long training took."""
        with tempfile.TemporaryDirectory() as scratch:
            place = ["--algo", algo, "--env", self.env, "--logdir", scratch]
            typed = [*self.settings, f"run.seed={seed}"]
            begun = time.perf_counter()
            clock.wall([*SRB, "train", *place, "--hide_ui", *typed])
            taken = time.perf_counter() - begun
            out = Path(scratch) / "eval.json"
            clock.wall([*SRB, "eval", *place, "--episodes", str(EPISODES), "--out", str(out)])
            result = json.loads(out.read_text(encoding="utf-8"))
        keys = ("step", "success_rate", "mean_return", "std_return", "mean_length")
        return {"seed": seed, "wall_seconds": taken, **{key: result[key] for key in keys}}
