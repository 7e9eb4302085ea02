"""Step rates from a clock that the test owns."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.perf import StepRates


def measured(intervals, num_envs=4):
    moments = iter(np.concatenate([[100.0], 100.0 + np.cumsum(intervals)]).tolist())
    rates = StepRates(num_envs, clock=lambda: next(moments))
    for _ in range(len(intervals) + 1):
        rates.tick()
    return rates


def test_the_mean_rate_counts_all_copies():
    facts = measured([0.5, 0.25, 0.25]).as_dict()
    assert facts["intervals"] == 3 and facts["transitions"] == 12
    assert facts["steps_per_second"] == pytest.approx(12.0)
    assert (facts["seconds_per_step_min"], facts["seconds_per_step_max"]) == (0.25, 0.5)


def test_a_rare_slow_step_shows_in_the_high_percentile_only():
    facts = measured([0.001] * 95 + [1.0] * 5).as_dict()
    times = facts["seconds_per_step_percentiles"]
    assert times["p50"] == pytest.approx(0.001, rel=0.01)
    assert times["p90"] == pytest.approx(0.001, rel=0.01)
    assert times["p99"] == pytest.approx(1.0, rel=0.01)
    assert facts["steps_per_second_percentiles"]["p99"] == pytest.approx(4.0, rel=0.01)


@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=80), st.sampled_from([1, 50, 90, 100]))
def test_percentiles_are_within_one_percent_of_the_exact_ones(intervals, percent):
    exact = np.percentile(intervals, percent, method="inverted_cdf")
    assert measured(intervals).percentile(percent) == pytest.approx(exact, rel=0.0105)


def test_nothing_is_claimed_before_two_steps():
    rates = StepRates(2)
    for _ in range(2):
        facts = rates.as_dict()
        assert facts["steps_per_second"] is None
        assert facts["steps_per_second_percentiles"]["p50"] is None
        assert "no rate" in rates.as_text()
        rates.tick()
    assert rates.as_dict()["steps_per_second"] > 0


def test_the_report_is_strict_json_and_the_text_says_the_rate():
    rates = measured([0.002] * 50, num_envs=8)
    facts = rates.as_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert "4,000 transitions/s" in rates.as_text()
    assert "400 in 0.1 s, 8 copies" in rates.as_text()


def test_steps_that_take_no_time_break_nothing():
    facts = measured([0.0, 0.0]).as_dict()
    assert facts["steps_per_second"] is None and facts["seconds_per_step_max"] == 0.0
