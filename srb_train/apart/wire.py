"""What the two sides say to each other: one byte, and a message behind it where there is more.

A message is plain data as JSON and arrays as their bytes; nothing that is read is ever executed.
"""

import json
import math
import socket
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

RESET, STEP, STATE, RESTORE, RENDER, CLOSE, MAKE = b"r", b"s", b"g", b"l", b"p", b"c", b"m"
"""What the parent asks for."""
DONE, TOLD, FAILED = b".", b"t", b"!"
"""What the child answers: all is in the shared arrays; a message follows; it cannot be done."""
GONE = b""
"""What is read when the other side has ended."""

_BARE = (STEP, DONE, CLOSE, STATE, GONE)
_LENGTH = struct.Struct("!Q")
_NOTHING: Mapping[str, Any] = {}


class Message(NamedTuple):
    """What was said, with what belongs to it."""

    word: bytes
    facts: Mapping[str, Any] = _NOTHING
    arrays: Mapping[str, np.ndarray] = _NOTHING


def send(link: socket.socket, message: Message) -> None:
    """Say one thing; an array of objects is a `TypeError`, for it has no bytes."""
    if message.word in _BARE:
        link.sendall(message.word)
        return
    parts, shapes = [], []
    for name, value in message.arrays.items():
        if value.dtype.hasobject:
            raise TypeError(f"{name} holds objects, only numbers and text can be passed on")
        part = np.ascontiguousarray(value)
        parts.append(part.tobytes())
        shapes.append([name, part.dtype.str, value.shape])
    head = json.dumps({"facts": message.facts, "arrays": shapes}).encode()
    link.sendall(b"".join((message.word, _LENGTH.pack(len(head)), head, *parts)))


def receive(link: socket.socket) -> Message:
    """Wait for what the other side says; `GONE` when it has ended, even half way."""
    word = link.recv(1)
    if word in _BARE:
        return Message(word)
    length = _read(link, _LENGTH.size)
    head = _read(link, _LENGTH.unpack(length)[0]) if length else None
    if head is None:
        return Message(GONE)
    said = json.loads(head)
    arrays: dict[str, np.ndarray] = {}
    for name, kind, shape in said["arrays"]:
        dtype = np.dtype(kind)
        size = dtype.itemsize * math.prod(shape)
        data = _read(link, size)
        if data is None:
            return Message(GONE)
        arrays[name] = np.ndarray(tuple(shape), dtype, buffer=data)
    return Message(word, said["facts"], arrays)


def _read(link: socket.socket, size: int) -> bytearray | None:
    """Return exactly so many bytes; None when the other side ends before."""
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        more = link.recv_into(view[got:])
        if not more:
            return None
        got += more
    return data
