"""Orbital evasion: rocks apart, flight by closed form, what ends an episode, who can do it."""

import dataclasses
import importlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import orbital_evasion, orbital_evasion_field, orbital_evasion_pilot
from srb_train.envs.tasks.batch import Batch
from srb_train.envs.tasks.cartpole import Cartpole
from srb_train.errors import UnsupportedError, UsageError

CONFIGS = Path(__file__).parents[3] / "configs"
HALF = np.array([18.0, 10.0, 10.0])


def make(num_envs, **params):
    return Batch(orbital_evasion.build(params), num_envs)


def play(env, act, seed=10_000):
    """Return the successes and returns of the first episode of every row."""
    obs = env.reset(seed)
    success, returns = np.zeros(env.num_envs, dtype=bool), np.zeros(env.num_envs)
    running = np.ones(env.num_envs, dtype=bool)
    for _ in range(env.max_episode_steps):
        step = env.step(act(obs))
        obs = step.obs
        returns += step.reward * running
        ended = np.flatnonzero(step.terminated | step.truncated)
        for place, row in enumerate(ended):
            success[row] |= running[row] and step.info["success"][place]
        running[ended] = False
    assert not running.any()
    return success, returns


def least_spacing(rocks):
    """Return the least distance between two of (3, rocks, N) centres."""
    gaps = np.sqrt(((rocks[:, :, None] - rocks[:, None]) ** 2).sum(0))
    gaps[np.arange(rocks.shape[1]), np.arange(rocks.shape[1])] = np.inf
    return gaps.min()


def test_rocks_lie_apart_and_within_their_box():
    placed = orbital_evasion_field.throw(200, 16, 7.0, HALF)
    assert placed.shape == (3, 16, 200)
    assert least_spacing(placed) >= 7.0 - 1e-4
    assert (np.abs(placed) <= HALF[:, None, None]).all()


def test_rocks_fill_their_box_and_not_a_part_of_it():
    placed = orbital_evasion_field.throw(400, 16, 7.0, HALF) / HALF[:, None, None]
    for axis in placed.reshape(3, -1):
        assert axis.mean() == pytest.approx(0.0, abs=0.03)
        assert 0.5 < axis.std() < 0.75, "a uniform one has 0.58; spacing pushes to the walls"


def test_the_table_is_fixed_for_good():
    placed = orbital_evasion_field.throw(3, 2, 7.0, HALF)
    told = placed[:, 1].T.tolist()
    known = [[6.654, 6.835, -3.742], [-5.562, -0.998, 0.913], [2.843, -2.589, -6.112]]
    assert told == [pytest.approx(row, abs=1e-3) for row in known]


def test_a_box_does_not_depend_on_how_many_are_drawn():
    few, many = (orbital_evasion_field.throw(count, 16, 7.0, HALF) for count in (5, 60))
    assert np.array_equal(few, many[:, :, :5])


def test_rocks_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="16 rocks do not fit 20 m apart"):
        orbital_evasion_field.throw(2, 16, 20.0, HALF)


@pytest.mark.parametrize("difficulty", ["easy", "full"])
def test_episodes_begin_in_the_ranges_of_the_difficulty(difficulty):
    told = orbital_evasion.fields()[difficulty]
    state = make(2000, difficulty=difficulty).state
    x, y, _ = state["rocks"]
    assert state["rocks"].shape == (3, told.rocks, 2000)
    assert least_spacing(state["rocks"]) >= told.spacing - 1e-4
    assert (x.min(), x.max()) == pytest.approx(told.along, abs=0.05)
    assert np.abs(y).max() == pytest.approx(told.across, abs=0.05)
    assert (state["radius"].min(), state["radius"].max()) == pytest.approx(told.radius, abs=0.01)
    assert np.abs(state["drift"]).max() == pytest.approx(told.drift, abs=0.001)
    assert np.abs(state["position"]).max() == pytest.approx(told.start, abs=0.01)
    assert not state["velocity"].any()
    assert (orbital_evasion.clearances(np, state)[1] > 0.0).all(), "no episode begins in a rock"


def test_fields_differ_from_episode_to_episode():
    rocks = make(2000).state["rocks"].transpose(2, 0, 1).round(4)
    assert len({field.tobytes() for field in rocks}) > 1700, "of 8192 layouts"
    sides = rocks[:, 1].mean(1)
    assert sides.mean() == pytest.approx(0.0, abs=0.2)


def test_constant_thrust_gives_the_parabola_of_the_closed_form():
    env = make(3)
    start = env.state["position"].astype(np.float64)
    state, action = env.state, np.tile(np.float32([[0.5], [-1.0], [0.0]]), (1, 3))
    for _ in range(20):
        state = env.task.advance(np, state, action).state
    time, push = 20 * env.task.control_dt, np.array([[0.25], [-0.5], [0.0]])
    assert state["velocity"] == pytest.approx(np.tile(push * time, (1, 3)), rel=1e-5, abs=1e-6)
    assert state["position"] == pytest.approx(start + 0.5 * push * time**2, abs=1e-4)


