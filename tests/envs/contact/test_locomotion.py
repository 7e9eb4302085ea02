"""Locomotion: who can walk, what a fall and a success are, what differs between episodes."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml

from srb_train import soundness
from srb_train.envs.contact import locomotion, locomotion_trials, quadruped
from srb_train.envs.contact.batch import ContactBatch
from srb_train.envs.contact.locomotion_pilot import scripted
from srb_train.errors import UsageError

CONFIGS = Path(__file__).parents[3] / "configs"
STATE, PROPRIO = locomotion.STATE_SIZE, locomotion.PROPRIO_SIZE


def make(num_envs, threads=1, **params):
    return ContactBatch(locomotion.build(params), num_envs, threads)


def play(env, act, seed=10_000):
    """Return the facts about the first episode of every row, its return and its length."""
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
            of = facts.setdefault(name, np.zeros(count))
            first = running[ended]
            of[ended[first]] = values[first]
        running[ended] = False
    return facts, returns, lengths


def told(env, *command):
    """Have all rows follow one command; return what they see."""
    env.world.memory["commands"][:] = command
    return env.task.observe(env.world)


def mirrored(numbers):
    """Reflect (N, 12) numbers of joints, left for right."""
    legs = numbers.reshape(-1, 4, 3)[:, [1, 0, 3, 2]]
    return (legs * [-1.0, 1.0, 1.0]).reshape(-1, 12)


def reflected(world, layout):
    """Reflect the states of a world, left for right."""
    state, control = world.state.copy(), world.control.copy()
    pose, speeds = state[:, layout.qpos], state[:, layout.qvel]
    pose[:, [1, 4, 6]] *= -1.0
    speeds[:, [1, 3, 5]] *= -1.0
    pose[:, 7:], speeds[:, 6:] = mirrored(pose[:, 7:]), mirrored(speeds[:, 6:])
    control[:, layout.ctrl] = mirrored(control[:, layout.ctrl])
    return world._replace(state=state, control=control)


def test_the_scripted_trot_tracks_and_does_not_fall():
    facts, returns, lengths = play(make(12, time_limit=6.0, hold=3.0), scripted)
    assert facts["success"].mean() >= 0.75
    assert not facts["fell"].any()
    assert (lengths == 300).all()
    assert returns.mean() > 8.5


@pytest.mark.slow
@pytest.mark.parametrize(("difficulty", "least"), [("easy", 0.9)])
def test_the_scripted_trot_succeeds_at_its_difficulties(difficulty, least):
    facts, _, _ = play(make(64, difficulty=difficulty), scripted)
    assert facts["success"].mean() >= least


def test_neither_chance_nor_idleness_tracks():
    rng = np.random.default_rng(1)
    env = make(12, time_limit=6.0, hold=3.0)
    facts, idle, lengths = play(env, lambda obs: np.zeros((12, 12)))
    assert facts["success"].mean() < 0.2
    assert (lengths == 300).all()  # who stands, stays standing
    facts, chance, _ = play(env, lambda obs: rng.uniform(-1.0, 1.0, (12, 12)))
    assert not facts["success"].any()
    assert facts["fell"].all()
    assert chance.mean() < idle.mean()


def test_standing_stays_where_it_stands_on_all_four_feet():
    env = make(3, trials={"easy": {**dataclasses.asdict(_easy()), "start": 0.0}})
    env.reset(0)
    for _ in range(150):
        env.step(np.zeros((3, 12)))
    layout, state = env.task.layout, env.world.state
    # The springs of the knees give way and the thighs lean back, once.
    assert np.abs(state[:, layout.qpos][:, :2]).max() < 0.1
    assert np.abs(state[:, layout.qvel]).max() < 0.02
    weight = quadruped.GRAVITY * env.task.model.body_mass.sum()
    assert env.task.feet_forces(env.world).sum(1) == pytest.approx(np.full(3, weight), rel=0.01)
    assert (env.task.feet_forces(env.world) > 10.0).all()


def _easy():
    return locomotion_trials.trials()["easy"]


@pytest.mark.parametrize(
    ("command", "part", "least"),
    [((0.5, 0.0, 0.0), 0, 0.3), ((0.0, 0.3, 0.0), 1, 0.15), ((0.0, 0.0, 0.6), 2, 0.35)],
)
def test_the_trot_goes_the_way_it_is_told_and_its_opposite(command, part, least):
    for sign in (1.0, -1.0):
        env = make(2)
        env.reset(3)
        obs = told(env, *(sign * np.array(command)))
        for _ in range(150):
            obs = env.step(scripted(obs)).obs
        smooth = env.world.memory["smooth"][:, part]
        assert (sign * smooth > least).all()


def test_mirrored_actions_give_the_mirrored_motion():
    env, mirror = make(4), make(4)
    env.reset(5), mirror.reset(5)
    layout, rng = env.task.layout, np.random.default_rng(2)
    mirror.world = reflected(env.world, layout)
    for _ in range(15):
        action = rng.uniform(-0.3, 0.3, (4, 12)).astype(np.float32)
        step, _ = env.step(action), mirror.step(mirrored(action))
        assert not step.terminated.any()
    expected = reflected(env.world, layout)
    assert mirror.world.state == pytest.approx(expected.state, abs=1e-6)
    assert np.abs(env.world.state[:, layout.qvel]).max() > 0.3


def test_a_fallen_robot_terminates_and_is_no_success():
    env = make(2, success_share=0.0)
    env.reset(0)
    layout = env.task.layout
    env.world.state[0, layout.qpos][3:7] = 0.0, 1.0, 0.0, 0.0  # on its back, in the air
    step = env.step(np.zeros((2, 12)))
    assert step.terminated.tolist() == [True, False]
    assert not step.truncated.any()
    assert step.info["fell"].tolist() == [1.0]
    assert step.info["success"].tolist() == [False]
    pose = env.world.state[1, layout.qpos]
    pose[2], pose[7:] = 0.05, np.tile([0.0, 3.1, -0.9], 4)  # its trunk in the ground, its legs up
    assert env.step(np.zeros((2, 12))).terminated.tolist() == [False, True]


def test_the_end_of_the_time_truncates_and_can_be_a_success():
    env = make(2, time_limit=0.5, success_share=0.0)
    env.reset(0)
    for _ in range(24):
        assert not env.step(np.zeros((2, 12))).truncated.any()
    step = env.step(np.zeros((2, 12)))
    assert step.truncated.all() and not step.terminated.any()
    assert step.info["success"].all()
    assert step.final_obs.shape == (2, STATE + PROPRIO)


def test_commands_change_when_their_time_is_over():
    env = make(4, hold=1.0, time_limit=3.0)
    obs = env.reset(0)
    seen = [obs[:, :3]]
    for _ in range(149):
        obs = env.step(np.zeros((4, 12))).obs
        seen.append(obs[:, :3])
    changes = [i for i in range(1, 150) if (seen[i] != seen[i - 1]).any()]
    assert changes == [50, 100]
    commands = env.world.memory["commands"]
    assert np.abs(commands).max(axis=(0, 1)) == pytest.approx([0.6, 0.3, 0.6], rel=0.5)


def test_a_push_gives_the_momentum_that_is_drawn():
    env = make(1, difficulty="full")
    env.reset(0)
    layout, mass = env.task.layout, env.task.model.body_mass.sum()
    env.world.memory["pushes"][:] = 0.4, 0.0
    env.world.memory["push_at"][:] = 3
    given = 0.0
    for _ in range(20):
        env.step(np.zeros((1, 12)))
        plain = env.world.memory["carried"][0, 0]
        trunk = layout.xfrc_applied.start + 6 * env.task.model.body("trunk").id
        given += (env.world.control[0, trunk] - plain) * env.task.control_dt
    assert given == pytest.approx(0.4 * mass)


def test_episodes_are_drawn_within_their_ranges():
    trial = locomotion_trials.trials()["rough"]
    uniform = np.random.default_rng(0).random((2000, 33 + 7 * 4))
    drawn = locomotion_trials.draw(trial, uniform, 250)
    tilt = np.rad2deg(np.arccos(-drawn["down"][:, 2]))
    assert (tilt.min() >= 5.0) and (tilt.max() <= 12.0) and tilt.std() > 1.5
    assert np.linalg.norm(drawn["down"], axis=1) == pytest.approx(np.ones(2000))
    assert np.abs(drawn["joint_error"]).max() <= 0.04
    assert (drawn["load"].min() >= 0.0) and (drawn["load"].max() <= 4.0)
    assert np.linalg.norm(drawn["pushes"], axis=2).max() <= 0.8
    assert (drawn["push_at"].min() == 0) and (drawn["push_at"].max() == 249)
    commands = drawn["commands"]
    assert (np.abs(commands) <= [0.8, 0.4, 0.8]).all()
    assert (commands == 0.0).all(axis=2).mean() == pytest.approx(0.1, abs=0.01)


def test_a_dict_holds_the_vector_in_parts_and_what_only_a_critic_knows():
    flat, parts = make(3, difficulty="full"), make(3, difficulty="full", observe="dict")
    one, other = flat.reset(4), parts.reset(4)
    assert (np.concatenate([other["state"], other["proprio"]], 1) == one).all()
    env_space = parts.observation_space
    assert {name: env_space[name].shape for name in env_space} == {
        "state": (STATE,),
        "proprio": (PROPRIO,),
        "critic": (locomotion.CRITIC_SIZE,),
    }
    assert other["critic"].shape == (3, locomotion.CRITIC_SIZE)
    memory = parts.world.memory
    assert other["critic"][:, 7] == pytest.approx(memory["load"])
    assert other["critic"][:, 11:] == pytest.approx(memory["joint_error"] * 20.0, abs=1e-6)


def test_units_of_the_observation():
    env = make(1)
    env.reset(0)
    layout = env.task.layout
    env.world.state[:, layout.qpos][:, 3:7] = 1.0, 0.0, 0.0, 0.0
    env.world.state[:, layout.qpos][:, 7:] = quadruped.HOME + 0.1
    env.world.state[:, layout.qvel] = 0.0
    env.world.state[:, layout.qvel][:, [0, 5, 6]] = 0.5, 2.0, 4.0
    obs = told(env, 0.5, -0.25, 0.3)[0]
    assert obs[:3] == pytest.approx([1.0, -0.5, 0.3])
    assert obs[3:6] == pytest.approx([1.0, 0.0, 0.0])
    assert obs[6:9] == pytest.approx([0.0, 0.0, 0.5])
    assert obs[9:12] == pytest.approx([0.0, 0.0, -1.0])
    assert np.hypot(*obs[12:14]) == pytest.approx(1.0)
    assert obs[14:26] == pytest.approx(np.full(12, 0.1), abs=1e-6)
    assert obs[26] == pytest.approx(0.2)


@pytest.mark.parametrize("observe", ["state", "dict"])
def test_the_environment_keeps_its_contract(observe):
    found = soundness.sound(lambda n: make(n, difficulty="full", observe=observe, time_limit=0.6))
    # A picture takes OpenGL, which a machine may lack; it has a test of its own.
    assert [one for one in found if one.state == "fail" and one.name != "picture"] == []


def test_a_row_does_not_depend_on_how_many_run_beside_it_nor_on_threads():
    env, alone, more = (
        make(5, difficulty="full"),
        make(1, difficulty="full"),
        make(17, threads=2, difficulty="full"),
    )
    seen = [each.reset(7) for each in (env, alone, more)]
    for _ in range(60):
        seen = [
            each.step(scripted(obs)).obs for each, obs in zip((env, alone, more), seen, strict=True)
        ]
        assert (seen[0][0] == seen[1][0]).all()
        assert (seen[2][:5] == seen[0]).all()


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"difficulty": "eazy"}, "easy"),
        ({"observe": "stat"}, "state"),
        ({"control_hz": 1000.0}, "10 to 250"),
        ({"time_limit": 0.0}, "shorter than a control step"),
        ({"hold": 0.0}, "env.hold"),
        ({"success_share": 2.0}, "env.success_share"),
        ({"trials": {"easy": {**dataclasses.asdict(_easy()), "slope": [9.0, 4.0]}}}, "slope"),
        ({"trials": {"easy": {**dataclasses.asdict(_easy()), "push": 9.0}}}, "push"),
        ({"trials": {"easy": {**dataclasses.asdict(_easy()), "speed": -1.0}}}, "speed"),
        ({"trials": {"easy": {"sped": 1.0}}}, "sped"),
    ],
)
def test_what_cannot_be_walked_is_said(params, said):
    with pytest.raises(UsageError, match=said):
        locomotion.build(params)


def test_the_preset_is_what_the_code_has():
    preset = yaml.safe_load((CONFIGS / "env" / "locomotion.yaml").read_text())
    for key in ("name", "num_envs", "threads"):
        preset.pop(key)
    own, given = locomotion.build({}), locomotion.build(preset)
    plain = [
        {
            name: {k: list(v) if isinstance(v, tuple | list) else v for k, v in trial.items()}
            for name, trial in dataclasses.asdict(task.walk)["trials"].items()
        }
        for task in (own, given)
    ]
    assert plain[0] == plain[1]
    rest = [{**dataclasses.asdict(task.walk), "trials": None} for task in (own, given)]
    assert rest[0] == rest[1]
