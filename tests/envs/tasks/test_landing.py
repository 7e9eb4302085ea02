"""Landing: what counts as a success, what is worth what, who can do it, and its settings."""

import dataclasses
import importlib
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import lander, landing, landing_pilot, machine
from srb_train.errors import UnsupportedError, UsageError

CONFIGS = Path(__file__).parents[3] / "configs"


def play(env, act, seed=10_000):
    """Return the successes and returns of the first episode of every row."""
    obs = env.reset(seed)
    success = np.zeros(env.num_envs, dtype=bool)
    returns = np.zeros(env.num_envs)
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


@pytest.mark.parametrize("control", ["attitude", "rates", "torque"])
@pytest.mark.parametrize("difficulty", ["easy", "full"])
def test_the_scripted_pilot_lands_every_time(difficulty, control):
    env = machine.make("landing", 256, {"difficulty": difficulty, "control": control})
    success, returns = play(env, lambda obs: landing_pilot.scripted(env))
    assert success.all()
    assert returns.mean() > 14.0


def test_it_lands_with_engines_that_differ_from_episode_to_episode():
    params = {"difficulty": "full", "thrust_error": 0.05, "impulse_error": 0.03}
    env = machine.make("landing", 256, params)
    assert env.state["main_thrust"].std() > 50.0
    assert play(env, lambda obs: landing_pilot.scripted(env))[0].all()


@pytest.mark.parametrize("control", ["attitude", "rates", "torque", "thrusters"])
def test_neither_chance_nor_idleness_lands(control):
    env = machine.make("landing", 64, {"control": control})
    rng = np.random.default_rng(1)
    size = env.action_space.shape[0]
    for act in (
        lambda obs: rng.uniform(-1.0, 1.0, (64, size)),
        lambda obs: np.zeros((64, size)),
        lambda obs: np.full((64, size), -1.0),
    ):
        success, returns = play(env, act)
        assert success.mean() < 0.05
        assert returns.mean() < 0.0


def touchdown(**changes):
    """One step that ends with a foot in the ground, at values that the caller changes."""
    task = landing.Landing(control="torque", control_hz=20.0)
    at = {"distance": 2.0, "sink": 1.0, "side": 0.3, "tilt": 2.0, "rate": 0.1, **changes}
    half = math.radians(at["tilt"]) / 2
    state = {
        "position": [[at["distance"]], [0.0], [lander.FOOT_DEPTH]],
        "velocity": [[0.0], [at["side"]], [-at["sink"]]],
        "attitude": [[math.cos(half)], [math.sin(half)], [0.0], [0.0]],
        "rate": [[0.0], [0.0], [at["rate"]]],
        "propellant": [20.0],
        "main_thrust": [lander.THRUST],
        "main_flow": [1.097],
        "throttle": [0.0],
    }
    arrays = {name: np.array(value, dtype=np.float32) for name, value in state.items()}
    outcome = task.advance(np, arrays, np.array([[-1.0], [0.0], [0.0], [0.0]], dtype=np.float32))
    assert outcome.terminated[0]
    return bool(outcome.facts["success"][0]), float(outcome.reward[0])


def test_a_slow_upright_touchdown_on_the_pad_is_a_success():
    assert touchdown()[0]


@pytest.mark.parametrize(
    ("what", "good", "bad"),
    [
        ("sink", 1.8, 2.1),
        ("side", 1.1, 1.3),
        ("tilt", 9.0, 11.0),
        ("rate", 0.45, 0.55),
        ("distance", 9.5, 10.5),
    ],
)
def test_each_limit_alone_decides(what, good, bad):
    assert touchdown(**{what: good})[0]
    assert not touchdown(**{what: bad})[0]


def test_a_harder_touchdown_is_worth_less_with_no_plateau_on_the_way():
    worth = [touchdown(sink=sink)[1] for sink in (1.0, 2.5, 4.0, 8.0, 16.0, 32.0)]
    assert worth == sorted(worth, reverse=True)
    assert len(set(worth)) == len(worth)
    nearer = [touchdown(distance=distance)[1] for distance in (0.0, 3.0, 9.0, 30.0)]
    assert nearer == sorted(nearer, reverse=True)


def test_hovering_is_strained_more_the_higher_it_is():
    def strain(height, sink):
        state = {
            "position": np.array([[0.0], [0.0], [height]]),
            "velocity": np.array([[0.0], [0.0], [-sink]]),
        }
        judged = {name: np.zeros(1) for name in ("distance", "tilt", "rate")}
        return float(landing.strain(np, state, judged)[0])

    hovering = [strain(height, 0.0) for height in (1.0, 5.0, 20.0, 80.0)]
    assert hovering == sorted(hovering)
    followed = -float(landing.braking(np, np.array([19.0]))[0])
    assert strain(20.0, followed) == pytest.approx(0.0, abs=1e-6)


def test_straying_or_tipping_over_ends_an_episode():
    env = machine.make("landing", 3, {})
    env.reset(0)
    env.state["position"][0, 0] = 260.0
    env.state["position"][2, 1] = 410.0
    env.state["attitude"][:, 2] = [0.0, 1.0, 0.0, 0.0]
    step = env.step(np.zeros((3, 4), dtype=np.float32))
    assert step.terminated.all()
    assert not step.info["success"].any()
    assert (step.reward < -29.0).all()


