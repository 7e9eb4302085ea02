"""Flight mechanics against closed forms, conservation laws and a finer integration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srb_train.envs.tasks import lander, lander_controls
from srb_train.envs.tasks.lander import Wrench

EXHAUST_SPEED = lander.MAIN_IMPULSE * lander.STANDARD_GRAVITY
angles = st.floats(-3.0, 3.0)


def state(count=1, height=500.0, propellant=40.0, dtype=np.float64, **more):
    """A lander at rest, upright, `height` m up."""
    position = np.zeros((3, count), dtype)
    position[2] = height
    attitude = np.zeros((4, count), dtype)
    attitude[0] = 1.0
    return {
        "position": position,
        "velocity": np.zeros((3, count), dtype),
        "attitude": attitude,
        "rate": np.zeros((3, count), dtype),
        "propellant": np.full(count, propellant, dtype),
        "main_thrust": np.full(count, lander.THRUST, dtype),
        "main_flow": np.full(count, lander.THRUST / EXHAUST_SPEED, dtype),
        **more,
    }


def throttled(share):
    """Engines at a constant main throttle and no torque."""

    def run(xp, now, turned):
        torque = np.zeros_like(now["rate"])
        return Wrench((None, None, share * now["main_thrust"]), torque, share * now["main_flow"])

    return run


def turn(axis, angle):
    """The quaternion (4, 1) of a rotation by `angle` rad about a body axis."""
    attitude = np.zeros((4, 1))
    attitude[0] = math.cos(angle / 2)
    attitude[1 + axis] = math.sin(angle / 2)
    return attitude


@settings(deadline=None, max_examples=40)
@given(st.floats(0.5, 12.0), st.floats(-9.0, 9.0), st.floats(-5.0, 5.0))
def test_free_fall_is_a_parabola(seconds, up, sideways):
    steps = max(1, round(seconds * 20))
    before = state(velocity=np.array([[sideways], [0.0], [up]]))
    after, _ = lander.fly(np, before, throttled(0.0), 0.05, steps)
    time = steps * 0.05
    assert after["position"][0, 0] == pytest.approx(sideways * time, abs=1e-9)
    fallen = 500.0 + up * time - 0.5 * lander.GRAVITY * time**2
    assert after["position"][2, 0] == pytest.approx(fallen, abs=1e-9)
    assert after["velocity"][2, 0] == pytest.approx(up - lander.GRAVITY * time, abs=1e-9)
    assert after["propellant"] == before["propellant"]


@settings(deadline=None, max_examples=40)
@given(st.floats(0.1, 1.0), st.integers(1, 400))
def test_a_burn_obeys_the_rocket_equation_and_conserves_mass(share, steps):
    after, _ = lander.fly(np, state(), throttled(share), 0.05, steps)
    time = steps * 0.05
    burnt = min(share * lander.THRUST / EXHAUST_SPEED * time, 40.0)
    assert 40.0 - after["propellant"][0] == pytest.approx(burnt, abs=1e-6)
    full = lander.DRY_MASS + 40.0
    gained = EXHAUST_SPEED * math.log(full / (full - burnt)) - lander.GRAVITY * time
    assert after["velocity"][2, 0] == pytest.approx(gained, abs=2e-5)


def test_a_dry_lander_neither_pushes_nor_turns_and_owes_nothing():
    def run(xp, now, turned):
        return Wrench((None, None, now["main_thrust"]), np.full_like(now["rate"], 50.0), 1.0)

    empty = state(propellant=0.0)
    after, _ = lander.fly(np, empty, run, 0.05, 20)
    assert after["velocity"][2, 0] == pytest.approx(-lander.GRAVITY, abs=1e-9)
    assert not after["rate"].any()
    nearly, _ = lander.fly(np, state(propellant=0.01), throttled(1.0), 0.05, 20)
    assert nearly["propellant"][0] == 0.0
    full = lander.DRY_MASS + 0.01
    gained = EXHAUST_SPEED * math.log(full / lander.DRY_MASS)
    assert nearly["velocity"][2, 0] == pytest.approx(gained - lander.GRAVITY, abs=1e-6)


def test_thrust_points_along_the_body_axis_and_falls_off_with_mass():
    tilted = state(attitude=turn(1, 0.3))
    after, turned = lander.fly(np, tilted, throttled(0.5), 0.05, 1)
    mass = lander.DRY_MASS + 40.0 - 0.25 * 0.05 * lander.THRUST / EXHAUST_SPEED
    push = 0.5 * lander.THRUST / mass * 0.05
    assert after["velocity"][0, 0] == pytest.approx(push * math.sin(0.3), rel=1e-6)
    assert after["velocity"][2, 0] == pytest.approx(
        push * math.cos(0.3) - lander.GRAVITY * 0.05, rel=1e-6
    )
    assert turned.thrust_z[0] == pytest.approx(math.cos(0.3))


def test_a_free_spin_keeps_angular_momentum_and_energy():
    spinning = state(rate=np.array([[0.3], [-0.2], [0.4]]))
    inertia = np.array(lander.INERTIA)[:, None]

    def facts(now):
        momentum = inertia * now["rate"]
        return (momentum**2).sum(), (momentum * now["rate"]).sum()

    after, _ = lander.fly(np, spinning, throttled(0.0), 0.05, 400)
    assert facts(after) == pytest.approx(facts(spinning), rel=1e-9)
    assert (after["attitude"] ** 2).sum() == pytest.approx(1.0)


def test_angular_momentum_keeps_its_direction_in_the_world():
    spinning = state(rate=np.array([[0.3], [-0.2], [0.4]]))
    inertia = np.array(lander.INERTIA)[:, None]
    before = (inertia * spinning["rate"])[:, 0]
    after, _ = lander.fly(np, spinning, throttled(0.0), 0.01, 500)
    w, x, y, z = after["attitude"][:, 0]
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    world = rotation @ (inertia * after["rate"])[:, 0]
    assert world == pytest.approx(before, rel=1e-3)


def test_the_integration_is_of_second_order():
    rng = np.random.default_rng(0)
    begun = state(20, rate=rng.uniform(-0.2, 0.2, (3, 20)))
    push = constant_push(rng)
    fine, _ = lander.fly(np, begun, push, 0.001, 4000)
    errors = []
    for dt, steps in ((0.1, 40), (0.05, 80), (0.025, 160)):
        coarse, _ = lander.fly(np, begun, push, dt, steps)
        errors.append(np.abs(coarse["position"] - fine["position"]).max())
    assert errors[1] < 0.02, "metres after 4 s with the product's time step"
    assert 3.4 < errors[0] / errors[1] < 4.6
    assert 3.4 < errors[1] / errors[2] < 4.6


def constant_push(rng):
    """Engines with a constant random torque and throttle in each row."""
    torque = rng.uniform(-40.0, 40.0, (3, 20))
    share = rng.uniform(0.3, 1.0, 20)

    def run(xp, now, turned):
        return Wrench((None, None, share * now["main_thrust"]), torque, share * now["main_flow"])

    return run


@settings(deadline=None, max_examples=40)
@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), angles)
def test_the_clearance_is_that_of_the_lowest_foot(roll, pitch, yaw):
    attitude = multiply(multiply(turn(2, yaw), turn(1, pitch)), turn(0, roll))
    w, x, y, z = attitude[:, 0]
    third_row = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    feet = [
        (sx * lander.FOOT_RADIUS, sy * lander.FOOT_RADIUS, -lander.FOOT_DEPTH)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    lowest = min(5.0 + float(third_row @ np.array(foot)) for foot in feet)
    clearance = lander.clearance(np.array([5.0]), lander.axes(np, attitude))
    assert clearance[0] == pytest.approx(lowest, abs=1e-9)


def multiply(one, other):
    """The product of two quaternions (4, 1)."""
    a, b, c, d = one
    e, f, g, h = other
    return np.array(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def test_a_lander_stands_still_from_the_first_step_with_a_foot_down():
    falling = state(2, height=1.2, velocity=np.array([[0.1, 0.1], [0.0, 0.0], [-3.0, -3.0]]))
    falling["position"][2, 1] = 100.0
    short, _ = lander.fly(np, falling, throttled(0.2), 0.05, 2)
    long, _ = lander.fly(np, falling, throttled(0.2), 0.05, 8)
    for name in ("position", "velocity", "rate", "propellant"):
        assert np.array_equal(short[name][..., 0], long[name][..., 0])
        assert name == "rate" or not np.array_equal(short[name][..., 1], long[name][..., 1])


def test_the_attitude_loop_reaches_and_holds_the_angle_that_is_commanded():
    action = np.array([[0.0], [0.5], [-0.4], [0.0]])
    now = state()
    for _ in range(40):
        engines, _ = lander_controls.engines("attitude", np, action, now)
        now, turned = lander.fly(np, now, engines, 0.05, 4)
    assert turned.up_y[0] == pytest.approx(0.5 * lander_controls.TILT_COMMAND, abs=0.01)
    assert -turned.up_x[0] == pytest.approx(-0.4 * lander_controls.TILT_COMMAND, abs=0.01)


def test_a_rate_command_is_followed_and_costs_propellant():
    action = np.array([[-1.0], [0.3], [0.0], [-0.5]])
    now = state()
    for _ in range(10):
        engines, _ = lander_controls.engines("rates", np, action, now)
        now, _ = lander.fly(np, now, engines, 0.05, 4)
    assert now["rate"][0, 0] == pytest.approx(0.3 * lander_controls.RATE_LIMIT, abs=0.005)
    assert now["rate"][2, 0] == pytest.approx(-0.5 * lander_controls.YAW_COMMAND, abs=0.005)
    assert now["propellant"][0] < 40.0


@pytest.mark.parametrize("control", ["rates", "attitude", "torque"])
def test_torques_stay_within_the_actuators_limits(control):
    rng = np.random.default_rng(2)
    now = state(50, rate=rng.uniform(-2.0, 2.0, (3, 50)))
    action = rng.uniform(-1.0, 1.0, (4, 50))
    engines, throttle = lander_controls.engines(control, np, action, now)
    wrench = engines(np, now, lander.axes(np, now["attitude"]))
    limits = np.array(lander.TORQUE_LIMITS)[:, None]
    assert (np.abs(wrench.torque) <= limits * (1 + 1e-6)).all()
    assert throttle == pytest.approx(0.5 + 0.5 * action[0])


def test_single_thrusters_push_and_turn_as_their_place_says():
    matrix = np.array(lander_controls.thruster_matrix())
    mains, small = matrix[:, :5], matrix[:, 5:]
    assert mains[:3].sum(1) == pytest.approx([0.0, 0.0, lander.THRUST])
    assert mains[3:].sum(1) == pytest.approx([0.0, 0.0, 0.0], abs=1e-9), "mains together turn it"
    assert np.linalg.norm(mains[:3], axis=0) == pytest.approx([667.0] * 5)
    assert np.linalg.norm(small[:3], axis=0) == pytest.approx([45.0] * 12)
    assert np.linalg.matrix_rank(small[3:]) == 3, "the small ones turn it every way"


def test_open_main_engines_lift_and_closed_ones_do_nothing():
    now = state()
    full = np.full((17, 1), -1.0)
    full[:5] = 1.0
    engines, throttle = lander_controls.engines("thrusters", np, full, now)
    after, _ = lander.fly(np, now, engines, 0.05, 4)
    same, _ = lander.fly(np, now, throttled(1.0), 0.05, 4)
    assert throttle[0] == 1.0
    for name in ("position", "velocity", "propellant"):
        assert after[name] == pytest.approx(same[name], abs=1e-9)
    closed, _ = lander_controls.engines("thrusters", np, np.full((17, 1), -0.7), now)
    falling, _ = lander.fly(np, now, closed, 0.05, 4)
    assert falling["velocity"][2, 0] == pytest.approx(-lander.GRAVITY * 0.2, abs=1e-9)
    assert falling["propellant"][0] == 40.0


def test_one_attitude_thruster_gives_its_force_and_torque_and_burns_its_share():
    now, action = state(), np.zeros((17, 1))
    action[6] = 1.0
    engines, _ = lander_controls.engines("thrusters", np, action, now)
    after, _ = lander.fly(np, now, engines, 0.05, 1)
    force, torque = np.split(np.array(lander_controls.thruster_matrix())[:, 6], 2)
    flow = 45.0 / (lander.ATTITUDE_IMPULSE * lander.STANDARD_GRAVITY)
    mass = lander.DRY_MASS + 40.0
    assert 40.0 - after["propellant"][0] == pytest.approx(flow * 0.05, rel=1e-6)
    expected = force / mass * 0.05 - np.array([0.0, 0.0, lander.GRAVITY * 0.05])
    assert after["velocity"][:, 0] == pytest.approx(expected, rel=2e-3, abs=1e-6)
    inertia = np.array(lander.INERTIA) * mass / lander.INERTIA_MASS
    assert after["rate"][:, 0] == pytest.approx(torque / inertia * 0.05, rel=2e-3, abs=1e-6)


def test_side_thrusters_in_a_turned_body_push_along_its_own_axes():
    now, action = state(attitude=turn(2, math.pi / 2)), np.zeros((17, 1))
    action[[12, 13]] = 1.0
    engines, _ = lander_controls.engines("thrusters", np, action, now)
    after, _ = lander.fly(np, now, engines, 0.05, 1)
    body = np.array(lander_controls.thruster_matrix())[:3, [12, 13]].sum(1)
    assert body[0] > 0
    assert abs(body[1]) < 1e-9
    mass = lander.DRY_MASS + 40.0
    assert after["velocity"][1, 0] == pytest.approx(body[0] / mass * 0.05, rel=2e-3)
