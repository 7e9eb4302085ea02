"""Files that matter appear whole, keep the old content on any failure, and are read strictly."""

import hashlib
import json
import math
import os
import stat
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.errors import IntegrityError, UsageError
from srb_train.runs import files

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(data=PLAIN)
def test_what_is_written_is_read_back_the_same(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("files") / "data.json"
    files.write_json(path, data, durable=False)
    assert files.read_json(path) == data


def test_json_is_sorted_indented_and_ends_with_a_newline(tmp_path):
    files.write_json(tmp_path / "f.json", {"b": 1, "a": ["é"]})
    assert (tmp_path / "f.json").read_text("utf-8") == ('{\n  "a": [\n    "é"\n  ],\n  "b": 1\n}\n')


def test_a_new_file_has_the_mode_of_any_new_file_and_a_replaced_one_keeps_its_own(tmp_path):
    path = tmp_path / "f.txt"
    before = os.umask(0o027)
    try:
        files.write_text(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        files.write_text(path, "again")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_refused_by_its_place_and_the_old_file_stands(tmp_path, number):
    path = tmp_path / "spec.json"
    files.write_json(path, {"old": True})
    with pytest.raises(UsageError, match=rf"spec\.json cannot hold agent\.sizes\.1={number}"):
        files.write_json(path, {"agent": {"sizes": [1, number]}})
    assert files.read_json(path) == {"old": True}
    assert os.listdir(tmp_path) == ["spec.json"]


def test_an_object_that_json_lacks_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"f\.json cannot hold a=<object"):
        files.write_json(tmp_path / "f.json", {"a": object()})
    endless: list = []
    endless.append(endless)
    with pytest.raises(UsageError, match="cannot hold this"):
        files.write_json(tmp_path / "f.json", endless)
    assert os.listdir(tmp_path) == []


def test_an_argument_that_is_no_unicode_does_not_make_the_file_unreadable(tmp_path):
    files.write_json(tmp_path / "f.json", {"command": [os.fsdecode(b"\xff.zip")]})
    assert json.loads((tmp_path / "f.json").read_bytes()) == {"command": ["?.zip"]}


def test_a_missing_folder_is_an_error_that_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.write_text(tmp_path / "no" / "f.txt", "x")
    assert os.listdir(tmp_path) == []


LIMITED = """
import resource, sys
from pathlib import Path
from srb_train.runs import files
path = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.write_text(path, "x" * 5000)
except OSError as error:
    print(error.strerror)
"""


def test_a_disk_that_refuses_leaves_the_old_file_and_nothing_else(tmp_path, python):
    path = tmp_path / "f.txt"
    path.write_text("old")
    said, _ = python(LIMITED, path).communicate()
    assert said == "File too large\n"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f.txt"]


def test_a_writer_killed_at_any_line_leaves_the_old_or_the_new_file(deaths):
    assert deaths("Replace") > 10


def test_a_reader_never_sees_half_of_a_file_that_is_rewritten_all_the_time(tmp_path):
    path = tmp_path / "f.json"
    files.write_json(path, [0] * 2000, durable=False)
    done = threading.Event()

    def rewrite():
        for number in range(200):
            files.write_json(path, [number] * 2000, durable=False)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    while not done.is_set():
        found = files.read_json(path)
        assert len(found) == 2000 and len(set(found)) == 1
    writer.join()
    assert os.listdir(tmp_path) == ["f.json"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b'{"a": 1', "damaged"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'"\xff"', "damaged"),
        (b"[" * 100_000, "damaged"),
        (b"\0" * 64, "damaged"),
    ],
)
def test_a_damaged_file_is_an_integrity_error_that_names_it(tmp_path, content, reason):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match=reason) as caught:
        files.read_json(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_are_integrity_errors(tmp_path):
    with pytest.raises(IntegrityError, match=r"gone\.json is missing"):
        files.read_json(tmp_path / "gone.json")
    with pytest.raises(IntegrityError, match="cannot be read: Is a directory"):
        files.read_json(tmp_path)


def test_the_digest_is_sha256(tmp_path):
    path = tmp_path / "f.bin"
    path.write_bytes(b"x" * 3_000_000)
    assert files.digest(path) == hashlib.sha256(b"x" * 3_000_000).hexdigest()


def test_a_tree_is_synced_to_its_leaves_and_a_missing_one_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_text("x")
    synced = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))
    )
    files.sync_tree(tmp_path)
    assert synced == [
        str(path)
        for path in (tmp_path / "a" / "b" / "f", tmp_path / "a" / "b", tmp_path / "a", tmp_path)
    ]
    with pytest.raises(FileNotFoundError):
        files.sync_folder(tmp_path / "gone")


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_the_return(
    tmp_path, monkeypatch
):
    told = []
    monkeypatch.setattr(
        os,
        "fsync",
        lambda fd: told.append("folder" if os.path.isdir(f"/proc/self/fd/{fd}") else "file"),
    )
    real = files.Path.replace
    monkeypatch.setattr(files.Path, "replace", lambda a, b: (told.append("name"), real(a, b)))
    files.write_text(tmp_path / "f", "x")
    assert told == ["file", "name", "folder"]


def test_an_abandoned_hidden_file_is_swept_and_a_fresh_one_is_not(tmp_path):
    old, fresh = tmp_path / ".tmp-1-aa", tmp_path / ".tmp-2-bb"
    old.touch()
    fresh.touch()
    then = time.time() - 3600
    os.utime(old, (then, then))
    (tmp_path / "run.json").touch()
    files.sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".tmp-2-bb", "run.json"]


def test_one_process_at_a_time_holds_a_lock_and_death_gives_it_back(tmp_path, python):
    lock = tmp_path / ".lock"
    holder = python(
        "import sys\nfrom pathlib import Path\nfrom srb_train.runs import files\n"
        "with files.exclusive(Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()",
        lock,
    )
    assert holder.stdout.readline() == "held\n"
    got = threading.Event()

    def wait():
        with files.exclusive(lock):
            got.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert not got.wait(0.2)
    holder.kill()
    assert got.wait(20)
    waiter.join()
