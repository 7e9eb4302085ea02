"""Sample collection: what counts as scooped and delivered, what is worth what, who can do it."""

import dataclasses
import importlib
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import machine, rover, sample_collection, sample_collection_sight
from srb_train.envs.tasks.sample_collection_pilot import scripted
from srb_train.envs.tasks.sample_collection_site import Mission, sites
from srb_train.errors import UsageError

CONFIGS = Path(__file__).parents[3] / "configs"
NAME = "sample_collection"
STILL = np.zeros((2, 1), dtype=np.float32)
AHEAD = np.array([[1.0], [0.0]], dtype=np.float32)


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
        if not running.any():
            break
    assert not running.any()
    return success, returns, lengths


def parked(samples=((3.0, 0.0), (0.0, 3.0)), rocks=((-3.0, 0.0),) * 3, observe="state", **changes):
    """A task, and one rover headed along x, among samples and rocks of 0.4 m."""
    site = {"samples": len(samples), "capacity": 2, "rocks": len(rocks)}
    site |= dataclasses.asdict(sites()["easy"]) | site
    task = sample_collection.build(
        {"difficulty": "here", "sites": {"here": site}, "observe": observe}
    )
    at = {
        "x": 0.0,
        "y": 0.0,
        "heading": 0.0,
        "load": 0.0,
        "delivered": 0.0,
        "charge": 9.0,
        **changes,
    }
    zero = np.zeros(1, dtype=np.float32)
    pose = [np.array([at[name]], dtype=np.float32) for name in ("x", "y", "heading")]
    state = rover.at_rest(np, pose, [zero, zero], None)
    state["samples"] = np.array(samples, dtype=np.float32).T[..., None]
    state["waiting"] = np.ones((len(samples), 1), dtype=np.float32)
    state["rocks"] = np.array(rocks, dtype=np.float32).T[..., None]
    state["radius"] = np.full((len(rocks), 1), 0.4, dtype=np.float32)
    for name in ("load", "delivered", "charge"):
        state[name] = np.array([at[name]], dtype=np.float32)
    return task, state


@pytest.mark.parametrize(("difficulty", "rate"), [("easy", 0.98), ("full", 0.95)])
def test_the_scripted_driver_collects_all_samples(difficulty, rate):
    env = machine.make(NAME, 256, {"difficulty": difficulty})
    success, returns, _ = play(env, scripted)
    assert success.mean() >= rate
    assert returns.mean() > 13.0


@pytest.mark.parametrize("difficulty", ["easy", "full"])
def test_neither_chance_nor_idleness_does(difficulty):
    env = machine.make(NAME, 64, {"difficulty": difficulty})
    rng = np.random.default_rng(1)
    for act in (
        lambda obs: rng.uniform(-1.0, 1.0, (64, 2)),
        lambda obs: np.zeros((64, 2)),
        lambda obs: np.ones((64, 2)),
    ):
        success, returns, _ = play(env, act)
        assert success.mean() < 0.02
        assert returns.mean() < 0.0


def test_returns_are_those_that_the_description_tells():
    env, rng = machine.make(NAME, 512, {}), np.random.default_rng(0)
    told = (
        (lambda obs: np.zeros((512, 2)), -12.0, 0.05),
        (lambda obs: rng.uniform(-1.0, 1.0, (512, 2)), -13.9, 0.3),
        (scripted, 14.35, 0.3),
    )
    for act, expected, spread in told:
        assert play(env, act)[1].mean() == pytest.approx(expected, abs=spread)


def test_a_sample_within_reach_is_scooped_by_a_slow_rover_with_room():
    for changes, scooped in (({}, 1.0), ({"load": 2.0}, 0.0)):
        task, state = parked(samples=((2.45, 0.0), (0.0, 3.0)), x=2.0, **changes)
        after = task.advance(np, state, STILL).state
        assert float(after["load"][0]) == changes.get("load", 0.0) + scooped
        assert after["waiting"][:, 0].tolist() == [1.0 - scooped, 1.0]
    task, state = parked(samples=((2.55, 0.0), (0.0, 3.0)), x=2.0)
    assert not task.advance(np, state, STILL).state["load"].any()


