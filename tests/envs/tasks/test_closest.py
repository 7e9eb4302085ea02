"""Closest approach on a step, against a search along the way."""

import numpy as np
import pytest

from srb_train.envs.tasks import closest


def test_the_nearest_point_of_a_way_is_found():
    rng = np.random.default_rng(0)
    before, after = rng.normal(0.0, 2.0, (2, 3, 500))
    shares = np.linspace(0.0, 1.0, 2001)[:, None, None]
    searched = np.sqrt(((before + shares * (after - before)) ** 2).sum(1)).min(0)
    assert closest.nearest(np, before, after) == pytest.approx(searched, abs=2e-3)


def test_a_body_that_stays_is_as_near_as_it_is():
    spot = np.array([[3.0], [0.0], [-4.0]], dtype=np.float32)
    assert closest.nearest(np, spot, spot)[0] == pytest.approx(5.0)


def test_a_point_passed_between_two_ends_counts():
    before = np.array([[-10.0], [0.0], [0.5]], dtype=np.float32)
    after = np.array([[10.0], [0.0], [0.5]], dtype=np.float32)
    assert closest.nearest(np, before, after)[0] == pytest.approx(0.5, abs=1e-5)
