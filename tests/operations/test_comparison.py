"""Curves of several runs lie on one grid of environment steps, whoever trained them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.errors import UsageError
from srb_train.operations import comparison
from tests.operations import scene


def made(tmp_path, *points, **more):
    run = scene.make_run(tmp_path, **more)
    scene.measure(run, *points)
    return run


def test_runs_of_different_families_are_put_on_one_grid(tmp_path):
    short = made(tmp_path, (100, 1.0, 0.0), (200, 2.0, 0.5), algo="sb3_ppo")
    long = made(tmp_path, (50, -1.0, 0.0), (400, 4.0, 1.0), algo="toy_cem")
    names = [str(short.path), str(long.path)]
    found = comparison.curves(names, tmp_path, tags=["episode/return"], points=5)
    (each,) = found["metrics"].values()
    assert each["steps"] == [0, 100, 200, 300, 400]
    first, second = each["values"].values()
    assert first == [None, 1.0, 2.0, None, None]
    assert second == [None, -1.0, -1.0, -1.0, 4.0]
    assert [row["algorithm"] for row in found["runs"].values()] == ["sb3_ppo", "toy_cem"]
    json.dumps(found, allow_nan=False)


def test_the_last_value_of_a_short_run_is_on_the_grid(tmp_path):
    short = made(tmp_path, (100, 1.0, 0.0), (150, 7.0, 0.0))
    long = made(tmp_path, (400, 4.0, 1.0))
    found = comparison.curves(
        [str(short.path), str(long.path)], tmp_path, tags=["episode/return"], points=5
    )
    first, _ = found["metrics"]["episode/return"]["values"].values()
    assert first == [None, 1.0, 7.0, None, None]


def test_a_run_without_a_metric_is_named_and_a_metric_of_nobody_left_out(tmp_path):
    one, other = made(tmp_path, (100, 1.0, 0.0)), scene.make_run(tmp_path)
    found = comparison.curves(
        [str(one.path), str(other.path)], tmp_path, tags=["episode/return", "x"]
    )
    assert list(found["metrics"]) == ["episode/return"]
    assert found["metrics"]["episode/return"]["missing"] == [other.record()["run_id"]]


def test_a_value_that_is_not_finite_is_a_gap(tmp_path):
    run = made(tmp_path, (0, 1.0, 0.0), (50, float("nan"), 0.0), (100, 2.0, 0.0))
    found = comparison.curves([str(run.path)], tmp_path, tags=["episode/return"], points=3)
    (values,) = found["metrics"]["episode/return"]["values"].values()
    assert values == [1.0, None, 2.0]


def test_a_curve_has_two_points_at_least(tmp_path):
    with pytest.raises(UsageError, match="at least 2"):
        comparison.curves([], tmp_path, points=1)


@given(
    steps=st.lists(st.integers(0, 10**9), min_size=1, max_size=40),
    points=st.integers(2, 50),
)
def test_every_grid_begins_at_zero_and_ends_with_the_longest(steps, points):
    series = [{"step": step, "value": float(step)} for step in steps]
    found = comparison._aligned({"a": series, "b": []}, points)
    assert found["steps"][0] == 0
    assert found["steps"][-1] == max(steps)
    assert len(found["steps"]) <= points
    assert found["steps"] == sorted(set(found["steps"]))
    assert found["values"]["a"][-1] == max(steps)
    assert set(found["values"]["b"]) == {None}
    known = [value for value in found["values"]["a"] if value is not None]
    assert known == sorted(known)