def test_a_fast_rover_drives_over_a_sample():
    task, state = parked(samples=((2.2, 0.0), (0.0, 3.0)), x=2.0)
    state["rolling"] = np.array([0.6], dtype=np.float32)
    after = task.advance(np, state, AHEAD).state
    assert float(after["speed"][0]) > 0.5
    assert not after["load"].any()


def test_samples_are_delivered_on_the_plate_and_the_last_one_ends_in_success():
    task, state = parked(x=0.75, load=1.0, delivered=0.0)
    first = task.advance(np, state, STILL)
    assert (float(first.state["load"][0]), float(first.state["delivered"][0])) == (0.0, 1.0)
    assert not first.terminated[0]
    task, state = parked(x=0.75, load=1.0, delivered=1.0)
    state["waiting"][:] = 0.0
    last = task.advance(np, state, STILL)
    assert last.terminated[0]
    assert last.facts["success"][0]
    assert float(last.facts["samples_delivered"][0]) == 2.0
    task, state = parked(x=0.85, load=1.0, delivered=1.0)
    assert not task.advance(np, state, STILL).state["delivered"][0] > 1.0


def test_the_reward_is_the_way_made_good_to_the_nearest_sample():
    task, state = parked(samples=((3.0, 0.0), (0.0, 4.0)))
    outcome = task.advance(np, state, AHEAD)
    way = float(outcome.state["x"][0])
    assert way > 0.0
    assert outcome.reward[0] == pytest.approx(0.5 * way - 0.2 * (0.1 + 0.02), abs=1e-6)


def test_a_full_rover_is_paid_for_the_way_home():
    task, state = parked(x=2.0, load=2.0, heading=math.pi)
    outcome = task.advance(np, state, AHEAD)
    way = 2.0 - float(outcome.state["x"][0])
    assert way > 0.0
    assert outcome.reward[0] == pytest.approx(0.5 * way - 0.2 * 0.12, abs=1e-5)


def test_scooping_and_unloading_are_worth_two_each():
    task, state = parked(samples=((2.4, 0.0), (0.0, 3.0)), x=2.0)
    assert task.advance(np, state, STILL).reward[0] == pytest.approx(2.0 - 0.02, abs=1e-6)
    task, state = parked(x=0.7, load=2.0)
    assert task.advance(np, state, STILL).reward[0] == pytest.approx(4.0 - 0.02, abs=1e-6)


def test_closeness_to_a_rock_costs_and_touching_it_ends_the_episode():
    for gap, struck in ((0.25, False), (-0.01, True)):
        task, state = parked(rocks=((0.0, -(0.4 + 0.35 + gap)), (9.0, 9.0), (-9.0, 9.0)), x=0.0)
        outcome = task.advance(np, state, STILL)
        near = 0.2 * 0.5 * min(1.0, 1.0 - gap / 0.5)
        assert outcome.reward[0] == pytest.approx(-0.02 - near - 5.0 * struck, abs=1e-4)
        assert bool(outcome.terminated[0]) is struck
        assert bool(outcome.facts["collided"][0]) is struck
        assert not outcome.facts["success"][0]


def test_a_battery_pays_for_time_and_for_what_the_wheels_run():
    task, state = parked(charge=5.0)
    assert task.advance(np, state, STILL).state["charge"][0] == pytest.approx(5.0 - 0.012)
    state["rolling"] = np.array([0.6], dtype=np.float32)
    after = task.advance(np, state, AHEAD).state
    assert after["charge"][0] == pytest.approx(5.0 - 0.012 - 0.2 * 0.6 * 0.1, abs=1e-6)
    state["charge"][:] = 0.01
    outcome = task.advance(np, state, AHEAD)
    assert outcome.terminated[0]
    assert outcome.state["charge"][0] == 0.0
    assert not outcome.facts["success"][0]


def test_straying_ends_an_episode():
    task, state = parked(x=15.5)
    outcome = task.advance(np, state, STILL)
    assert outcome.terminated[0]
    assert outcome.reward[0] == pytest.approx(-5.02, abs=1e-3)


def test_the_time_limit_cuts_and_does_not_end():
    env = machine.make(NAME, 4, {"time_limit": 2.0})
    env.reset(0)
    for _ in range(10):
        step = env.step(np.zeros((4, 2)))
    assert step.truncated.all()
    assert not step.terminated.any()
    assert not step.info["success"].any()


