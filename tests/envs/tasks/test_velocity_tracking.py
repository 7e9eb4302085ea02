"""Velocity tracking: commands, what a success is, what is worth what, who can do it, settings."""

import dataclasses
import importlib
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import machine, rover, velocity_tracking
from srb_train.errors import UsageError

CONFIGS = Path(__file__).parents[3] / "configs"
NAME = "velocity_tracking"
DIFFICULTIES = ("easy", "full", "steep")


def play(env, act, seed=10_000):
    """Return the facts about the first episode of every row, and its return."""
    obs, returns = env.reset(seed), np.zeros(env.num_envs)
    for _ in range(env.max_episode_steps):
        step = env.step(act(obs))
        obs, returns = step.obs, returns + step.reward
    assert step.truncated.all()
    return step.info, returns


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_scripted_driver_tracks_and_kinematics_alone_are_worse(difficulty):
    env = machine.make(NAME, 256, {"difficulty": difficulty})
    facts, returns = play(env, velocity_tracking.scripted)
    assert facts["success"].mean() >= 0.95
    assert returns.mean() > 55.0
    blind, blind_returns = play(env, velocity_tracking.kinematic)
    assert blind["success"].mean() < 0.8 * facts["success"].mean()
    assert blind_returns.mean() < returns.mean()
    assert blind["rms_speed_error"].mean() > facts["rms_speed_error"].mean()


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_neither_chance_nor_idleness_tracks(difficulty):
    env = machine.make(NAME, 64, {"difficulty": difficulty})
    rng = np.random.default_rng(1)
    for act in (
        lambda obs: rng.uniform(-1.0, 1.0, (64, 2)),
        lambda obs: np.zeros((64, 2)),
        lambda obs: np.ones((64, 2)),
    ):
        facts, returns = play(env, act)
        assert facts["success"].mean() < 0.05
        assert returns.mean() < 40.0


def test_returns_are_those_that_the_description_tells():
    env, rng = machine.make(NAME, 512, {}), np.random.default_rng(0)
    told = (
        (lambda obs: np.zeros((512, 2)), 24.6, 0.5),
        (lambda obs: rng.uniform(-1.0, 1.0, (512, 2)), 21.9, 0.5),
        (velocity_tracking.kinematic, 54.0, 0.3),
        (velocity_tracking.scripted, 57.5, 0.2),
    )
    for act, expected, spread in told:
        assert play(env, act)[1].mean() == pytest.approx(expected, abs=spread)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_the_wheels_can_meet_every_command_on_every_ground_of_ours(difficulty):
    ground = velocity_tracking.terrains()[difficulty]
    grip, turning_grip = 1.0 - ground.slip[1], 1.0 - ground.turn_slip[1]
    rise = math.tan(math.radians(ground.slope[1]))
    for speed, turn, uphill in itertools.product((-1, 1), (-1, 1), (-1, 1)):
        # Straight into the slope; the creep is at least that of the forward speed.
        ahead = ground.speed * speed / (grip - rover.CREEP * rise * uphill * speed)
        apart = rover.HALF_TRACK * ground.turn * turn / turning_grip
        assert max(abs(ahead - apart), abs(ahead + apart)) <= rover.WHEEL_SPEED


def commands(state):
    return np.stack([state["wanted_speed"], state["wanted_turn"]])


def test_commands_change_when_their_time_has_come_and_stay_in_their_ranges():
    env = machine.make(NAME, 200, {})
    env.reset(0)
    ground = velocity_tracking.terrains()["full"]
    now, held, seen = commands(env.state), np.zeros(200), []
    for _ in range(399):
        env.step(np.zeros((200, 2)))
        held += 1
        changed = (commands(env.state) != now).any(0)
        seen += list(held[changed])
        held[changed] = 0
        now = commands(env.state)
        assert (abs(now).max(1) <= [ground.speed, ground.turn]).all()
    assert (min(seen), max(seen)) == (10, 100)
    assert np.mean(seen) == pytest.approx(50.0, abs=3.0)  # long ones are cut off by the end
    assert abs(now[0]).max() > 0.97 * ground.speed


def rolling(wanted, command=(0.3, 0.5), **changes):
    """A task, one rover whose wheels give a command on firm ground, and the action to keep it."""
    task = velocity_tracking.VelocityTracking()
    state = task.begin(np, np.full((task.draws, 1), 0.5, dtype=np.float32))
    names = ("wanted_speed", "wanted_turn", "rolling", "spinning", "grip", "turn_grip")
    for name, value in zip(names, (*wanted, *command, 1.0, 1.0), strict=True):
        state[name] = np.array([value], dtype=np.float32)
    state["commands"][:2] = np.float32(wanted)[:, None, None]
    rims = rover.rims({name: state[name] for name in ("rolling", "spinning")})
    action = np.stack(rims) / np.float32(rover.WHEEL_SPEED)
    state["left"], state["right"] = action
    return task, {**state, **changes}, action


def test_perfect_tracking_is_worth_three_a_second():
    task, state, action = rolling((0.3, 0.5))
    for _ in range(20):
        outcome = task.advance(np, state, action)
        assert outcome.reward[0] == pytest.approx(3.0 * 0.05, rel=1e-4)
        state = outcome.state
    assert state["near"][0] == 20.0