def test_rocks_drift_at_their_own_speed():
    env = make(8)
    before, drift = env.state["rocks"], env.state["drift"]
    state = env.state
    for _ in range(50):
        state = env.task.advance(np, state, np.zeros((3, 8), np.float32)).state
    assert state["rocks"] == pytest.approx(before + 50 * env.task.control_dt * drift, abs=1e-3)


def test_the_propellant_gives_its_velocity_change_and_no_more():
    env = make(4)
    state, left = env.state, env.state["velocity_left"].copy()
    action = np.tile(np.float32([[0.0], [0.0], [1.0]]), (1, 4))
    for _ in range(160):
        state = env.task.advance(np, state, action).state
    assert (state["velocity_left"] == 0.0).all()
    assert state["velocity"][2] == pytest.approx(left, rel=1e-5)
    assert not env.task.advance(np, state, action).state["firing"].any()


def alone(num_envs=1):
    """A task whose rocks are far away, at rest, but for what a test moves."""
    env = make(num_envs)
    env.state["rocks"][:] = 90.0
    env.state["drift"][:] = 0.0
    env.state["radius"][:] = 2.0
    env.state["position"][:] = 0.0
    return env


def outcome(env):
    action = np.zeros((3, env.num_envs), dtype=np.float32)
    return env.task.advance(np, env.state, action)


def test_what_flies_through_a_rock_within_a_step_has_struck_it():
    env = alone(2)
    env.state["velocity"][0] = 50.0
    env.state["rocks"][:, 3] = [[10.0, 10.0], [0.0, 0.0], [2.2, 2.4]]
    told = outcome(env)
    assert told.terminated.tolist() == [True, False]
    assert not told.facts["success"].any()
    assert told.facts["clearance"] == pytest.approx([-0.1, 0.1], abs=1e-4)
    assert told.reward[0] - told.reward[1] == pytest.approx(-10.0, abs=0.1)


@pytest.mark.parametrize(
    ("away", "speed", "arrived"),
    [(1.9, 0.0, True), (2.1, 0.0, False), (1.0, 0.95, True), (1.0, 1.05, False)],
)
def test_each_limit_of_an_arrival_alone_decides(away, speed, arrived):
    env = alone()
    env.state["position"][0] = orbital_evasion_field.GOAL - away
    env.state["velocity"][1] = speed
    told = outcome(env)
    assert bool(told.facts["success"][0]) == bool(told.terminated[0]) == arrived
    assert (told.reward[0] > 9.0) == arrived


def test_flying_far_off_ends_an_episode():
    env = alone(2)
    env.state["position"][0, 0] = -51.0
    told = outcome(env)
    assert told.terminated.tolist() == [True, False]
    assert told.reward[0] < -9.9


def test_closeness_costs_before_a_strike():
    worth = []
    for room in (3.0, 1.5, 0.75, 0.1):
        env = alone()
        env.state["rocks"][:, 0, 0] = [2.0 + 0.3 + room, 0.0, 0.0]
        worth.append(float(outcome(env).reward[0]))
    assert worth == sorted(worth, reverse=True)
    assert len(set(worth)) == 4


def test_flying_straight_at_the_pace_costs_nothing_and_idling_does():
    distance = np.array([1.0, 5.0, 30.0])
    pace = orbital_evasion.pace(np, distance)
    assert (np.diff(pace) >= 0).all()
    assert pace[0] < orbital_evasion_field.GOAL_SPEED
    way = np.stack([distance, 0 * distance, 0 * distance])
    flying = {"velocity": np.stack([pace, 0 * pace, 0 * pace])}
    told = orbital_evasion.strain(np, flying, way, distance)
    assert told == pytest.approx(np.zeros(3), abs=1e-6)
    idle = orbital_evasion.strain(np, {"velocity": 0.0 * way}, way, distance)
    assert (idle > 0.1).all()


def test_the_observation_does_not_depend_on_the_order_of_the_rocks():
    env = make(16)
    seen = env.task.observe(np, env.state)
    order = np.random.default_rng(0).permutation(env.state["rocks"].shape[1])
    mixed = {**env.state, "rocks": env.state["rocks"][:, order]}
    mixed["radius"] = env.state["radius"][order]
    assert np.array_equal(env.task.observe(np, mixed), seen)


def test_the_observation_holds_what_its_description_says():
    env = alone()
    env.state["position"][:, 0] = [20.0, 3.0, -4.0]
    env.state["velocity"][:, 0] = [1.0, 0.0, -2.0]
    env.state["velocity_left"][0] = 12.0
    env.state["rocks"][:, 7, 0] = [20.0, 3.0, 6.0]  # 10 m above, 7.7 m of room
    env.state["rocks"][:, 2, 0] = [20.0, -1.0, -4.0]  # 4 m beside, 1.7 m of room
    told = env.task.observe(np, env.state)[0]
    distance, speed = np.sqrt(30.0**2 + 9.0 + 16.0), np.sqrt(5.0)
    own = [0.6, -0.06, 0.08, 0.4, 0.0, -0.8, distance / (distance + 5.0), 0.4 * speed, 1.2]
    assert told[:9] == pytest.approx(own, rel=1e-5)
    rocks = told[9:].reshape(4, 6)
    assert rocks[:, 0] == pytest.approx([0.0, -5.0 / 6.7, 0.0, 1.7 / 6.7], abs=1e-5)
    assert rocks[:, 1] == pytest.approx([0.0, 0.0, 5.0 / 12.7, 7.7 / 12.7], abs=1e-5)
    assert (np.diff(rocks[3]) >= 0).all()


