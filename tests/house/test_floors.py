"""Imports go down: the floors are contracts of import-linter and hold."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_floors_hold():
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_frameworks_are_imported_beside_a_machine_only():
    heavy = {"torch", "stable_baselines3", "sb3_contrib", "jax", "mujoco", "skrl", "rsl_rl"}
    found = []
    for path in (ROOT / "srb_train").rglob("*.py"):
        beside_machine = (path.parent / "machine.py").exists()
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            imports = words[:1] in (["import"], ["from"]) and words[1].split(".")[0] in heavy
            if imports and not beside_machine:
                found.append(f"{path}: {line}")
    assert found == []