@pytest.mark.parametrize("difficulty", ["easy", "full"])
def test_starts_lie_in_the_ranges_of_the_difficulty(difficulty):
    env = machine.make(NAME, 4000, {"difficulty": difficulty})
    site, state = sites()[difficulty], env.state
    things = np.concatenate([np.zeros((2, 1, 4000)), state["samples"], state["rocks"]], 1)
    assert things.shape[1] == 1 + site.samples + site.rocks
    away = np.hypot(*things)
    assert site.arena - 0.05 < away.max() <= site.arena + 1e-3
    gaps = np.hypot(*(things[:, :, None] - things[:, None]))
    gaps[np.arange(len(gaps)), np.arange(len(gaps))] = np.inf
    assert gaps.min() >= site.spacing - 1e-3
    assert (state["radius"].min(), state["radius"].max()) == pytest.approx(site.radius, abs=0.005)
    assert (state["charge"].min(), state["charge"].max()) == pytest.approx(site.charge, abs=0.01)
    slip = 1.0 - state["grip"]
    assert (slip.min(), slip.max()) == pytest.approx(site.slip, abs=0.01)
    bearing = np.arctan2(*state["samples"][:, 0])
    assert np.histogram(bearing, 8, (-np.pi, np.pi))[0].min() > 400, "turned all ways"


def test_the_observation_tells_of_the_nearest_things_first():
    rocks = ((4.0, 1.0), (0.0, -3.0), (-2.0, 0.0), (9.0, 9.0))
    task, state = parked(samples=((4.0, 0.0), (0.0, 3.0), (-6.0, 0.0)), rocks=rocks, x=1.0)
    state["radius"][:, 0] = (0.3, 0.4, 0.5, 0.4)
    state["waiting"][1] = 0.0
    told = task.observe(np, state)[0]
    assert told[:6] == pytest.approx([1.0, 0.0, 3 / 4, -1.0, 0.0, 7 / 8], abs=1e-5)
    room = math.hypot(3.0, 1.0) - 0.3 - 0.35
    rooms = [3.0 - 0.5 - 0.35, math.hypot(1.0, 3.0) - 0.4 - 0.35, room]
    assert told[8:18:4] == pytest.approx([c / (c + 1) for c in sorted(rooms)], abs=1e-5)
    assert told[9:18:4] == pytest.approx([1.0, 0.8, 0.6], abs=1e-5)
    assert told[6:8] == pytest.approx([-1.0 / (1.0 + rooms[0]), 0.0], abs=1e-5)
    state["waiting"][:] = 0.0
    assert task.observe(np, state)[0][:6] == pytest.approx([0, 0, 1, 0, 0, 1], abs=1e-5)


def test_the_rover_knows_its_motion_its_load_and_the_way_home():
    task, state = parked(x=0.0, y=2.0, load=1.0, delivered=1.0, charge=7.0)
    state["speed"], state["turn"] = np.float32([0.3]), np.float32([-0.2])
    state["rolling"], state["spinning"] = np.float32([0.6]), np.float32([-0.4])
    told = task.observe(np, state)[0][18:]
    expected = [0.5, -0.2, 1.0, -0.4, 0.5, 0.5, 0.7, 0.0, -1.0, 2 / 3]
    assert told == pytest.approx(expected, abs=1e-5)


def test_only_the_critic_is_told_of_the_slip_and_of_everything():
    task, state = parked(observe="dict", x=1.0)
    state["grip"], state["turn_grip"] = np.float32([0.8]), np.float32([0.7])
    seen = task.observe(np, state)
    space = task.observation_space
    assert set(seen) == set(space.spaces) == {"state", "proprio", "critic"}
    assert all(seen[key].shape == (1, *space[key].shape) for key in seen)
    slipped = {**state, "grip": np.float32([0.9]), "turn_grip": np.float32([0.6])}
    then = task.observe(np, slipped)
    assert np.array_equal(seen["state"], then["state"])
    assert np.array_equal(seen["proprio"], then["proprio"])
    assert seen["critic"][0, :2] == pytest.approx([0.8, 0.7])
    assert seen["critic"][0, 2:8] == pytest.approx([2 / 6, 0, 1, -1 / 6, 3 / 6, 1], abs=1e-6)
    assert seen["critic"][0, 8:11] == pytest.approx([-4 / 6, 0, 0.8], abs=1e-6)
    assert len(seen["critic"][0]) == sample_collection_sight.everything_size(2, 3, slopes=False)


