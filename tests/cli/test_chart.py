"""Curves are drawn where their values are, inside the size that was asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.cli import chart
from srb_train.cli.chart import Cell, Size


def plain(curves, width=40, height=8):
    return chart.text(chart.drawn(curves, Size(width=width, height=height), dots=False))


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right():
    assert plain([[(0, 0.0), (100, 1.0)]], 28, 6).splitlines() == [
        " 1|                     1111",
        "  |            111111111",
        "  |     1111111",
        " 0|11111",
        "  +-------------------------",
        "   0                     100",
    ]


def test_values_at_the_ends_are_the_labels_of_the_axis():
    text = plain([[(0, -12.5), (50, 3.25), (2000, 200.0)]])
    lines = text.splitlines()
    assert lines[0].strip().startswith("200|")
    assert lines[-3].strip().startswith("-12.5|")
    assert lines[-1].split() == ["0", "2,000"]


def test_every_curve_has_a_number_of_its_own():
    text = plain([[(0, 0), (10, 0)], [(0, 1), (10, 1)], [(0, 2), (10, 2)]])
    rows = text.splitlines()
    assert set(rows[0].partition("|")[2]) == {"3"}
    assert set(rows[-3].partition("|")[2]) == {"1"}


def test_braille_has_eight_dots_a_character():
    chart_of = chart.drawn([[(0, 0.0), (1, 1.0)]], Size(width=30, height=8))
    marks = [cell.text for row in chart_of[:-2] for cell in row[1:] if cell.curve == 0]
    assert marks
    assert all(0x2800 < ord(mark) <= 0x28FF for mark in marks)


def test_where_two_curves_meet_the_later_one_gives_the_colour():
    same = [(0, 1.0), (9, 1.0)]
    cells = [cell for row in chart.drawn([same, same]) for cell in row]
    assert {cell.curve for cell in cells} == {None, 1}


def test_nothing_to_draw_is_said():
    assert chart.drawn([]) == chart.drawn([[], []]) == [[Cell("no values to draw")]]


@pytest.mark.parametrize("curve", [[(5, 3.0)], [(0, 1.0), (0, 1.0)], [(0, 7.0), (9, 7.0)]])
def test_one_value_is_drawn_in_the_middle(curve):
    lines = plain([curve]).splitlines()
    marked = [number for number, line in enumerate(lines[:-2]) if "1" in line.partition("|")[2]]
    assert marked in ([2], [3])


@given(
    curves=st.lists(
        st.lists(
            st.tuples(
                st.integers(0, 10**12),
                st.floats(allow_nan=False, allow_infinity=False),
            )
        ),
        max_size=4,
    ),
    width=st.integers(0, 120),
    height=st.integers(0, 30),
    dots=st.booleans(),
)
def test_no_chart_leaves_its_size(curves, width, height, dots):
    ordered = [sorted(curve) for curve in curves]
    rows = chart.drawn(ordered, Size(width=width, height=height), dots=dots)
    if not any(curves):
        return
    assert len(rows) == max(height, 5)
    assert {len("".join(cell.text for cell in row)) for row in rows[:-1]} == {max(width, 24)}
    drawn = {cell.curve for row in rows for cell in row} - {None}
    assert drawn <= set(range(len(curves)))
    assert drawn
