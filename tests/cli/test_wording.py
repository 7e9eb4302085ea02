"""Numbers look the same everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.cli import wording

NUMBERS = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (187, "3:07"), (7509, "2:05:09")],
)
def test_a_duration_has_the_unit_that_it_needs(seconds, text):
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (0.123456, "0.1235"), (-250.04, "-250"), (123456.7, "123,457")],
)
def test_a_value_has_four_digits(value, text):
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(999, "999 B"), (1500, "1.5 kB"), (2e6, "2 MB"), (1.5e10, "15 GB")]
)
def test_a_size_is_decimal(value, text):
    assert wording.size(value) == text


@given(st.lists(NUMBERS, max_size=200), st.integers(1, 50), st.booleans())
def test_bars_are_as_wide_as_there_is_room_and_history(values, width, ascii_only):
    drawn = wording.bars(values, width, ascii_only=ascii_only)
    assert len(drawn) == min(width, len(values))
    assert drawn.isascii() or not ascii_only


def test_bars_rise_with_the_values():
    assert wording.bars([1, 2, 3, 4, 5, 6, 7, 8], 8) == "▁▂▃▄▅▆▇█"
    assert wording.bars([1, 1, 9, 9], 2, ascii_only=True) == "_#"


def test_bars_of_one_height_are_in_the_middle():
    assert set(wording.bars([3.0] * 5, 5)) == {"▅"}


@given(st.floats(0, 1), st.integers(1, 60), st.booleans())
def test_a_gauge_always_has_its_width(share, width, ascii_only):
    assert len(wording.gauge(share, width, ascii_only=ascii_only)) == width
