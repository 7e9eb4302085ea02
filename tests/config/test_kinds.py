"""Which values fit which types, for all values."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srb_train.config.flat import flatten, nest
from srb_train.config.kinds import SCALARS, fit, kind_of

UNHURRIED = settings(deadline=None)
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
INTS = st.integers(-(2**70), 2**70)
ANYTHING = st.none() | st.booleans() | INTS | FLOATS | st.text() | st.lists(st.integers())
KINDS = st.lists(st.sampled_from([*SCALARS, "list"]), min_size=1, unique=True).map(tuple)


@UNHURRIED
@given(ANYTHING, KINDS)
def test_what_is_accepted_has_one_of_the_types_asked_for(value, kinds):
    try:
        found = fit(value, kinds, None)
    except ValueError:
        return
    assert kind_of(found) in kinds


@UNHURRIED
@given(ANYTHING, KINDS)
def test_fitting_twice_is_fitting_once(value, kinds):
    try:
        found = fit(value, kinds, None)
    except ValueError:
        return
    again = fit(found, kinds, None)
    assert again == found
    assert type(again) is type(found)


@UNHURRIED
@given(FLOATS)
def test_a_float_goes_for_an_integer_exactly_when_it_is_whole_and_fits(value):
    whole = math.isfinite(value) and value.is_integer() and abs(value) < 2**63
    if whole:
        assert fit(value, ("int",), 0) == value
    else:
        with pytest.raises(ValueError, match=r"whole|finite|64"):
            fit(value, ("int",), 0)


@UNHURRIED
@given(st.integers(-(2**53), 2**53))
def test_an_integer_goes_for_a_float(value):
    found = fit(value, ("float",), 0.0)
    assert isinstance(found, float)
    assert found == value


@UNHURRIED
@given(st.booleans(), st.sampled_from(["int", "float", "str", "null", "list"]))
def test_a_truth_value_is_nothing_else(value, kind):
    with pytest.raises(ValueError, match="bool"):
        fit(value, (kind,), None)


@UNHURRIED
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_in_quotes_is_the_number_where_text_is_taken_too(value):
    assert fit(repr(value), ("float", "str"), 0.0) == value
    with pytest.raises(ValueError, match="str"):
        fit(repr(value), ("float",), 0.0)


def test_a_key_of_any_type_keeps_quoted_digits_as_text():
    assert fit("123", SCALARS, None) == "123"


@UNHURRIED
@given(st.lists(st.integers(-9, 9) | st.text(max_size=2), max_size=4))
def test_a_list_takes_elements_of_the_type_of_its_first(values):
    if all(isinstance(value, int) for value in values):
        assert fit(values, ("list",), [64]) == values
    else:
        with pytest.raises(ValueError, match="element"):
            fit(values, ("list",), [64])


NAMES = st.text("abc", min_size=1, max_size=3)
TREES = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
)


@UNHURRIED
@given(st.dictionaries(NAMES, TREES, max_size=4))
def test_a_tree_survives_being_flat(tree):
    assert nest(dict(flatten(tree, {}))) == tree
