"""Folders of runs: reserved exactly once, named in UTC, and found without being led astray."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.errors import UsageError
from srb_train.runs import layout

NOW = datetime(2026, 11, 30, 10, 15, 2, 345_678, tzinfo=UTC)


def test_a_run_lies_below_its_task_and_label_under_a_utc_stamp(tmp_path):
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    path = layout.reserve(tmp_path, "landing", "sb3_ppo", tokyo)
    assert path == tmp_path / "landing" / "sb3_ppo" / "20261130T101502Z"
    assert path.is_dir()


def test_the_parts_of_a_task_name_are_folders_in_folders(tmp_path):
    path = layout.reserve(tmp_path, "gymnasium/ALE/Pong-v5", "sb3_ppo", NOW)
    assert path.parent == tmp_path / "gymnasium" / "ALE" / "Pong-v5" / "sb3_ppo"


def test_runs_of_one_second_are_numbered(tmp_path):
    names = [layout.reserve(tmp_path, "landing", "x", NOW).name for _ in range(4)]
    stamp = "20261130T101502Z"
    assert names == [stamp, f"{stamp}-001", f"{stamp}-002", f"{stamp}-003"]


RESERVE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from srb_train.runs import layout
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    print(layout.reserve(Path(sys.argv[1]), "landing", "x", datetime(2026, 1, 1, tzinfo=UTC)).name)
"""


def test_five_processes_that_reserve_in_one_second_get_a_hundred_different_folders(
    tmp_path, python
):
    children = [python(RESERVE, tmp_path) for _ in range(5)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    names = [name for child in children for name in child.communicate()[0].split()]
    stamp = "20260101T000000Z"
    assert sorted(names) == [stamp, *(f"{stamp}-{number:03}" for number in range(1, 100))]


def test_the_thousand_and_first_run_of_a_second_is_refused(tmp_path):
    folder = layout.group(tmp_path, "landing", "x")
    folder.mkdir(parents=True)
    for number in range(1000):
        (folder / f"20261130T101502Z{f'-{number:03}' if number else ''}").mkdir()
    with pytest.raises(UsageError, match="1000 runs of the second"):
        layout.reserve(tmp_path, "landing", "x", NOW)


def test_a_root_that_cannot_be_written_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file.*Not a directory.*--logdir"):
        layout.reserve(tmp_path / "file", "landing", "x")


def test_a_root_without_permission_is_named(tmp_path, python):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    tmp_path.chmod(0o755)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom srb_train.errors import UsageError\n"
        "from srb_train.runs import layout\n"
        "os.chdir(sys.argv[1])\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "try: layout.reserve(Path('locked'), 'landing', 'x')\n"
        "except UsageError as error: print(error)"
    )
    said, _ = python(code, tmp_path).communicate()
    assert "no run can be made in" in said and "Permission denied" in said


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "a/../b",
        "/etc",
        "a//b",
        "a/",
        ".hidden",
        "a\0b",
        "a\nb",
        "x" * 201,
        "\udcff",
        "a/.",
    ],
)
def test_a_hostile_name_is_refused_before_anything_is_made(tmp_path, name):
    for env, label in ((name, "x"), ("landing", name)):
        with pytest.raises(UsageError, match="cannot name a folder"):
            layout.reserve(tmp_path, env, label)
    assert os.listdir(tmp_path) == []


@given(env=st.text(max_size=30), label=st.text(max_size=30))
def test_whatever_the_names_a_run_lies_below_the_root_or_is_refused(tmp_path_factory, env, label):
    root = tmp_path_factory.mktemp("root") / "logs"
    try:
        path = layout.reserve(root, env, label, NOW)
    except UsageError:
        assert not root.exists()
    else:
        assert path.resolve().is_relative_to(root.resolve())
        (path / layout.RUN).touch()
        assert list(layout.find_run_folders(root)) == [path]


def test_a_run_cannot_hold_other_runs(tmp_path):
    outer = layout.reserve(tmp_path, "landing", "x", NOW)
    (outer / layout.RUN).touch()
    with pytest.raises(UsageError, match="a run cannot hold other runs"):
        layout.reserve(tmp_path, f"landing/x/{outer.name}", "y")


def test_the_walk_passes_strangers_links_files_and_the_inside_of_runs(tmp_path):
    run = layout.reserve(tmp_path, "landing", "x", NOW)
    (run / layout.RUN).touch()
    (run / "eval" / "copy").mkdir(parents=True)
    (run / "eval" / "copy" / layout.RUN).touch()
    layout.reserve(tmp_path, "landing", "x", NOW)
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / layout.RUN).touch()
    (tmp_path / "odd" / layout.RUN).mkdir(parents=True)
    (tmp_path / "landing" / "loop").symlink_to(tmp_path)
    (tmp_path / "landing" / "x" / "latest").symlink_to(run)
    deep = tmp_path.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / layout.RUN).touch()
    assert list(layout.find_run_folders(tmp_path)) == [run]


def test_a_root_that_is_not_there_holds_nothing(tmp_path):
    assert list(layout.find_run_folders(tmp_path / "none")) == []


def test_an_unreadable_folder_does_not_hide_the_others(tmp_path, python):
    for name in ("a", "b"):
        (layout.reserve(tmp_path, name, "x", NOW) / layout.RUN).touch()
    (tmp_path / "a").chmod(0)
    tmp_path.chmod(0o755)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom srb_train.runs import layout\n"
        "os.chdir(sys.argv[1])\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "print([path.parts[-3] for path in layout.find_run_folders(Path('.'))])"
    )
    said, _ = python(code, tmp_path).communicate()
    (tmp_path / "a").chmod(0o755)
    assert said == "['b']\n"


def test_timestamps_are_utc_with_milliseconds_and_sort_as_text():
    assert layout.timestamp(NOW) == "2026-11-30T10:15:02.345+00:00"
    later = (NOW + timedelta(milliseconds=1)).astimezone(timezone(timedelta(hours=-8)))
    assert layout.timestamp(later) > layout.timestamp(NOW)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", layout.timestamp())


@pytest.mark.parametrize("git", ["folder", "file", None])
def test_logs_lie_in_the_checkout_or_where_one_stands(tmp_path, git):
    package = tmp_path / "somewhere" / "srb_train"
    (package / "runs").mkdir(parents=True)
    real = Path(layout.__file__)
    for name in ("__init__.py", "errors.py", "runs/__init__.py", "runs/layout.py"):
        (package / name).write_bytes((real.parents[1] / name).read_bytes())
    if git == "folder":
        (package.parent / ".git").mkdir()
    elif git == "file":
        (package.parent / ".git").write_text("gitdir: elsewhere")
    code = "from srb_train.runs import layout; print(layout.default_root())"
    said = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert Path(said.strip()) == (package.parent if git else tmp_path) / "logs"