def test_the_vector_is_the_dict_without_the_critic():
    one, other = machine.make(NAME, 5, {}), machine.make(NAME, 5, {"observe": "dict"})
    seen = other.reset(3)
    assert np.array_equal(one.reset(3), np.concatenate([seen["state"], seen["proprio"]], 1))


def test_the_observation_is_blind_to_where_north_is():
    env = machine.make(NAME, 32, {"observe": "dict", "sites": {"easy": SLOPING}})
    env.reset(3)
    for _ in range(5):
        env.step(np.full((32, 2), 0.7))
    angle = 1.1
    cos, sin = math.cos(angle), math.sin(angle)
    turned = {name: values.astype(np.float64) for name, values in env.state.items()}
    for across, up in (("x", "y"), ("rise_x", "rise_y")):
        x, y = turned[across], turned[up]
        turned[across], turned[up] = cos * x - sin * y, sin * x + cos * y
    for name in ("samples", "rocks"):
        x, y = turned[name]
        turned[name] = np.stack([cos * x - sin * y, sin * x + cos * y])
    turned["heading"] = turned["heading"] + angle
    before, after = env.task.observe(np, env.state), env.task.observe(np, turned)
    for key, part in before.items():
        assert after[key] == pytest.approx(part, abs=2e-5)


SLOPING = {**dataclasses.asdict(sites()["easy"]), "slope": [5.0, 10.0]}


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / f"{NAME}.yaml").read_text())
    assert (preset.pop("name"), preset.pop("num_envs")) == (NAME, 512)
    assert preset.pop("engine") == "numpy"
    ranges = {
        name: {key: list(v) if isinstance(v, tuple) else v for key, v in site.items()}
        for name, site in dataclasses.asdict(Mission())["sites"].items()
    }
    assert preset.pop("sites") == ranges
    own = {field.name: field.default for field in dataclasses.fields(Mission)}
    own.pop("sites")
    assert preset == own


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "hard"}, r"env\.difficulty=hard: one of easy, full"),
        ({"observe": "radar"}, r"env\.observe=radar: one of state, dict, camera"),
        ({"image_size": 16}, r"env\.image_size=16: at least 36"),
        ({"time_limit": 0.0}, r"env\.time_limit=0 at env\.control_hz=5"),
        ({"sites": {"easy": {"arenas": 3.0}}}, r"env\.sites\.easy\.arenas: .*arena"),
        ({"sites": {"easy": {**SLOPING, "rocks": 1}}}, r"env\.sites\.easy\.rocks=1: at least 3"),
        ({"sites": {"easy": {**SLOPING, "spacing": 1.0}}}, r"spacing=1: at least 1\.4 m"),
        ({"sites": {"easy": {**SLOPING, "radius": [0.4, 0.3]}}}, r"radius=\[0\.4, 0\.3\]"),
        ({"sites": {"easy": {**SLOPING, "rocks": 40}}}, r"43 samples and rocks do not fit"),
    ],
)
def test_what_cannot_be_driven_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        machine.make(NAME, 2, params)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_another_array_library_collects_the_same_samples(library):
    pytest.importorskip(library.partition(".")[0])
    xp = importlib.import_module(library)
    task = sample_collection.build({"observe": "dict"})
    uniform = np.random.default_rng(2).random((task.draws, 16), dtype=np.float32)
    ours, theirs = task.begin(np, uniform), task.begin(xp, xp.asarray(uniform))
    for _ in range(30):
        seen, told = task.observe(np, ours), task.observe(xp, theirs)
        for key, part in seen.items():
            assert np.asarray(told[key]) == pytest.approx(part, abs=1e-3)
        vector = np.concatenate([seen["state"], seen["proprio"]], 1)
        action = np.ascontiguousarray(scripted(vector).T)
        here = task.advance(np, ours, action)
        there = task.advance(xp, theirs, xp.asarray(action))
        ours, theirs = here.state, there.state
        assert np.array_equal(here.terminated, np.asarray(there.terminated))
        assert np.asarray(there.reward) == pytest.approx(here.reward, abs=1e-3)
    assert ours["load"].any()
