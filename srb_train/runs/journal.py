"""A file that only grows, for what must survive the death of the process that writes it."""

import os
from pathlib import Path


class Journal:
    """Appends to a file of one writer: whole, or not at all.

    What was appended is with the operating system when `append` returns, by one system call, so
    that readers of the growing file see it whole and a killed process loses nothing.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        """Open or make the file; with `new` it must not exist yet (`FileExistsError`)."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | (os.O_EXCL if new else 0)
        self._file: int | None = os.open(path, flags, 0o666)

    def append(self, data: bytes) -> None:
        """Append bytes; what the disk refuses is an `OSError` that leaves the file as it was."""
        file, before = self._open(), self._size()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
        except OSError:
            os.ftruncate(file, before)
            raise

    def ends_with(self, tail: bytes) -> bool:
        """Tell whether these are the last bytes of the file."""
        place = self._size() - len(tail)
        return place >= 0 and os.pread(self._open(), len(tail), place) == tail

    def is_empty(self) -> bool:
        """Tell whether nothing was appended yet."""
        return self._size() == 0

    def flush(self) -> None:
        """Force what was appended onto the disk, so that a power cut cannot take it."""
        if self._file is not None:
            os.fsync(self._file)

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        if self._file is None:
            raise ValueError("the file is closed")
        return self._file

    def _size(self) -> int:
        return os.fstat(self._open()).st_size