@pytest.mark.parametrize(("difficulty", "least"), [("easy", 0.99), ("full", 0.95)])
def test_the_scripted_pilot_crosses_the_field(difficulty, least):
    env = make(256, difficulty=difficulty)
    success, returns = play(env, lambda obs: orbital_evasion_pilot.scripted(env))
    assert success.mean() >= least
    assert returns.mean() > 15.0


@pytest.mark.parametrize(
    ("difficulty", "idle", "random", "straight"),
    [("easy", -12.0, -24.5, 0.62), ("full", -12.1, -23.1, 0.35)],
)
def test_neither_chance_nor_idleness_nor_blindness_crosses_it(difficulty, idle, random, straight):
    env, rng = make(256, difficulty=difficulty), np.random.default_rng(1)

    def blind(obs):
        """Fly straight to the goal and brake in time."""
        way, velocity = obs[:, :3] * 50.0, obs[:, 3:6] * 2.5
        distance = np.linalg.norm(way, axis=1, keepdims=True)
        wanted = way / distance * np.minimum(np.sqrt(0.6 * distance), 2.0)
        return 1.5 * (wanted - velocity) / 0.5

    still = play(env, lambda obs: np.zeros((256, 3)))
    wild = play(env, lambda obs: rng.uniform(-1.0, 1.0, (256, 3)))
    assert not still[0].any()
    assert not wild[0].any()
    assert still[1].mean() == pytest.approx(idle, abs=0.5)
    assert wild[1].mean() == pytest.approx(random, abs=3.0)
    assert play(env, blind)[0].mean() == pytest.approx(straight, abs=0.1)


def test_the_pilot_says_what_it_cannot_fly():
    with pytest.raises(UnsupportedError):
        orbital_evasion_pilot.scripted(Batch(Cartpole(), 2))


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / "orbital_evasion.yaml").read_text())
    assert (preset.pop("name"), preset.pop("num_envs")) == ("orbital_evasion", 512)
    assert preset.pop("engine") == "numpy"
    ranges = {
        name: {key: list(v) if isinstance(v, tuple) else v for key, v in told.items()}
        for name, told in dataclasses.asdict(orbital_evasion.OrbitalEvasion())["fields"].items()
    }
    assert preset.pop("fields") == ranges
    own = {
        field.name: field.default for field in dataclasses.fields(orbital_evasion.OrbitalEvasion)
    }
    own.pop("fields")
    assert preset == own


EASY = dataclasses.asdict(orbital_evasion.fields()["easy"])


def test_a_difficulty_can_be_added():
    env = make(50, difficulty="dense", fields={"dense": {**EASY, "rocks": 20, "spacing": 5.0}})
    assert env.state["rocks"].shape == (3, 20, 50)
    assert least_spacing(env.state["rocks"]) >= 5.0 - 1e-4


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "hard"}, r"env\.difficulty=hard: one of easy, full"),
        ({"time_limit": 0.0}, r"env\.time_limit=0 is shorter"),
        ({"control_hz": 0.0}, r"env\.control_hz=0"),
        ({"fields": {"easy": {**EASY, "rocks": 3}}}, r"env\.fields\.easy\.rocks=3: at least 6"),
        ({"fields": {"easy": {**EASY, "spacing": 30.0}}}, "12 rocks do not fit 30 m apart"),
        ({"fields": {"easy": {"rock": 3}}}, r"env\.fields\.easy\.rock: .*rocks"),
    ],
)
def test_what_cannot_be_flown_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        make(2, **params)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_another_array_library_flies_the_same_way(library):
    pytest.importorskip(library.partition(".")[0])
    xp = importlib.import_module(library)
    env = make(32)
    drawn = np.random.default_rng(3).random((env.task.draws, 32), dtype=np.float32)
    ours, theirs = env.task.begin(np, drawn), env.task.begin(xp, xp.asarray(drawn))
    advance = partial(env.task.advance, xp)
    if library == "jax.numpy":
        advance = importlib.import_module("jax").jit(advance)
    rng = np.random.default_rng(0)
    for _ in range(60):
        action = rng.uniform(-1.0, 1.0, (3, 32)).astype(np.float32)
        here = env.task.advance(np, ours, action)
        there = advance(theirs, xp.asarray(action))
        ours, theirs = here.state, there.state
        assert np.array_equal(here.terminated, np.asarray(there.terminated))
        assert np.asarray(there.reward) == pytest.approx(here.reward, abs=2e-4)
    seen = np.asarray(env.task.observe(xp, theirs))
    assert seen == pytest.approx(env.task.observe(np, ours), abs=1e-3)