def test_starts_lie_in_the_ranges_of_the_difficulty():
    for difficulty, start in landing.starts().items():
        env = machine.make("landing", 2000, {"difficulty": difficulty})
        (x, _, z), (v_x, _, v_z) = env.state["position"], env.state["velocity"]
        assert (z.min(), z.max()) == pytest.approx(start.height, abs=0.5)
        assert (-v_z.max(), -v_z.min()) == pytest.approx(start.sink_speed, abs=0.05)
        assert np.abs(x).max() == pytest.approx(start.offset, abs=0.2)
        assert np.abs(v_x).max() == pytest.approx(start.side_speed, abs=0.05)
        assert (env.state["attitude"] ** 2).sum(0) == pytest.approx(1.0, abs=1e-6)


def test_a_range_can_be_changed_and_a_difficulty_added():
    params = {"difficulty": "low", "starts": {"low": {**START, "height": [5.0, 6.0]}}}
    env = machine.make("landing", 100, params)
    assert env.state["position"][2].max() <= 6.0


START = dataclasses.asdict(landing.starts()["easy"])


def test_the_observation_is_blind_to_the_heading():
    env = machine.make("landing", 64, {})
    env.reset(3)
    turned = {name: values.astype(np.float64) for name, values in env.state.items()}
    angle = 1.1
    cos, sin = math.cos(angle), math.sin(angle)
    for name in ("position", "velocity"):
        x, y, z = turned[name].copy()
        turned[name] = np.stack([cos * x - sin * y, sin * x + cos * y, z])
    w, x, y, z = turned["attitude"].copy()
    c, s = math.cos(angle / 2), math.sin(angle / 2)
    turned["attitude"] = np.stack([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w])
    before = env.task.observe(np, env.state)
    assert env.task.observe(np, turned) == pytest.approx(before, abs=2e-6)


def test_the_observation_holds_what_its_description_says():
    task = landing.Landing()
    state = {
        "position": np.array([[30.0], [-40.0], [21.0]]),
        "velocity": np.array([[1.0], [2.0], [-5.0]]),
        "attitude": np.array([[1.0], [0.0], [0.0], [0.0]]),
        "rate": np.array([[0.1], [0.2], [0.3]]),
        "propellant": np.array([22.5]),
    }
    told = task.observe(np, state)[0]
    expected = [
        -0.6,
        0.8,
        -0.42,
        0.1,
        0.2,
        -0.5,
        0,
        0,
        1,
        0.1,
        0.2,
        0.3,
        0.4,
        0.8,
        50 / 55,
        -1,
        0.5,
    ]
    assert told == pytest.approx(expected)


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / "landing.yaml").read_text())
    assert (preset.pop("name"), preset.pop("num_envs")) == ("landing", 512)
    assert preset.pop("engine") == "numpy"
    ranges = {
        name: {key: list(v) if isinstance(v, tuple) else v for key, v in start.items()}
        for name, start in dataclasses.asdict(landing.Landing())["starts"].items()
    }
    assert preset.pop("starts") == ranges
    own = {field.name: field.default for field in dataclasses.fields(landing.Landing)}
    own.pop("starts")
    assert preset == own


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "hard"}, r"env\.difficulty=hard: one of easy, full"),
        ({"control": "wheel"}, r"env\.control=wheel: one of attitude, rates, torque, thrusters"),
        ({"control_hz": 3.0}, r"env\.physics_hz=20 is no multiple of env\.control_hz=3"),
        ({"control_hz": 40.0}, r"env\.physics_hz=20 is no multiple"),
        ({"time_limit": 0.0}, r"env\.time_limit=0 is shorter"),
    ],
)
def test_what_cannot_be_flown_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        machine.make("landing", 2, params)


def test_the_pilot_says_what_it_cannot_fly():
    with pytest.raises(UnsupportedError, match="attitude, rates or torque"):
        landing_pilot.scripted(machine.make("landing", 2, {"control": "thrusters"}))
    with pytest.raises(UnsupportedError):
        landing_pilot.scripted(machine.make("cartpole", 2, {}))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
@pytest.mark.parametrize("control", ["attitude", "rates", "torque", "thrusters"])
def test_another_array_library_flies_the_same_descent(control, library):
    pytest.importorskip(library.partition(".")[0])
    xp = importlib.import_module(library)
    env = machine.make("landing", 32, {"control": control})
    env.reset(8)
    task, ours = env.task, env.state
    theirs = {name: xp.asarray(values.copy()) for name, values in ours.items()}
    rng = np.random.default_rng(0)
    for _ in range(40):
        action = rng.uniform(-1.0, 1.0, (env.action_space.shape[0], 32)).astype(np.float32)
        here = task.advance(np, ours, action)
        there = task.advance(xp, theirs, xp.asarray(action))
        ours, theirs = here.state, there.state
        assert np.array_equal(here.terminated, np.asarray(there.terminated))
        assert np.asarray(there.reward) == pytest.approx(here.reward, abs=2e-3)
    seen = np.asarray(task.observe(xp, theirs))
    assert seen == pytest.approx(task.observe(np, ours), abs=1e-3)
