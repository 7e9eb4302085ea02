"""Waypoint navigation: what counts as reached, what is worth what, who can do it, its settings."""

import dataclasses
import importlib
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import machine, rover, waypoint_navigation
from srb_train.errors import UsageError

CONFIGS = Path(__file__).parents[3] / "configs"
NAME = "waypoint_navigation"


def play(env, act, seed=10_000):
    """Return the successes, returns and lengths of the first episode of every row."""
    obs = env.reset(seed)
    success = np.zeros(env.num_envs, dtype=bool)
    returns, lengths = np.zeros(env.num_envs), np.zeros(env.num_envs)
    running = np.ones(env.num_envs, dtype=bool)
    for _ in range(env.max_episode_steps):
        step = env.step(act(obs))
        obs = step.obs
        returns += step.reward * running
        lengths += running
        ended = np.flatnonzero(step.terminated | step.truncated)
        for place, row in enumerate(ended):
            success[row] |= running[row] and step.info["success"][place]
        running[ended] = False
    assert not running.any()
    return success, returns, lengths


def parked(goal="position", waypoints=1, **changes):
    """A task, and one rover at the origin, headed along x, two metres before its waypoints."""
    task = waypoint_navigation.build({"goal": goal, "waypoints": waypoints})
    at = {"x": 2.0, "y": 0.0, "facing": 0.0, "heading": 0.0, **changes}
    zero = np.zeros(1, dtype=np.float32)
    heading = np.array([at["heading"]], dtype=np.float32)
    state = rover.at_rest(np, [zero, zero, heading], [zero, zero], None)
    place = np.array([at["x"], at["y"], at["facing"]], dtype=np.float32)
    state["route"] = np.repeat(place[:, None], waypoints, 1)[:, :, None]
    state["reached"] = zero
    return task, state


STILL = np.zeros((2, 1), dtype=np.float32)
AHEAD = np.array([[1.0], [0.0]], dtype=np.float32)


@pytest.mark.parametrize(
    ("difficulty", "goal", "rate"),
    [
        ("easy", "position", 0.99),
        ("full", "position", 0.98),
        ("steep", "position", 0.98),
        ("easy", "pose", 0.98),
        ("full", "pose", 0.95),
    ],
)
def test_the_scripted_driver_finishes_its_route(difficulty, goal, rate):
    env = machine.make(NAME, 256, {"difficulty": difficulty, "goal": goal})
    success, returns, _ = play(env, waypoint_navigation.scripted)
    assert success.mean() >= rate
    assert returns.mean() > 11.0


@pytest.mark.parametrize("difficulty", ["easy", "full", "steep"])
def test_neither_chance_nor_idleness_does(difficulty):
    env = machine.make(NAME, 64, {"difficulty": difficulty})
    rng = np.random.default_rng(1)
    for act in (
        lambda obs: rng.uniform(-1.0, 1.0, (64, 2)),
        lambda obs: np.zeros((64, 2)),
        lambda obs: np.ones((64, 2)),
    ):
        success, returns, _ = play(env, act)
        assert success.mean() < 0.05
        assert returns.mean() < -2.0


def test_returns_are_those_that_the_description_tells():
    env, rng = machine.make(NAME, 512, {}), np.random.default_rng(0)
    told = (
        (lambda obs: np.zeros((512, 2)), -3.0, 0.05),
        (lambda obs: rng.uniform(-1.0, 1.0, (512, 2)), -3.8, 0.15),
        (waypoint_navigation.scripted, 14.0, 0.3),
    )
    for act, expected, spread in told:
        assert play(env, act)[1].mean() == pytest.approx(expected, abs=spread)


def test_standing_still_costs_its_time_and_nothing_else():
    env = machine.make(NAME, 16, {})
    _, returns, lengths = play(env, lambda obs: np.zeros((16, 2)))
    assert returns == pytest.approx(-0.05 * 60.0, abs=1e-3)
    assert (lengths == 600).all()


