"""train.log: what the worker printed, bounded so that a chatty task cannot fill the disk."""

import threading
from pathlib import Path
from typing import Self

HEAD_BYTES = 8 * 2**20
TAIL_BYTES = 8 * 2**20


class BoundedLog:
    """A text file that keeps its beginning and its end.

    The first `head` bytes stay in train.log for ever. What follows goes on in the same file up
    to `tail` bytes more; then the file is cut back to its head, the newest half of the tail and
    a line that says how much was dropped.
    """

    def __init__(self, path: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        """Append to `path`, making it if it is not there."""
        self._path = path
        self._head = head
        self._tail = tail
        self._file = path.open("ab", buffering=0)
        self._size = self._file.tell()
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Append one line, from any thread; a full disk drops it and training goes on."""
        data = text.encode("utf-8", "replace") + b"\n"
        with self._lock:
            try:
                self._size += self._file.write(data)
            except OSError:
                return
            if self._size > self._head + self._tail:
                self._cut()

    def _cut(self) -> None:
        with self._path.open("r+b") as file:
            file.seek(self._head)
            head_end = self._head + len(file.readline())
            file.seek(self._size - self._tail // 2)
            file.readline()
            kept = file.read()
            dropped = self._size - head_end - len(kept)
            file.seek(head_end)
            file.write(f"[… {dropped:,} bytes of this log were dropped here …]\n".encode())
            file.write(kept)
            file.truncate()
            self._size = file.tell()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the file."""
        self._file.close()
