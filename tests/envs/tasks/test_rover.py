"""The rover against closed forms: lag, arcs, slips and creep on a slope."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from srb_train.envs.tasks import rover, rover_ground
from srb_train.errors import UsageError


def standing(slip=0.0, turn_slip=0.0, slope=None, heading=0.0):
    """One rover at the origin that stands still; `slope` is in rad: how much, and which way up."""

    def one(*values):
        return [np.array([value]) for value in values]

    hill = one(*slope) if slope else None
    return rover.at_rest(np, one(0.0, 0.0, heading), one(slip, turn_slip), hill)


def driven(state, rolling, spinning, seconds, dt=0.1):
    """Drive with constant commands."""
    for _ in range(round(seconds / dt)):
        state = rover.drive(np, state, np.array([rolling]), np.array([spinning]), dt)
    return state


def steady(rolling, spinning, **ground):
    """One rover whose wheels already run as they are commanded."""
    return {
        **standing(**ground),
        "rolling": np.array([rolling]),
        "spinning": np.array([spinning]),
    }


def place(state):
    return [float(state["x"][0]), float(state["y"][0])]


def test_it_gathers_way_as_a_first_order_lag_does():
    for seconds in (0.1, 0.5, 3.0):
        after = driven(standing(slip=0.25), 0.6, 0.0, seconds)
        share = 1.0 - math.exp(-seconds / rover.LAG)
        way = 0.75 * 0.6 * (seconds - rover.LAG * share)
        assert place(after) == pytest.approx([way, 0.0], rel=1e-6)
        assert after["rolling"][0] == pytest.approx(0.6 * share, rel=1e-6)


def test_steady_wheels_drive_a_circle():
    speed, turn = 0.5, 0.4
    radius, period = speed / turn, 2 * math.pi / turn
    start = steady(speed, turn)
    ends = [driven(start, speed, turn, period * part, period / 200) for part in (0.25, 0.5, 1.0)]
    quarter, half, whole = (place(end) for end in ends)
    assert quarter == pytest.approx([radius, radius], rel=1e-4)
    assert half == pytest.approx([0.0, 2 * radius], rel=1e-4, abs=1e-5)
    assert whole == pytest.approx([0.0, 0.0], abs=1e-5)
    assert ends[2]["heading"][0] == pytest.approx(2 * math.pi, rel=1e-6)


def test_turning_on_the_spot_stays_on_it_and_turning_slip_takes_its_share():
    after = driven(steady(0.0, 1.0, turn_slip=0.4), 0.0, 1.0, 2.0)
    assert place(after) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert after["heading"][0] == pytest.approx(0.6 * 2.0, rel=1e-6)
    assert after["turn"][0] == pytest.approx(0.6)
    assert [float(rim[0]) for rim in rover.rims(after)] == pytest.approx([-0.25, 0.25])


def test_it_stands_still_on_a_slope_and_creeps_downhill_as_its_wheels_work():
    hill = (math.radians(10.0), math.pi / 2)  # rises along y
    sunk = -rover.CREEP * math.tan(hill[0]) * 0.5 * 4.0
    assert place(driven(standing(slope=hill), 0.0, 0.0, 5.0)) == [0.0, 0.0]
    across = driven(steady(0.5, 0.0, slope=hill), 0.5, 0.0, 4.0)
    assert place(across) == pytest.approx([2.0, sunk], rel=1e-6)
    spin = 0.5 / rover.HALF_TRACK
    turning = driven(steady(0.0, spin, slope=hill), 0.0, spin, 4.0)
    assert place(turning) == pytest.approx([0.0, sunk], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("rolling", [0.5, -0.5])
def test_uphill_it_is_slower_than_downhill_forwards_and_backwards(rolling):
    hill = (math.radians(15.0), 0.0)
    after = driven(steady(rolling, 0.0, slope=hill), rolling, 0.0, 0.1)
    expected = rolling - rover.CREEP * math.tan(hill[0]) * abs(rolling)
    assert after["speed"][0] == pytest.approx(expected, rel=1e-6)


def test_level_ground_is_a_slope_of_nothing():
    level = driven(standing(0.1, 0.2), 0.4, 0.7, 3.0)
    sloping = driven(standing(0.1, 0.2, (0.0, 1.0)), 0.4, 0.7, 3.0)
    for name in level:
        assert level[name] == pytest.approx(sloping[name], rel=1e-12)


def test_a_step_is_about_as_good_as_a_hundred_of_its_parts():
    rng = np.random.default_rng(4)
    coarse = fine = standing(0.2, 0.3, (0.15, 1.0), 0.7)
    for _ in range(100):
        command = rng.uniform((-0.1, -1.0), (0.6, 1.0))
        coarse, fine = driven(coarse, *command, 0.1), driven(fine, *command, 0.1, 0.001)
    assert coarse["rolling"] == pytest.approx(fine["rolling"], rel=1e-5)
    assert coarse["heading"] == pytest.approx(fine["heading"], rel=1e-5)
    assert math.dist(place(coarse), place(fine)) < 0.02
    assert math.dist(place(fine), (0.0, 0.0)) > 0.5


def test_it_drives_the_same_way_wherever_north_is():
    angle = 1.3
    cos, sin = math.cos(angle), math.sin(angle)
    here = driven(standing(0.1, 0.2, (0.2, 0.4), 0.3), 0.5, 0.8, 3.0)
    there = driven(standing(0.1, 0.2, (0.2, 0.4 + angle), 0.3 + angle), 0.5, 0.8, 3.0)
    x, y = place(here)
    assert place(there) == pytest.approx([cos * x - sin * y, sin * x + cos * y])
    assert there["speed"] == pytest.approx(here["speed"])


def test_ground_that_there_is_not_is_refused_by_its_key():
    level = {"slip": (0.0, 0.3), "turn_slip": (0.0, 0.4), "slope": (0.0, 0.0)}
    for key, wrong in (("slip", (0.5, 0.2)), ("turn_slip", (0.0, 1.0)), ("slope", (-1.0, 5.0))):
        ranges = {**level, key: wrong}
        with pytest.raises(UsageError, match=rf"env\.terrains\.mud\.{key}=\["):
            rover_ground.check("env.terrains.mud", SimpleNamespace(**ranges))
    rover_ground.check("env.terrains.mud", SimpleNamespace(**level))
