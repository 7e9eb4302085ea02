"""The checksummed frames of an event file: made one by one, and read past any damage.

A frame is the length of a message (8 bytes), the checksum of the length (4), the message, and its
checksum (4), all little-endian. The checksum is CRC-32C (RFC 3720, appendix B.4), rotated right by
15 bits and moved by a constant, as TensorFlow's record format says.
"""

import os
import re
import struct
from collections.abc import Iterator
from functools import cache
from typing import BinaryIO

FRAME = 16
"""Bytes of a frame beside its message."""
HEADER = 12
"""Bytes of a frame before its message."""
BLOCK = 1 << 16
SEARCHED = 16 << 20
"""Bytes behind a broken frame in which the next frame is searched for."""
BEGINNING = re.compile(rb"(?s)(?=(?!\0{4}).{4}\0{4})")
"""Where a frame may begin: a length that is not zero and below 4 GiB."""


def frame(message: bytes) -> bytes:
    """Return a message in its frame."""
    length = struct.pack("<Q", len(message))
    return b"".join(
        [
            length,
            struct.pack("<I", _checksum(length)),
            message,
            struct.pack("<I", _checksum(message)),
        ]
    )


def messages(stream: BinaryIO, damage: list[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the place of every whole frame and its message; tell of the rest in `damage`."""
    end = os.fstat(stream.fileno()).st_size
    offset = 0
    while offset < end:
        message = _message(stream, offset, end)
        if message is not None:
            yield offset, message
            offset += len(message) + FRAME
            continue
        following = _next_frame(stream, offset)
        if following is None:
            stream.seek(offset)
            kind = "cut or altered" if stream.read(SEARCHED).strip(b"\0") else "zeros"
            damage.append(f"the last {end - offset} bytes, from byte {offset} on, are {kind}")
            return
        damage.append(f"{following - offset} bytes from byte {offset} on are cut or altered")
        offset = following


def _message(stream: BinaryIO, offset: int, end: int) -> bytes | None:
    """Return the message of the frame that begins here, or None if it is not whole."""
    stream.seek(offset)
    length = _message_length(stream.read(HEADER))
    if length is None or offset + length + FRAME > end:
        return None
    message, checksum = stream.read(length), stream.read(4)
    return message if checksum == struct.pack("<I", _checksum(message)) else None


def _next_frame(stream: BinaryIO, offset: int) -> int | None:
    """Find the next plausible frame behind a broken one; None where none follows."""
    # A near look is enough for almost all damage and keeps many small wounds cheap.
    for searched in (BLOCK, SEARCHED):
        stream.seek(offset)
        window = stream.read(searched)
        for match in BEGINNING.finditer(window, 1):
            if _message_length(window[match.start() : match.start() + HEADER]) is not None:
                return offset + match.start()
    return None


def _message_length(header: bytes) -> int | None:
    """Return what a frame's header says, or None where it is cut or its checksum denies it."""
    if len(header) < HEADER:
        return None
    length, checksum = struct.unpack("<QI", header)
    return int(length) if checksum == _checksum(header[:8]) else None


@cache
def _table() -> list[int]:
    """Return the CRC-32C remainders of all bytes."""
    table = []
    for byte in range(256):
        rest = byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
        table.append(rest)
    return table


def _checksum(data: bytes) -> int:
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF
