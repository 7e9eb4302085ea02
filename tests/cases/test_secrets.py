"""A planted secret is in no file that a run leaves and in nothing that a command says."""

import shutil
import subprocess
from pathlib import Path

from tests.cases.conftest import TOY, runs
from tests.conftest import ROOT

SECRET = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"


def holders(folder: Path) -> list[str]:
    """Return the files that hold the secret."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


def test_s06_a_key_in_the_environment_or_on_the_line_leaks_nowhere(srb, logs):
    task = ("--algo", "toy_cem", "--env", "gymnasium/faults:Chatty-v0", "run.steps=400")
    done = srb("agent", "train", *task, "--logdir", logs, WANDB_API_KEY=SECRET, MY_TOKEN=SECRET)
    assert done.returncode == 0, done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert holders(logs) == []
    for words in (
        ("--wandb-key", SECRET),
        (f"--wandb-key={SECRET}",),
        (f"agent.logger.api_key={SECRET}",),
        (f"+agent.token={SECRET}",),
        ("--kit_args", f"--/app/auth/token={SECRET} --foo"),
        (f"https://bot:{SECRET}@host/path?token={SECRET}",),
    ):
        refused = srb("agent", "train", *TOY, *words, "--logdir", logs)
        assert refused.returncode == 2
        assert SECRET not in refused.stdout + refused.stderr
    assert holders(logs) == []


def test_a_referenced_secret_reaches_the_task_and_no_file(srb, logs):
    task = ("--algo", "toy_cem", "--env", "gymnasium/faults:Secretive-v0", "run.steps=400")
    words = (*task, "env.kwargs.api_key=env:TASK_KEY", "--logdir", logs)
    done = srb("agent", "train", *words, TASK_KEY=SECRET)
    assert done.returncode == 0, done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert holders(logs) == []
    missing = srb("agent", "train", *words)
    assert missing.returncode == 2
    assert "TASK_KEY" in missing.stdout + missing.stderr


def test_s07_a_token_in_the_git_remote_leaks_nowhere(srb, logs, tmp_path):
    clone = tmp_path / "clone"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "srb_train", "configs"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).exists():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    for words in (
        ("init", "-q"),
        ("remote", "add", "origin", f"https://bot:{SECRET}@git.example.org/a/b.git"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all"),
    ):
        subprocess.run(["git", *words], cwd=clone, check=True)
    train = clone / "configs" / "train.yaml"
    train.write_text(f"{train.read_text()}# {SECRET}\n")
    done = srb(
        "agent", "train", *TOY, "run.steps=400", "--logdir", logs, PYTHONPATH=str(clone),
        check=True,
    )  # fmt: skip
    record = runs(logs)[0].record()
    assert record["srb_dirty"] is True
    assert len(record["srb_commit"]) == 40
    assert SECRET not in done.stdout + done.stderr
    assert holders(logs) == []
