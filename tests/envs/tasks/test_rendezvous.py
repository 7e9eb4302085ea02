"""Rendezvous: what counts as docking, what is worth what, who can do it, and its settings."""

import dataclasses
import importlib
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import rendezvous, rendezvous_pilot
from srb_train.envs.tasks import rendezvous_satellites as satellites
from srb_train.envs.tasks.batch import Batch
from srb_train.envs.tasks.cartpole import Cartpole
from srb_train.errors import UnsupportedError, UsageError

CONFIGS = Path(__file__).parents[3] / "configs"


def make(num_envs, **params):
    return Batch(rendezvous.build(params), num_envs)


def play(env, act, seed=10_000):
    """Return the successes, returns and lengths of the first episode of every row."""
    obs = env.reset(seed)
    success, returns = np.zeros(env.num_envs, dtype=bool), np.zeros(env.num_envs)
    lengths, running = np.zeros(env.num_envs), np.ones(env.num_envs, dtype=bool)
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


@pytest.mark.parametrize("difficulty", ["easy", "full"])
def test_the_scripted_pilot_docks_every_time(difficulty):
    env = make(256, difficulty=difficulty)
    success, returns, _ = play(env, lambda obs: rendezvous_pilot.scripted(env))
    assert success.all()
    assert returns.mean() > 15.0


def test_it_docks_with_thrusters_that_differ_and_on_other_orbits():
    env = make(256, difficulty="full", thrust_error=0.1, impulse_error=0.1, altitude=300.0)
    assert env.state["thrust"].std() > 0.02
    assert play(env, lambda obs: rendezvous_pilot.scripted(env))[0].all()


@pytest.mark.parametrize(
    ("difficulty", "idle", "random"), [("easy", -30.9, -42.2), ("full", -33.4, -44.3)]
)
def test_neither_chance_nor_idleness_docks(difficulty, idle, random):
    env, rng = make(256, difficulty=difficulty), np.random.default_rng(1)
    still = play(env, lambda obs: np.zeros((256, 3)))
    wild = play(env, lambda obs: rng.uniform(-1.0, 1.0, (256, 3)))
    assert not still[0].any()
    assert wild[0].mean() < 0.02
    assert still[1].mean() == pytest.approx(idle, abs=2.0)
    assert wild[1].mean() == pytest.approx(random, abs=3.0)
    diving = play(env, lambda obs: np.tile([0.0, -1.0, 0.0], (256, 1)))
    assert not diving[0].any()
    assert diving[1].mean() < -5.0


def test_noise_of_a_new_policy_does_not_make_docking_impossible():
    env, rng = make(256), np.random.default_rng(2)

    def shaky(obs):
        return rendezvous_pilot.scripted(env) + rng.normal(0.0, 0.3, (256, 3))

    assert play(env, shaky)[0].mean() > 0.3


def touch(distance=0.15, speed=0.03, side=0.0, **more):
    """One free step that ends near the port, straight ahead of it unless the caller says so."""
    task = rendezvous.Rendezvous()
    arrays = {
        "position": [[side], [satellites.PORT + distance + speed], [0.0]],
        "velocity": [[0.0], [-speed], [0.0]],
        "propellant": [0.1],
        "thrust": [satellites.THRUST],
        "flow": [satellites.FLOW],
        "firing": [[0.0], [0.0], [0.0]],
        **more,
    }
    state = {name: np.array(value, dtype=np.float32) for name, value in arrays.items()}
    outcome = task.advance(np, state, np.zeros((3, 1), dtype=np.float32))
    ended, docked = bool(outcome.terminated[0]), bool(outcome.facts["success"][0])
    return ended, docked, float(outcome.reward[0])


def test_a_slow_touch_at_the_port_docks():
    assert touch()[:2] == (True, True)


@pytest.mark.parametrize(
    ("changes", "ended", "docked"),
    [
        ({"speed": 0.049}, True, True),
        ({"speed": 0.051}, True, False),
        ({"distance": 0.19}, True, True),
        ({"distance": 0.21}, False, False),
        ({"side": 0.3}, False, False),
        ({"position": [[0.0], [-0.5], [0.0]], "velocity": [[0.0]] * 3}, True, False),
    ],
)
def test_each_limit_alone_decides(changes, ended, docked):
    assert touch(**changes)[:2] == (ended, docked)


def test_what_flies_through_the_target_within_a_step_has_hit_it():
    through = {"position": [[5.0], [0.0], [0.0]], "velocity": [[-10.0], [0.0], [0.0]]}
    assert touch(**through)[:2] == (True, False)
    beside = {"position": [[5.0], [0.0], [1.0]], "velocity": [[-10.0], [0.0], [0.0]]}
    assert not touch(**beside)[0]


def test_a_harder_touch_is_worth_less_with_no_plateau_on_the_way():
    worth = [touch(speed=speed)[2] for speed in (0.04, 0.06, 0.1, 0.2, 0.5, 1.0, 2.0)]
    assert worth == sorted(worth, reverse=True)
    assert len(set(worth)) == len(worth)
    assert worth[0] > 19.0
    assert worth[1] > -3.0


