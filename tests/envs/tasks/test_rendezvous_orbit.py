"""Relative motion against closed forms, an invariant, and two bodies that fall round the Earth."""

import math

import numpy as np
import pytest

from srb_train.envs.tasks import rendezvous_orbit as orbit

RATE = orbit.mean_motion(500e3)
PERIOD = 2.0 * math.pi / RATE


def states(count=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-50.0, 50.0, (3, count)), rng.uniform(-0.2, 0.2, (3, count))


def fly(position, velocity, push, dt, steps):
    table = orbit.changes(RATE, dt)
    for _ in range(steps):
        position, velocity = orbit.move(np, position, velocity, push, table)
    return position, velocity


def test_the_mean_motion_is_that_of_a_low_orbit():
    rate = orbit.mean_motion(500e3)
    assert rate == pytest.approx(1.1068e-3, rel=1e-4)
    assert 2.0 * math.pi / rate == pytest.approx(5677.0, abs=3.0)


def test_one_long_step_is_many_short_ones():
    position, velocity = states()
    push = np.random.default_rng(1).uniform(-0.04, 0.04, (3, 8))
    once = fly(position, velocity, push, 300.0, 1)
    often = fly(position, velocity, push, 0.5, 600)
    assert once[0] == pytest.approx(often[0], rel=1e-9)
    assert once[1] == pytest.approx(often[1], rel=1e-9)


def test_it_solves_the_equations_of_clohessy_and_wiltshire():
    position, velocity = states()
    push = np.random.default_rng(2).uniform(-0.04, 0.04, (3, 8))

    def slope(now):
        return np.concatenate([now[3:], orbit.tide(np, now[:3], now[3:], RATE) + push])

    now, dt = np.concatenate([position, velocity]), 1.0
    for _ in range(400):
        a = slope(now)
        b = slope(now + 0.5 * dt * a)
        c = slope(now + 0.5 * dt * b)
        now = now + dt / 6.0 * (a + 2.0 * b + 2.0 * c + slope(now + dt * c))
    exact = np.concatenate(fly(position, velocity, push, 400.0, 1))
    assert exact == pytest.approx(now, rel=1e-8, abs=1e-8)


def test_two_impulses_bring_a_satellite_to_the_target():
    """The textbook transfer: the velocity that leads to the origin, by the transition matrix."""
    duration, start = 1800.0, np.array([-20.0, 300.0, 40.0])
    table = orbit.changes(RATE, duration)[:, :, 0]
    # Rows 0 and 1 belong to x and z; y adds nothing to others, and everything stays itself.
    still = start + table[0, :3] * start[0] + table[1, :3] * start[2]
    by_velocity = table[2:5, :3].T
    first = np.linalg.solve(by_velocity, -still)
    position, _ = fly(start[:, None], first[:, None], np.zeros((3, 1)), 1.0, 1800)
    assert np.abs(position).max() < 1e-7
    assert np.abs(start).max() > 100.0


def test_the_ellipse_without_drift_closes_after_a_revolution():
    position, velocity = states()
    velocity[1] = -2.0 * RATE * position[0]
    after = fly(position, velocity, np.zeros((3, 8)), PERIOD / 1000, 1000)
    assert after[0] == pytest.approx(position, abs=1e-6)
    halfway, _ = fly(position, velocity, np.zeros((3, 8)), PERIOD / 1000, 500)
    centre = position[1] - 2.0 / RATE * velocity[0]
    assert halfway[0] == pytest.approx(-position[0], abs=1e-6)
    assert 0.5 * (halfway[1] + position[1]) == pytest.approx(centre, abs=1e-6)


def test_the_jacobi_integral_of_a_free_flight_is_kept():
    position, velocity = states()

    def integral(at, speed):
        square = RATE * RATE
        tide = 3.0 * square * at[0] ** 2 - square * at[2] ** 2
        return 0.5 * ((speed**2).sum(0) - tide)

    before = integral(position, velocity)
    after = fly(position, velocity, np.zeros((3, 8)), 1.0, 3000)
    assert integral(*after) == pytest.approx(before, rel=1e-9)


def test_two_bodies_that_fall_round_the_earth_move_so():
    """Kepler's problem for both, seen in the target's turning frame, 50 m apart for 5 minutes."""
    radius = orbit.EARTH_RADIUS + 500e3
    position, velocity = np.array([8.0, 40.0, -12.0]), np.array([0.1, -0.15, 0.05])
    turn = np.array([0.0, 0.0, RATE])
    body = np.array([radius, 0.0, 0.0]) + position
    speed = np.array([0.0, RATE * radius, 0.0]) + velocity + np.cross(turn, position)

    def slope(now):
        fall = -orbit.EARTH_MU * now[:3] / np.linalg.norm(now[:3]) ** 3
        return np.concatenate([now[3:], fall])

    now, dt = np.concatenate([body, speed]), 0.5
    for _ in range(600):
        a = slope(now)
        b = slope(now + 0.5 * dt * a)
        c = slope(now + 0.5 * dt * b)
        now = now + dt / 6.0 * (a + 2.0 * b + 2.0 * c + slope(now + dt * c))
    cos, sin = math.cos(RATE * 300.0), math.sin(RATE * 300.0)
    frame = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    true = frame @ now[:3] - np.array([radius, 0.0, 0.0])
    told, _ = fly(position[:, None], velocity[:, None], np.zeros((3, 1)), 1.0, 300)
    assert told[:, 0] == pytest.approx(true, abs=2e-3)
    straight = position + velocity * 300.0
    assert np.abs(straight - true).max() > 1.0, "no tide to speak of"


def test_in_single_precision_the_tide_is_not_lost():
    position, velocity = states()
    table = orbit.changes(RATE, 1.0).astype(np.float32)
    at, speed = position.astype(np.float32), velocity.astype(np.float32)
    for _ in range(300):
        at, speed = orbit.move(np, at, speed, np.zeros((3, 8), np.float32), table)
    true = fly(position, velocity, np.zeros((3, 8)), 300.0, 1)
    assert at.dtype == np.float32
    assert at == pytest.approx(true[0], abs=2e-3)
