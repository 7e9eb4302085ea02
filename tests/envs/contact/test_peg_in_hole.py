"""Peg in hole: the model, the arm's kinematics, what is a success, who can do it, the settings."""

import dataclasses
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from srb_train import soundness
from srb_train.envs.contact import machine, peg_in_hole, peg_in_hole_pilot
from srb_train.envs.contact import peg_in_hole_model as arm
from srb_train.envs.contact.batch import ContactBatch
from srb_train.errors import UnsupportedError, UsageError

CONFIGS = Path(__file__).parents[3] / "configs"


def make(num_envs, **params):
    return machine.make("peg_in_hole", num_envs, {"threads": 1, **params})


def play(env, act, seed=10_000):
    """Return the facts, the returns and the lengths of the first episode of every row."""
    obs, count = env.reset(seed), env.num_envs
    returns, lengths, running = np.zeros(count), np.zeros(count), np.ones(count, dtype=bool)
    facts = {}
    while running.any():
        step = env.step(act(obs))
        obs = step.obs
        returns += step.reward * running
        lengths += running
        ended = np.flatnonzero(step.terminated | step.truncated)
        for name, values in step.info.items():
            of, first = facts.setdefault(name, np.zeros(count)), running[ended]
            of[ended[first]] = values[first]
        running[ended] = False
    return facts, returns, lengths


@pytest.mark.parametrize(
    ("difficulty", "worth"), [("easy", 261.0), ("close", 262.0), ("full", 237.0)]
)
def test_the_scripted_pilot_puts_the_peg_in(difficulty, worth):
    env = make(48, difficulty=difficulty)
    facts, returns, _ = play(env, lambda obs: peg_in_hole_pilot.scripted(env))
    assert facts["success"].mean() >= 0.98
    assert returns.mean() == pytest.approx(worth, abs=12.0)
    assert facts["depth"].max() <= arm.DEPTH


def test_neither_chance_nor_idleness_does():
    env, rng = make(32), np.random.default_rng(1)
    still = play(env, lambda obs: np.zeros((32, 6)))
    wild = play(env, lambda obs: rng.uniform(-1.0, 1.0, (32, 6)))
    assert not still[0]["success"].any()
    assert not wild[0]["success"].any()
    assert still[1].mean() == pytest.approx(0.9, abs=1.5)
    assert wild[1].mean() == pytest.approx(-1.6, abs=2.5)


def test_noise_of_a_new_policy_does_not_make_it_impossible():
    env, rng = make(32), np.random.default_rng(2)

    def shaky(obs):
        return peg_in_hole_pilot.scripted(env) + rng.normal(0.0, 0.3, (32, 6))

    assert play(env, shaky)[0]["success"].mean() > 0.3


def test_an_arm_that_strays_is_stopped():
    env = make(4, time_limit=30.0)
    facts, _, lengths = play(env, lambda obs: np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], (4, 1)))
    assert facts["strayed"].all()
    assert not facts["success"].any()
    assert (lengths < env.max_episode_steps).all()


def test_the_time_limit_cuts_and_does_not_terminate():
    env = make(2, time_limit=0.4)
    env.reset(0)
    steps = [env.step(np.zeros((2, 6))) for _ in range(10)]
    assert [bool(step.truncated.all()) for step in steps] == [False] * 9 + [True]
    assert not any(step.terminated.any() for step in steps)


def test_the_jacobian_is_the_tips_motion_by_the_joints():
    model = arm.load("round", 1e-3)
    data = mujoco.MjData(model)
    data.qpos[:] = arm.HOME + 0.1
    mujoco.mj_forward(model, data)
    exact, turning = np.empty((3, 7)), np.empty((3, 7))
    mujoco.mj_jacSite(model, data, exact, turning, model.site("tip").id)
    names = range(1, 8)
    origins = np.array([[data.sensor(f"origin{joint}").data for joint in names]])
    axes = np.array([[data.sensor(f"axis{joint}").data for joint in names]])
    found = arm.jacobian(origins, axes, data.sensor("tip").data[None])[0]
    assert np.allclose(found, np.concatenate([exact, turning]), atol=1e-12)
    wanted = np.array([[0.001, -0.002, 0.003, 0.0, 0.01, 0.0]])
    step = arm.joint_steps(found[None], wanted)[0]
    assert np.allclose(found @ step, wanted[0], atol=5e-4)


def test_the_tip_goes_where_the_action_says():
    env = make(1)
    env.reset(0)
    for _ in range(15):
        env.step(np.zeros((1, 6)))
    before = env.task.sight(env.world).way[0]
    for _ in range(10):
        env.step(np.array([[0.0, 0.3, 0.2, 0.0, 0.0, 0.0]]))
    for _ in range(15):
        env.step(np.zeros((1, 6)))
    moved = env.task.sight(env.world).way[0] - before
    assert np.allclose(moved, [0.0, 0.03, 0.02], atol=0.004)


