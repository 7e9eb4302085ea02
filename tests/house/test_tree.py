"""The trees in README.md and AGENTS.md are the tree of the repository."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^(?P<indent>(?:│   |    )*)(?:├── |└── )(?P<name>\S+)")


def tracked() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(listed.stdout.splitlines())


def shown(document: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    block = re.search(r"```\n\.\n(.*?)```", text, re.DOTALL)
    assert block, f"{document} has no tree"
    paths, stack = [], []
    for line in block[1].splitlines():
        entry = ENTRY.match(line)
        if not entry:
            continue
        depth = len(entry["indent"]) // 4
        stack[depth:] = [entry["name"].rstrip("/")]
        paths.append("/".join(stack) + ("/" if entry["name"].endswith("/") else ""))
    return paths


@pytest.mark.parametrize("document", ["README.md"])
def test_everything_in_the_tree_is_there(document):
    files = tracked()
    folders = {"/".join(f.split("/")[:n]) + "/" for f in files for n in range(1, f.count("/") + 1)}
    assert [path for path in shown(document) if path not in files | folders] == []


@pytest.mark.parametrize("document", ["README.md"])
def test_every_module_of_the_package_is_in_the_tree(document):
    in_tree = set(shown(document))
    top = {
        path
        for path in tracked()
        if path.startswith("srb_train/") and path.count("/") == 1 and path.endswith(".py")
    }
    runs = {p for p in tracked() if p.startswith("srb_train/runs/") and not p.endswith("_.py")}
    rooms = {
        "/".join(path.split("/")[:3]) + "/"
        for path in tracked()
        if path.startswith(("srb_train/algos/", "srb_train/envs/")) and path.count("/") > 2
    }
    assert sorted((top | runs | rooms) - in_tree) == []
