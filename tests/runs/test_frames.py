"""Frames: the bytes that TensorBoard expects, and nothing found where nothing is whole."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from srb_train.runs import frames


def test_the_checksum_is_masked_crc_32c():
    check = 0xE3069283  # the published check value of CRC-32C over "123456789"
    masked = ((check >> 15 | check << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
    assert frames.frame(b"123456789").endswith(b"123456789" + struct.pack("<I", masked))


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(0, 2000))
def test_a_cut_file_gives_every_message_before_the_cut(tmp_path_factory, messages, cut):
    path = tmp_path_factory.mktemp("frames") / "file"
    framed = [frames.frame(message) for message in messages]
    path.write_bytes(b"".join(framed)[:cut])
    damage: list[str] = []
    with path.open("rb") as stream:
        found = [message for _, message in frames.messages(stream, damage)]
    ends = [sum(map(len, framed[: place + 1])) for place in range(len(framed))]
    whole = [message for message, end in zip(messages, ends, strict=True) if end <= cut]
    assert found == whole
    assert bool(damage) == (path.stat().st_size > (ends[len(whole) - 1] if whole else 0))
