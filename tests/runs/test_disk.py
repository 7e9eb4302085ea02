"""A disk that refuses is told from a program that is wrong, whatever the writer made of it."""

import errno
from pathlib import Path

from srb_train.runs import disk


def while_handling(first: OSError, second: RuntimeError) -> RuntimeError:
    """Return the second error as it is when it was raised while the first was handled."""
    second.__context__ = first
    return second


def test_the_room_is_that_of_the_nearest_folder_that_exists(tmp_path):
    assert disk.free_bytes(tmp_path / "a" / "b") > 0
    assert disk.free_bytes(Path("relative")) > 0


def test_every_os_error_is_the_disks_and_is_told_in_its_own_words(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    assert disk.is_trouble(full, tmp_path)
    assert disk.reason(full) == "No space left on device"


def test_a_runtime_error_over_a_full_disk_is_the_disks(tmp_path):
    full = OSError(errno.EDQUOT, "Disk quota exceeded")
    error = while_handling(full, RuntimeError("unexpected pos 576 vs 534"))
    assert disk.is_trouble(error, tmp_path)
    assert disk.reason(error) == "Disk quota exceeded"


def test_a_runtime_error_without_a_cause_is_the_disks_only_when_no_room_is_left(
    tmp_path, monkeypatch
):
    error = RuntimeError("unexpected pos 576 vs 534")
    assert not disk.is_trouble(error, tmp_path)
    monkeypatch.setattr(disk, "free_bytes", lambda path: 0)
    assert disk.is_trouble(error, tmp_path)
    assert disk.reason(error) == "No space left on device"


def test_a_missing_file_behind_a_runtime_error_is_the_programs(tmp_path):
    gone = FileNotFoundError(errno.ENOENT, "No such file or directory")
    assert not disk.is_trouble(while_handling(gone, RuntimeError("x")), tmp_path)
