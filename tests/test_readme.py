"""README.md is true: its commands work, and its table of labels is what the plates say."""

import re
import shlex
import subprocess
import sys

import pytest

from srb_train.cli.readme import label_table
from tests.conftest import ROOT, environment

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^    (srb (?:.|\\\n)*?)(?:\s{2,}#.*)?$", re.MULTILINE)
TINY = ["run.steps=512", "env.num_envs=4", "run.seed=1"]
TINY_FOR = {
    "sb3_ppo": ["agent.n_steps=64", "agent.batch_size=128"],
    "sb3_sac": ["agent.learning_starts=100"],
}


def commands() -> list[list[str]]:
    return [shlex.split(found.replace("\\\n", " ")) for found in COMMAND.findall(README)]


def test_the_label_table_is_what_the_plates_say():
    block = re.search(r"<!-- labels[^\n]*-->\n(.*?)<!-- /labels -->", README, re.DOTALL)
    assert block
    assert block[1].strip() == label_table().strip()


def call(words: list[str], folder) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with one tiny run in it, made by the README's first command."""
    folder = tmp_path_factory.mktemp("reader")
    first = ["srb_train", *commands()[0][1:], *TINY, *TINY_FOR["sb3_ppo"], "--logdir", "logs"]
    done = call(first, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("words", commands()[1:], ids=" ".join)
def test_a_command_of_the_readme_works(words, trained):
    (run,) = (trained / "logs" / "landing" / "sb3_ppo").iterdir()
    step = max((run / "ckpt").iterdir(), key=lambda path: int(path.name)).name
    line = [w.replace("20261130T101502Z", run.name).replace("<run>", run.name) for w in words]
    line = [word.replace("<step>", step) for word in line]
    if line[1:3] in (["agent", "train"], ["run", "start"]):
        line += ["--dry-run"]
    if line[1:3] == ["agent", "eval"]:
        line += ["--episodes", "2"]
    if line[1] in ("agent", "run"):
        line += ["--logdir", "logs"] if line[2] not in ("rand", "zero") else ["--episodes", "2"]
    done = call(["srb_train", *line[1:]], trained)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
