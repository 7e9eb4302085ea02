"""Disks that are full or refuse: how to tell, and how much room is left."""

import errno
import os
import shutil
from pathlib import Path

_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_FULL_BYTES = 64 * 1024
"""Free bytes below which a disk counts as full."""


def free_bytes(path: Path) -> int:
    """Return the room on the disk where `path` lies, or would lie once it is made."""
    existing = next(up for up in (path, *path.absolute().parents) if up.exists())
    return shutil.disk_usage(existing).free


def is_trouble(error: BaseException, path: Path) -> bool:
    """Tell whether writing to `path` failed because of the disk, not of the program.

    Torch's writer answers a full disk with a `RuntimeError`, at times without a cause.
    """
    if isinstance(error, OSError):
        return True
    cause = error.__context__
    refused = isinstance(cause, OSError) and cause.errno in _REFUSALS
    return refused or free_bytes(path) < _FULL_BYTES


def reason(error: BaseException) -> str:
    """Return what the system said, in its own words; a silent failure is a full disk."""
    cause = error if isinstance(error, OSError) else error.__context__
    said = cause.strerror if isinstance(cause, OSError) else None
    return said or os.strerror(errno.ENOSPC)