def test_the_reward_falls_with_either_error_and_with_a_jump_of_the_action():
    def reward(wanted, jump=0.0):
        task, state, action = rolling(wanted)
        state["left"] = state["left"] - np.float32(jump)
        return float(task.advance(np, state, action).reward[0]) / 0.05

    e, f = 0.2, 0.4
    assert reward((0.3 + e, 0.5)) == pytest.approx(2 * math.exp(-(e**2) / 0.03) + 1, rel=1e-3)
    assert reward((0.3, 0.5 + f)) == pytest.approx(2 + math.exp(-(f**2) / 0.15), rel=1e-3)
    assert reward((0.3, 0.5), jump=0.5) == pytest.approx(3.0 - 0.05 * 0.5**2, rel=1e-3)


@pytest.mark.parametrize(
    ("wanted", "near"),
    [((0.34, 0.5), True), ((0.36, 0.5), False), ((0.3, 0.59), True), ((0.3, 0.61), False)],
)
def test_both_errors_have_to_be_small(wanted, near):
    task, state, action = rolling(wanted)
    assert bool(task.advance(np, state, action).state["near"][0]) is near


@pytest.mark.parametrize(("near", "success"), [(299.0, True), (298.0, False)])
def test_a_success_is_three_quarters_of_the_time(near, success):
    one = np.ones(1, dtype=np.float32)
    task, state, action = rolling((0.3, 0.5), near=one * near)
    facts = task.advance(np, state, action).facts
    assert bool(facts["success"][0]) is success
    assert facts["share_near"][0] == pytest.approx((near + 1) / 400)


def test_the_errors_are_told_as_root_mean_squares():
    env = machine.make(NAME, 8, {"time_limit": 3.0})
    env.reset(5)
    missing = []
    for _ in range(60):
        after = env.task.advance(np, env.state, np.zeros((2, 8), dtype=np.float32)).state
        missing.append(commands(env.state) - np.stack([after["speed"], after["turn"]]))
        step = env.step(np.zeros((8, 2)))
    speed, turn = np.sqrt(np.mean(np.square(missing), axis=0))
    assert step.info["rms_speed_error"] == pytest.approx(speed, rel=1e-4)
    assert step.info["rms_turn_error"] == pytest.approx(turn, rel=1e-4)


def test_the_observation_holds_what_its_description_says():
    task, state, _ = rolling((0.4, -0.6), (0.35, 0.3))
    told = {"speed": 0.1, "turn": 0.2, "left": 0.7, "right": -0.8}
    state |= {name: np.array([value], dtype=np.float32) for name, value in told.items()}
    expected = [0.8, -0.6, 0.6, -0.8, 0.7, 0.3, 0.7, -0.8]
    assert task.observe(np, state)[0] == pytest.approx(expected, abs=1e-6)


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / f"{NAME}.yaml").read_text())
    assert (preset.pop("name"), preset.pop("num_envs")) == (NAME, 512)
    assert preset.pop("engine") == "numpy"
    ranges = {
        name: {key: list(v) if isinstance(v, tuple) else v for key, v in terrain.items()}
        for name, terrain in dataclasses.asdict(velocity_tracking.build({}))["terrains"].items()
    }
    assert preset.pop("terrains") == ranges
    kind = velocity_tracking.VelocityTracking
    own = {field.name: field.default for field in dataclasses.fields(kind)}
    own.pop("terrains")
    assert preset == own


def test_a_range_can_be_changed_and_a_difficulty_added():
    calm = {**dataclasses.asdict(velocity_tracking.terrains()["easy"]), "speed": 0.1}
    env = machine.make(NAME, 100, {"difficulty": "calm", "terrains": {"calm": calm}})
    assert abs(env.state["wanted_speed"]).max() <= 0.1


def hasty(hold):
    """The settings of a terrain whose commands stand for other times."""
    return {**dataclasses.asdict(velocity_tracking.terrains()["easy"]), "hold": hold}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "hard"}, r"env\.difficulty=hard: one of easy, full, steep"),
        ({"time_limit": 0.0}, r"env\.time_limit=0 at env\.control_hz=20"),
        (
            {"difficulty": "easy", "terrains": {"easy": hasty([0.0, 1.0])}},
            r"env\.terrains\.easy\.hold=\[0\.0, 1\.0\]: .*0\.05 s",
        ),
        (
            {"difficulty": "easy", "terrains": {"easy": hasty([2.0, 1.0])}},
            r"env\.terrains\.easy\.hold=\[2\.0, 1\.0\]: the shorter first",
        ),
        ({"terrains": {"full": {"holds": 3.0}}}, r"env\.terrains\.full\.holds: .*hold"),
    ],
)
def test_what_cannot_be_driven_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        machine.make(NAME, 2, params)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_another_array_library_drives_the_same_way(library):
    pytest.importorskip(library.partition(".")[0])
    xp = importlib.import_module(library)
    task = velocity_tracking.build({"difficulty": "steep"})
    uniform = np.random.default_rng(2).random((task.draws, 32), dtype=np.float32)
    ours, theirs = task.begin(np, uniform), task.begin(xp, xp.asarray(uniform))
    for _ in range(60):
        seen = task.observe(np, ours)
        assert np.asarray(task.observe(xp, theirs)) == pytest.approx(seen, abs=1e-3)
        action = np.ascontiguousarray(velocity_tracking.kinematic(seen).T)
        here = task.advance(np, ours, action)
        there = task.advance(xp, theirs, xp.asarray(action))
        ours, theirs = here.state, there.state
        assert np.asarray(there.reward) == pytest.approx(here.reward, abs=1e-4)
        assert np.array_equal(ours["current"], np.asarray(theirs["current"]))
    assert ours["current"].max() > 1
