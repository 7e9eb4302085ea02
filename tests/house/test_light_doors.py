"""The doors are light: no framework, no NumPy and no Hydra for help, listings and records."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "gymnasium", "hydra", "jax", "numpy", "omegaconf", "PIL", "stable_baselines3", "tensorboard",
    "torch", "yaml",
}  # fmt: skip
PROGRAM = """
import json, sys
from srb_train.cli import main
sys.argv = ["srb", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    code = end.code or 0
else:
    code = 0
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def modules_after(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(words)],
        capture_output=True,
        text=True,
        check=False,
    )
    code, names = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("agent", "train", "--help"),
        ("ls",),
        ("run", "list"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_a_light_command_imports_nothing_heavy(words, tmp_path):
    more = ("--logdir", str(tmp_path)) if words[0] == "run" else ()
    assert modules_after(*words, *more) & HEAVY == set()


def test_a_plan_needs_no_framework():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, srb_train.operations; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {name.split(".")[0] for name in done.stdout.split()} & HEAVY == set()