def test_the_approach_that_the_reward_asks_for_costs_nothing():
    distance = np.array([0.3, 2.0, 20.0, 60.0])
    pace = rendezvous.closing(np, distance)
    assert (np.diff(pace) >= 0).all()
    assert rendezvous.closing(np, np.array([0.2]))[0] < satellites.CAPTURE_SPEED
    position = np.stack([0 * distance, satellites.PORT + distance, 0 * distance])
    velocity = np.stack([0 * pace, -pace, 0 * pace])
    state = {"position": position, "velocity": velocity}
    assert rendezvous.strain(np, state, distance) == pytest.approx(np.zeros(4), abs=1e-6)
    errors = [0.05, 0.2, 0.5, 0.9]
    costs = [
        rendezvous.strain(np, {**state, "velocity": velocity + error}, distance)[2]
        for error in errors
    ]
    assert costs == sorted(costs)


def test_a_burn_gives_what_the_rocket_equation_says_and_ends_with_the_tank():
    """Far from any mass, so that nothing else moves the satellite."""
    env = make(4, altitude=1e9)
    env.reset(1)
    fuel, before = env.state["propellant"].copy(), env.state["velocity"].copy()
    state, action = env.state, np.tile(np.float32([[0.0], [0.0], [1.0]]), (1, 4))
    for _ in range(150):
        state = env.task.advance(np, state, action).state
    assert (state["propellant"] == 0.0).all()
    gained = satellites.IMPULSE * satellites.STANDARD_GRAVITY
    gained = gained * np.log1p(fuel / satellites.DRY_MASS)
    assert state["velocity"][2] - before[2] == pytest.approx(gained, rel=1e-4)
    assert state["velocity"][:2] == pytest.approx(before[:2], abs=1e-6)
    still = env.task.advance(np, state, action).state
    assert np.array_equal(still["velocity"], state["velocity"])
    assert not still["firing"].any()


def test_flying_far_off_ends_an_episode():
    env = make(2)
    env.state["position"][1, 0] = 62.0
    step = env.step(np.zeros((2, 3), dtype=np.float32))
    assert step.terminated.tolist() == [True, False]
    assert step.reward[0] < -14.9


def test_starts_lie_in_the_ranges_of_the_difficulty():
    for difficulty, start in rendezvous.starts().items():
        (x, y, z), (v_x, v_y, _) = (
            make(3000, difficulty=difficulty).state[name] for name in ("position", "velocity")
        )
        assert (y.min(), y.max()) == pytest.approx(start.ahead, abs=0.1)
        assert np.abs(x).max() == pytest.approx(start.side, abs=0.05)
        assert np.abs(z).max() <= start.side
        assert np.abs(v_x).max() <= start.side_speed
        assert np.abs(v_y).max() == pytest.approx(start.ahead_speed, abs=0.01)


def test_a_range_can_be_changed_and_a_difficulty_added():
    near = {**dataclasses.asdict(rendezvous.starts()["easy"]), "ahead": [5.0, 6.0]}
    env = make(100, difficulty="near", starts={"near": near})
    assert env.state["position"][1].max() <= 6.0


def test_the_observation_holds_what_its_description_says():
    state = {
        "position": np.array([[3.0], [5.0], [-0.5]]),
        "velocity": np.array([[0.1], [-0.2], [0.3]]),
        "propellant": np.array([0.05]),
    }
    distance = math.sqrt(9.0 + 16.0 + 0.25)
    expected = [-0.06, -0.08, 0.01, *np.tanh([-3.0, -4.0, 0.5]), 0.3, -0.6, 0.9, 0.5]
    told = rendezvous.Rendezvous().observe(np, state)[0]
    assert told == pytest.approx([*expected, distance / (distance + 2.0)], rel=1e-6)


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / "rendezvous.yaml").read_text())
    assert (preset.pop("name"), preset.pop("num_envs")) == ("rendezvous", 512)
    assert preset.pop("engine") == "numpy"
    ranges = {
        name: {key: list(v) if isinstance(v, tuple) else v for key, v in start.items()}
        for name, start in dataclasses.asdict(rendezvous.Rendezvous())["starts"].items()
    }
    assert preset.pop("starts") == ranges
    own = {field.name: field.default for field in dataclasses.fields(rendezvous.Rendezvous)}
    own.pop("starts")
    assert preset == own


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "hard"}, r"env\.difficulty=hard: one of easy, full"),
        ({"time_limit": 0.0}, r"env\.time_limit=0 is shorter"),
        ({"altitude": -1.0}, r"env\.altitude=-1"),
        ({"control_hz": 0.0}, r"env\.control_hz=0"),
        ({"altitud": 400.0}, r"env\.altitud: .*altitude"),
        ({"starts": {"easy": {"aheads": [1, 2]}}}, r"env\.starts\.easy\.aheads: .*ahead"),
    ],
)
def test_what_cannot_be_flown_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        make(2, **params)


def test_the_pilot_says_what_it_cannot_fly():
    with pytest.raises(UnsupportedError):
        rendezvous_pilot.scripted(Batch(Cartpole(), 2))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_another_array_library_flies_the_same_approach(library):
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
    assert seen == pytest.approx(env.task.observe(np, ours), abs=1e-4)