def test_the_reward_is_the_way_made_good_less_time_and_effort():
    task, state = parked()
    outcome = task.advance(np, state, AHEAD)
    way = float(outcome.state["x"][0])
    assert way > 0.0
    assert outcome.reward[0] == pytest.approx(way - 0.1 * (0.05 + 0.02), abs=1e-6)
    assert not outcome.terminated[0]


def test_the_last_waypoint_ends_the_episode_in_success():
    task, state = parked(waypoints=2, x=0.2)
    first = task.advance(np, state, STILL)
    assert (first.facts["waypoints_reached"][0], bool(first.terminated[0])) == (1.0, False)
    assert first.reward[0] == pytest.approx(1.0 - 0.005)
    second = task.advance(np, first.state, STILL)
    assert second.facts["success"][0]
    assert second.terminated[0]


@pytest.mark.parametrize(("x", "reached"), [(0.29, True), (0.31, False)])
def test_a_waypoint_is_reached_within_its_radius(x, reached):
    task, state = parked(x=x)
    assert bool(task.advance(np, state, STILL).facts["success"][0]) is reached


@pytest.mark.parametrize(("degrees", "reached"), [(14.0, True), (-14.0, True), (16.0, False)])
def test_a_pose_is_reached_in_its_direction_only(degrees, reached):
    for whole_turns in (0.0, 2.0 * math.pi):
        task, state = parked("pose", x=0.1, facing=math.radians(degrees), heading=whole_turns)
        assert bool(task.advance(np, state, STILL).facts["success"][0]) is reached


def test_at_a_pose_turning_the_right_way_is_worth_something_and_far_from_it_little():
    spin = np.array([[0.0], [1.0]], dtype=np.float32)
    gains = []
    for x in (0.1, 6.0):
        task, state = parked("pose", x=x, facing=1.0)
        gains.append(float(task.advance(np, state, spin).reward[0]) + 0.1 * (0.05 + 0.02))
    assert gains[0] > 0.005
    assert abs(gains[1]) < 0.1 * gains[0]


def test_straying_ends_an_episode_without_success():
    task, state = parked(x=20.5)
    outcome = task.advance(np, state, STILL)
    assert outcome.terminated[0]
    assert not outcome.facts["success"][0]


def test_the_time_limit_cuts_and_does_not_end():
    env = machine.make(NAME, 4, {"time_limit": 2.0})
    env.reset(0)
    for _ in range(20):
        step = env.step(np.zeros((4, 2)))
    assert step.truncated.all()
    assert not step.terminated.any()
    assert not step.info["success"].any()


@pytest.mark.parametrize("difficulty", ["easy", "full", "steep"])
def test_starts_lie_in_the_ranges_of_the_difficulty(difficulty):
    env = machine.make(NAME, 4000, {"difficulty": difficulty})
    ground, state = waypoint_navigation.terrains()[difficulty], env.state
    assert abs(state["route"][:2]).max() == pytest.approx(ground.arena, abs=0.05)
    slip, turn_slip = 1.0 - state["grip"], 1.0 - state["turn_grip"]
    assert (slip.min(), slip.max()) == pytest.approx(ground.slip, abs=0.01)
    assert (turn_slip.min(), turn_slip.max()) == pytest.approx(ground.turn_slip, abs=0.01)
    assert ("rise_x" in state) is (difficulty == "steep")
    if "rise_x" in state:
        slope = np.degrees(np.arctan(np.hypot(state["rise_x"], state["rise_y"])))
        assert (slope.min(), slope.max()) == pytest.approx(ground.slope, abs=0.1)
    assert not any(state[name].any() for name in ("rolling", "spinning", "speed", "turn"))


def test_a_range_can_be_changed_and_a_difficulty_added():
    mud = {"arena": 2.0, "slip": [0.5, 0.6], "turn_slip": [0.0, 0.0], "slope": [0.0, 0.0]}
    env = machine.make(NAME, 100, {"difficulty": "mud", "terrains": {"mud": mud}})
    assert abs(env.state["route"][:2]).max() <= 2.0
    assert env.state["grip"].max() <= 0.5


