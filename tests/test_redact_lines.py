"""Lines that are masked many at a time come out as each of them alone does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train import redact
from srb_train.redact.lines import Lines

SECRET = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"
WORDS = [
    "step 12 of 400", "loss 0.5", "api_key=abcdefgh1234", "Bearer abcdefghijkl12345",
    "https://user:hunter2@host/x", "", "AAAABBBBCCCCDDDDEEEE1234", SECRET, "\r", "ya29.a0AfH6SMBx",
    "Kelvin: to\u212aen=abc123def456", "ПРИВЕТ 7", "\x1b[31mred\x1b[0m",
]  # fmt: skip


def alone(data: bytes, also=()):
    lines = data.decode("utf-8", "replace").split("\n")
    return [redact.text(line.rstrip("\r"), also) for line in lines]


@given(
    batches=st.lists(
        st.lists(st.sampled_from(WORDS) | st.text(max_size=30).map(lambda t: t.replace("\n", " "))),
        max_size=5,
    ),
    also=st.sampled_from([(), (SECRET,)]),
)
def test_many_lines_are_masked_as_each_alone(batches, also):
    lines = Lines(frozenset(also))
    for batch in batches:
        data = "\n".join(batch).encode("utf-8", "replace")
        assert lines.masked(data) == alone(data, frozenset(also))


@given(st.binary(max_size=200))
def test_any_bytes_are_lines(data):
    assert Lines().masked(data) == alone(data)


def test_numbers_do_not_make_a_line_new(monkeypatch):
    lines = Lines()
    lines.masked(b"step 100 loss 0.25")
    monkeypatch.setattr(redact, "text", pytest.fail)
    assert lines.masked(b"STEP 999 Loss 1.75\nstep 123 loss 9.99")[1] == "step 123 loss 9.99"


def test_a_stream_of_ever_new_lines_is_not_remembered_for_ever():
    lines = Lines()
    for number in range(5000):
        lines.masked("".join(chr(97 + int(digit)) for digit in str(number)).encode() + b"z" * 9)
    assert len(lines._harmless) <= 1025
