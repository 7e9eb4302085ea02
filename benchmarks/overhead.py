"""Overhead: the whole command `srb agent train` against a direct script over the same framework.

Both train the same algorithm on the same batch of landings with the same networks, sizes, seed and
threads; the script is the loop that someone would write with the framework alone, see
`direct_<family>.py`. In some cases the script runs a second time with the command's fused Adam, to
tell what of a ratio is the optimizer's. A round is one run of each, one after the other; wall time
of the whole command and processor time of all its processes count. `python -m benchmarks overhead
--only sbx` measures one family.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import clock
from srb_train import registry


@dataclass(frozen=True)
class Case:
    """A label, the settings that both sides get, and how often both run."""

    algo: str
    settings: tuple[str, ...]
    rounds: int
    fused: bool = False
    """Whether a script with the command's fused Adam runs as well."""

    @property
    def family(self) -> str:
        """Name of the framework's room."""
        return registry.family_of(self.algo)[0].name


CASES: Mapping[str, Case] = {
    "sb3_ppo, 512 copies": Case("sb3_ppo", ("run.steps=500000",), 7, fused=True),
    "sb3_ppo, 16 copies": Case("sb3_ppo", ("run.steps=500000", "env.num_envs=16"), 1, fused=True),
    "sb3_sac, 16 copies": Case("sb3_sac", ("run.steps=20000", "env.num_envs=16"), 3, fused=True),
    "sb3_sac, 1 copy": Case("sb3_sac", ("run.steps=3000", "env.num_envs=1"), 3, fused=True),
    "sbx_ppo, 512 copies": Case("sbx_ppo", ("run.steps=1000000",), 4),
    "sbx_sac, 16 copies": Case("sbx_sac", ("run.steps=20000", "env.num_envs=16"), 3),
    "sbx_sac, 1 copy": Case("sbx_sac", ("run.steps=3000", "env.num_envs=1"), 3),
    "skrl_ppo, 512 copies": Case("skrl_ppo", ("run.steps=500000",), 4),
    "skrl_sac, 16 copies": Case("skrl_sac", ("run.steps=20000", "env.num_envs=16"), 3),
    "skrl_sac, 1 copy": Case("skrl_sac", ("run.steps=1500", "env.num_envs=1"), 3),
    "rsl_rl_ppo, 512 copies": Case("rsl_rl_ppo", ("run.steps=500000",), 4),
}


def measure(only: tuple[str, ...] = ()) -> dict[str, object]:
    """Return seconds of all sides and the ratios of their medians, for each case.

    `only` names families, labels or cases.
    """
    wanted = {
        name: case
        for name, case in CASES.items()
        if not only or {name, case.algo, case.family} & set(only)
    }
    return {"cases": {name: _measured(case) for name, case in wanted.items()}}


def _measured(case: Case) -> dict[str, object]:
    scripts = {"direct": ()} | ({"direct, fused Adam": ("fused",)} if case.fused else {})
    with tempfile.TemporaryDirectory() as scratch:
        srb = _srb(case.algo, (*case.settings, "run.seed=0"), scratch)
        spec = Path(scratch) / "spec.json"
        direct = [sys.executable, "-m", f"benchmarks.direct_{case.family}", str(spec), scratch]
        rows: list[dict[str, tuple[float, float]]] = []
        for _ in range(case.rounds):
            ours = clock.cost(srb)
            written = next(Path(scratch).rglob("run.json")).with_name(spec.name)
            spec.write_bytes(written.read_bytes())
            others = {name: clock.cost([*direct, *words]) for name, words in scripts.items()}
            rows.append({"srb": ours, **others})
        steps = json.loads(spec.read_text(encoding="utf-8"))["steps"]
    print(case.algo, case.settings, rows, flush=True)
    return {
        "steps": steps,
        "rounds": rows,
        "wall_ratio": {name: _ratio(rows, name, 0) for name in scripts},
        "cpu_ratio": {name: _ratio(rows, name, 1) for name in scripts},
    }


def _ratio(rows: list[dict[str, tuple[float, float]]], script: str, part: int) -> float:
    ours, theirs = (statistics.median(row[who][part] for row in rows) for who in ("srb", script))
    return ours / theirs


def _srb(algo: str, overrides: tuple[str, ...], logs: str) -> list[str]:
    words = ["agent", "train", "--algo", algo, "--env", "landing", "--logdir", logs, "--hide_ui"]
    return [sys.executable, "-m", "srb_train", *words, *overrides]