def test_the_observation_holds_what_its_description_says():
    task, state = parked("pose", waypoints=4, x=3.0, y=4.0, facing=1.0, heading=math.pi / 2)
    state["speed"], state["turn"] = np.float32([0.3]), np.float32([-0.2])
    state["reached"] = state["reached"] + 1.0
    told = task.observe(np, state)[0]
    turn = 1.0 - math.pi / 2
    expected = [4 / 6, -3 / 6, 5 / 6, 0.8, -0.6, 0.5, -0.2, 0.75]
    assert told == pytest.approx([*expected, math.cos(turn), math.sin(turn)], abs=1e-5)


def test_the_observation_is_blind_to_where_north_is():
    env = machine.make(NAME, 64, {"difficulty": "steep", "goal": "pose"})
    env.reset(3)
    for _ in range(5):
        env.step(np.full((64, 2), 0.7))
    angle = 1.1
    cos, sin = math.cos(angle), math.sin(angle)
    turned = {name: values.astype(np.float64) for name, values in env.state.items()}
    x, y = turned["x"], turned["y"]
    turned["x"], turned["y"] = cos * x - sin * y, sin * x + cos * y
    x, y, facing = turned["route"]
    turned["route"] = np.stack([cos * x - sin * y, sin * x + cos * y, facing + angle])
    turned["heading"] = turned["heading"] + angle
    before = env.task.observe(np, env.state)
    assert env.task.observe(np, turned) == pytest.approx(before, abs=5e-6)


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / f"{NAME}.yaml").read_text())
    assert (preset.pop("name"), preset.pop("num_envs")) == (NAME, 512)
    assert preset.pop("engine") == "numpy"
    ranges = {
        name: {key: list(v) if isinstance(v, tuple) else v for key, v in terrain.items()}
        for name, terrain in dataclasses.asdict(waypoint_navigation.build({}))["terrains"].items()
    }
    assert preset.pop("terrains") == ranges
    kind = waypoint_navigation.WaypointNavigation
    own = {field.name: field.default for field in dataclasses.fields(kind)}
    own.pop("terrains")
    assert preset == own


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "hard"}, r"env\.difficulty=hard: one of easy, full, steep"),
        ({"goal": "hole"}, r"env\.goal=hole: one of position, pose"),
        ({"waypoints": 0}, r"env\.waypoints=0: at least 1"),
        ({"time_limit": 0.0}, r"env\.time_limit=0 at env\.control_hz=10"),
        ({"control_hz": 0.0}, r"env\.control_hz=0"),
        ({"terrains": {"full": {"arenas": 3.0}}}, r"env\.terrains\.full\.arenas: .*arena"),
    ],
)
def test_what_cannot_be_driven_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        machine.make(NAME, 2, params)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
@pytest.mark.parametrize("goal", ["position", "pose"])
def test_another_array_library_drives_the_same_route(goal, library):
    pytest.importorskip(library.partition(".")[0])
    xp = importlib.import_module(library)
    task = waypoint_navigation.build({"goal": goal, "difficulty": "steep"})
    uniform = np.random.default_rng(2).random((task.draws, 32), dtype=np.float32)
    ours, theirs = task.begin(np, uniform), task.begin(xp, xp.asarray(uniform))
    for _ in range(70):
        seen = task.observe(np, ours)
        assert np.asarray(task.observe(xp, theirs)) == pytest.approx(seen, abs=1e-3)
        action = np.ascontiguousarray(waypoint_navigation.scripted(seen).T)
        here = task.advance(np, ours, action)
        there = task.advance(xp, theirs, xp.asarray(action))
        ours, theirs = here.state, there.state
        assert np.array_equal(here.terminated, np.asarray(there.terminated))
        assert np.asarray(there.reward) == pytest.approx(here.reward, abs=1e-4)
    assert ours["reached"].any()
