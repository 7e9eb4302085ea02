"""Files that matter: they appear whole or not at all, and are read back strictly.

A new content goes into a hidden file of the same folder, is forced onto the disk, and takes the
old one's name in one step, so that a reader, a crash or a full disk only ever meets a whole file.
"""

import errno
import fcntl
import hashlib
import json
import math
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from srb_train.errors import IntegrityError, UsageError

TEMPORARY = ".tmp-"
_DEEPEST = 64
ABANDONED_SECONDS = 60.0
"""Age from which a hidden file of an unfinished write counts as left by a dead process."""


def write_json(path: Path, data: Any, durable: bool = True) -> None:
    """Write strict JSON: sorted keys, indent 2, no NaN; `UsageError` names what it cannot hold."""
    write_text(path, _encode(path, data), durable)


def write_text(path: Path, text: str, durable: bool = True) -> None:
    """Write UTF-8; what UTF-8 cannot hold (a lone surrogate of a strange argument) becomes `?`."""
    write_bytes(path, text.encode("utf-8", "replace"), durable)


def write_bytes(path: Path, data: bytes, durable: bool = True) -> None:
    """Replace a file in one step; on any failure the old one stands and nothing is left over.

    Without `durable` the content is not forced onto the disk: readers still meet whole files,
    only a power cut may take the newest ones.
    """
    hidden = path.parent / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        _fill(hidden, data, path, durable)
        hidden.replace(path)
    finally:
        hidden.unlink(missing_ok=True)
    if durable:
        sync_folder(path.parent)


def _fill(hidden: Path, data: bytes, path: Path, durable: bool) -> None:
    """Write a new file with the mode that `path` has, or that the process gives to new files."""
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        if durable:
            os.fsync(descriptor)


def _encode(path: Path, data: Any) -> str:
    try:
        text = json.dumps(data, sort_keys=True, indent=2, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        culprit = next(_unwritable(data), "")
        raise UsageError(f"{path.name} cannot hold {culprit or 'this'}: {error}") from error
    return text + "\n"


def _unwritable(data: Any, where: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the dotted place and the value of everything that strict JSON has no word for."""
    if isinstance(data, dict | list | tuple):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            place = f"{where}.{key}" if where else str(key)
            yield from _unwritable(value, place, depth + 1) if depth < _DEEPEST else ()
    elif isinstance(data, float) and not math.isfinite(data):
        yield f"{where}={data}"
    elif not isinstance(data, str | int | float | None):
        yield f"{where}={data!r:.60}"


def read_json(path: Path) -> Any:
    """Read strict JSON; anything else is an `IntegrityError` that names the file and the reason."""
    try:
        return _STRICT.decode(path.read_bytes().decode())
    except FileNotFoundError as error:
        raise IntegrityError(f"{path} is missing") from error
    except OSError as error:
        raise IntegrityError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{path} is damaged: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)


def finite(value: Any) -> float | None:
    """Return a number as JSON can hold it: None for NaN and infinities."""
    number = float(value)
    return number if math.isfinite(number) else None


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's content as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_tree(folder: Path) -> None:
    """Force every file and folder under `folder`, and the folder itself, onto the disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync(Path(parent, name))
        sync_folder(Path(parent))


def sync_folder(folder: Path) -> None:
    """Force a folder's list of names onto the disk."""
    try:
        _sync(folder)
    except OSError as error:
        # Some network file systems keep their folders safe themselves and refuse to be asked.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for, and hold, the lock that the hidden file `path` stands for, on all processes."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove what writes of killed processes left in a folder."""
    for leftover in folder.glob(f"{TEMPORARY}*"):
        with suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime > ABANDONED_SECONDS:
                leftover.unlink()