@pytest.mark.parametrize("shape", arm.SHAPES)
@pytest.mark.parametrize("clearance", [1e-3, 2e-4])
def test_the_hole_is_as_wide_and_deep_as_is_said(shape, clearance):
    model = arm.load(shape, clearance)
    front, left, floor = (model.geom(name) for name in ("wall_front", "wall_left", "floor"))
    assert front.pos[0] - front.size[0] == pytest.approx(arm.PEG + clearance)
    assert left.pos[1] - left.size[1] == pytest.approx(arm.PEG + clearance)
    assert floor.pos[2] + floor.size[2] == pytest.approx(-arm.DEPTH)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    peg, tip = model.geom("peg"), data.site("tip").xpos
    half = peg.size[2] if shape == "square" else peg.size[1] + peg.size[0]
    axis = data.site("tip").xmat.reshape(3, 3)[:, 2]
    lowest = data.geom("peg").xpos + axis * half
    assert np.allclose(lowest, tip, atol=1e-9)


def test_the_peg_rests_on_the_fixture_with_the_force_of_its_drives():
    env = make(2)
    env.reset(0)
    for _ in range(60):
        step = env.step(np.tile([0.0, 0.0, -0.5, 0.0, 0.0, 0.0], (2, 1)))
    assert np.isfinite(step.obs).all()
    assert (env.world.memory["peak_force"] > 5.0).all()
    targets = env.world.control[:, env.task.layout.ctrl]
    joints = env.world.state[:, env.task.layout.qpos]
    assert (abs(targets - joints) < 2.0 * arm.LEASH).all()


def test_what_differs_between_episodes_is_within_its_ranges():
    env = make(64, difficulty="full")
    env.reset(0)
    control, layout, hole = env.world.control, env.task.layout, env.task.hole
    place = control[:, layout.mocap_pos]
    assert ((place[:, 0] >= hole.ahead[0]) & (place[:, 0] <= hole.ahead[1])).all()
    assert (abs(place[:, 1]) <= hole.side).all()
    assert place[:, :2].std(0).min() > 0.01
    assert np.allclose(np.linalg.norm(control[:, layout.mocap_quat], axis=1), 1.0)
    wrong = env.world.memory["told_wrong"]
    assert 0.0 < abs(wrong).max() <= 2e-4


def test_the_critic_alone_sees_the_hole_where_it_is():
    flat, parts = make(3, difficulty="full"), make(3, difficulty="full", observe="dict")
    vector, dictionary = flat.reset(5), parts.reset(5)
    assert list(parts.observation_space) == sorted(dictionary)
    joined = np.concatenate([dictionary["state"], dictionary["proprio"]], 1)
    assert np.array_equal(vector, joined)
    wrong = parts.world.memory["told_wrong"]
    way = parts.task.sight(parts.world).way
    assert np.allclose(dictionary["critic"][:, 3:5], wrong * 1e3, atol=1e-6)
    assert np.allclose(dictionary["critic"][:, :3], np.tanh(way / 0.01), atol=1e-6)
    assert np.allclose(dictionary["state"][:, :2], 5.0 * (way[:, :2] + wrong), atol=1e-6)


@pytest.mark.parametrize("observe", ["state", "dict"])
def test_it_is_a_sound_environment(observe):
    found = soundness.sound(lambda count: make(count, observe=observe, time_limit=2.0))
    bad = [each for each in found if each.state != "ok" and each.name != "picture"]
    assert not bad


def test_the_preset_holds_the_defaults_of_the_code():
    preset = yaml.safe_load((CONFIGS / "env" / "peg_in_hole.yaml").read_text("utf-8"))
    for name, hole in peg_in_hole.holes().items():
        values = dataclasses.asdict(hole)
        values["ahead"] = list(values["ahead"])
        assert preset["holes"].pop(name) == values
    assert not preset.pop("holes")
    defaults = peg_in_hole.Insertion()
    assert preset.pop("name") == "peg_in_hole"
    assert preset.pop("threads") is None
    assert preset.pop("num_envs") == 256
    assert preset == {name: getattr(defaults, name) for name in preset}


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "eassy"}, r"env\.difficulty='eassy'.*easy"),
        ({"observe": "pixels"}, r"env\.observe='pixels'"),
        ({"holes": {"easy": {**vars(peg_in_hole.holes()["easy"]), "shape": "oval"}}}, "round"),
        ({"holes": {"easy": {**vars(peg_in_hole.holes()["easy"]), "clearance": 0.0}}}, "clearance"),
        ({"control_hz": 0.0}, r"env\.control_hz=0"),
        ({"time_limit": 0.0}, r"env\.time_limit=0"),
        ({"speed": 1}, r"env\.speed: no such setting"),
    ],
)
def test_what_cannot_be_played_is_refused_by_name(params, said):
    with pytest.raises(UsageError, match=said):
        make(1, **params)


def test_the_pilot_plays_nothing_else():
    with pytest.raises(UnsupportedError, match="peg_in_hole"):
        peg_in_hole_pilot.scripted(ContactBatch(machine.make("locomotion", 1, {}).task, 1, 1))
