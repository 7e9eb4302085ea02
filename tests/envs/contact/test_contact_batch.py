"""What holds for every contact task: determinism, exact continuation, honest ends; and physics."""

import hashlib
import math
import subprocess
import sys
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from srb_train.contracts import Backend
from srb_train.envs.contact import machine
from srb_train.envs.contact.batch import ContactBatch, Outcome, Start
from srb_train.envs.contact.physics import Layout, Rollouts, cores
from srb_train.errors import IntegrityError, UnsupportedError, UsageError
from srb_train.registry import backend_of

CTRL = int(mujoco.mjtState.mjSTATE_CTRL)
STEPS = 45

BODY = """<mujoco><option timestep="0.001" integrator="implicitfast"/>
<default><geom solref="0.004 1" condim="3" friction="{friction} 0 0"/></default><worldbody>
<camera name="view" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
<geom name="ground" type="plane" size="50 50 1" euler="0 {slope} 0" {collides}/>
<body name="box" pos="0 0 {height}" euler="0 {slope} 0"><freejoint/>
<geom type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody></mujoco>"""
PENDULUM = """<mujoco><option timestep="0.001" integrator="RK4"/><worldbody><body>
<joint name="hinge" type="hinge" axis="0 1 0"/>
<geom type="sphere" pos="0 0 -1" size="0.01" mass="1"/>
</body></worldbody></mujoco>"""


@pytest.fixture(params=["peg_in_hole", "locomotion"])
def make(request):
    params = {"time_limit": 0.8}

    def build(num_envs, threads=1):
        return machine.make(request.param, num_envs, {**params, "threads": threads})

    return build


def actions(env, steps, seed=5):
    """Actions that a row keeps whatever the number of rows."""
    rows = [np.random.default_rng([seed, row]) for row in range(env.num_envs)]
    for _ in range(steps):
        drawn = [row.uniform(-1.2, 1.2, env.action_space.shape) for row in rows]
        yield np.stack(drawn).astype("f4")


def roll(env, steps=STEPS, first=0):
    """Step through the rows' actions and return all that came back."""
    every = enumerate(actions(env, first + steps))
    return [env.step(action) for index, action in every if index >= first]


def same(one, other, rows=slice(None)):
    """Tell whether two steps agree bitwise on the given rows."""
    parts = zip(one[:4], other[:4], strict=True)
    return all(np.array_equal(a[rows], b[rows]) for a, b in parts)


def test_the_number_of_threads_does_not_matter(make):
    one, three = make(7, threads=1), make(7, threads=3)
    assert np.array_equal(one.reset(3), three.reset(3))
    for a, b in zip(roll(one), roll(three), strict=True):
        assert same(a, b)
        assert (a.final_obs is None) == (b.final_obs is None)
        assert a.final_obs is None or np.array_equal(a.final_obs, b.final_obs)


@pytest.mark.parametrize("count", [1, 3])
def test_a_row_lives_the_same_life_whatever_the_number_of_rows(make, count):
    few, many = make(count), make(17, threads=2)
    assert np.array_equal(few.reset(9), many.reset(9)[:count])
    ends = 0
    for one, other in zip(roll(few), roll(many), strict=True):
        assert same(one, other, slice(count))
        ends += int((one.terminated | one.truncated).sum())
    assert ends


def test_another_process_sees_the_same_numbers():
    program = (
        "import hashlib, numpy as np\n"
        "from srb_train.envs.contact import machine\n"
        "env = machine.make('peg_in_hole', 2, {'threads': 1})\n"
        "obs = env.reset(4)\n"
        "for _ in range(10):\n"
        "    obs = env.step(np.full((2, 6), 0.5)).obs\n"
        "print(hashlib.sha256(obs.tobytes()).hexdigest())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    env = machine.make("peg_in_hole", 2, {})
    obs = env.reset(4)
    for _ in range(10):
        obs = env.step(np.full((2, 6), 0.5)).obs
    assert done.stdout.strip() == hashlib.sha256(obs.tobytes()).hexdigest(), done.stderr


def test_row_i_is_seeded_with_seed_plus_i(make):
    assert np.array_equal(make(4).reset(100)[3], make(1).reset(103)[0])
    assert not np.array_equal(make(1).reset(1), make(1).reset(2))


@pytest.mark.parametrize("at", [0, 1, 13, 20])
def test_a_stored_state_goes_on_bitwise_in_another_object(make, at):
    first, second = make(3), make(3)
    first.reset(1)
    second.reset(77)
    roll(first, at)
    state = first.state_dict()
    kept = {name: value.copy() for name, value in state.items()}
    told = roll(first, STEPS, at)
    assert all(np.array_equal(kept[name], state[name]) for name in kept)
    second.load_state_dict(state)
    assert all(same(a, b) for a, b in zip(told, roll(second, STEPS, at), strict=True))


def test_a_state_of_another_size_is_refused(make):
    with pytest.raises(IntegrityError, match="num_envs"):
        make(3).load_state_dict(make(2).state_dict())


def test_nonsense_is_refused_and_both_tasks_have_this_backend():
    with pytest.raises(UsageError, match=r"env\.num_envs=0"):
        machine.make("peg_in_hole", 0, {})
    with pytest.raises(UsageError, match=r"env\.threads=0: at least 1"):
        machine.make("peg_in_hole", 2, {"threads": 0})
    with pytest.raises(UsageError, match="no such task"):
        machine.make("juggling", 2, {})
    assert isinstance(backend_of("peg_in_hole")[0], Backend)
    assert machine.make("peg_in_hole", 64, {}).threads == min(64, cores())


@pytest.mark.parametrize("count", [1, 3])
def test_a_row_that_the_physics_give_up_on_ends_where_it_was(count):
    fast = 1e12
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        env = machine.make("peg_in_hole", count, {"threads": 1})
        env.reset(0)
        env.world.state[0, env.task.layout.qvel] = fast
        step = env.step(np.zeros((count, 6)))
    finally:
        mujoco.set_mju_user_warning(None)
    assert step.terminated.tolist() == [True, False, False][:count]
    assert not step.info["success"].any()
    assert np.isfinite(step.obs).all()
    again = env.step(np.zeros((count, 6)))
    assert not again.terminated.any()


def _model(slope=0.0, friction=1.0, height=2.0, collides=""):
    return mujoco.MjModel.from_xml_string(
        BODY.format(slope=slope, friction=friction, height=height, collides=collides)
    )


def _run(model, count, steps, change=lambda state, layout: None):
    """Return where rows of a model are after some steps, and how they lie."""
    layout = Layout(model, CTRL)
    state = layout.resting(count)
    change(state, layout)
    physics = Rollouts(model, CTRL, 1)
    after, _ = physics.run(state, np.zeros((count, layout.control_size)), steps)
    physics.close()
    return after, layout


@pytest.mark.parametrize("count", [1, 2])
def test_a_body_falls_as_galileo_says(count):
    after, layout = _run(_model(height=30.0), count, 1000)
    dt, gravity = 0.001, 9.81
    # The velocity is updated first: sum of g k dt^2 over k = 1 … n.
    fallen = 0.5 * gravity * 1.0 * (1.0 + dt)
    assert np.allclose(after[:, layout.qpos][:, 2], 30.0 - fallen, atol=1e-9)
    assert np.allclose(after[:, layout.qvel][:, 2], -gravity, atol=1e-9)


def test_a_pendulum_swings_with_the_period_of_its_length():
    model = mujoco.MjModel.from_xml_string(PENDULUM)

    def lifted(state, layout):
        state[:, layout.qpos] = 0.5

    # sqrt(L^2 + 2/5 r^2) of the sphere and the elliptic integral's series in the amplitude.
    small = 2.0 * math.pi * math.sqrt((1.0 + 0.4 * 0.01**2) / 9.81)
    period = small * (1.0 + 0.5**2 / 16.0 + 11.0 * 0.5**4 / 3072.0)
    after, layout = _run(model, 2, round(10.0 * period / 0.001), lifted)
    assert np.allclose(after[:, layout.qpos], 0.5, atol=2e-3)


@pytest.mark.parametrize(("degrees", "slides"), [(15.0, False), (30.0, True)])
def test_a_box_slides_where_the_slope_is_steeper_than_its_friction(degrees, slides):
    slope = math.radians(degrees)
    model = _model(slope=degrees, friction=0.4, height=0.1 / math.cos(slope))
    after, layout = _run(model, 2, 500)
    speed = np.linalg.norm(after[:, layout.qvel][:, :3], axis=1)
    wanted = 9.81 * (math.sin(slope) - 0.4 * math.cos(slope)) * 0.5
    assert np.allclose(speed, wanted if slides else 0.0, atol=0.05 * 9.81 * 0.5)


def test_a_task_sees_where_the_parts_of_rows_lie():
    model = _model()
    layout = Layout(model, int(mujoco.mjtState.mjSTATE_XFRC_APPLIED) | CTRL)
    state = layout.resting(2)
    assert state[:, layout.qpos].shape == (2, 7)
    assert state[0, layout.qpos][2] == 2.0
    assert layout.control_size == 6 * model.nbody
    assert (layout.xfrc_applied.start, layout.xfrc_applied.stop) == (0, 6 * model.nbody)
    assert layout.mocap_pos == slice(0, 0)
    with pytest.raises(KeyError):
        layout.sensor("none")


class Falling:
    """A box that falls and terminates on the ground; every row the same."""

    def __init__(self):
        peg = machine.make("peg_in_hole", 1, {}).task
        self.model = _model(height=1.0)
        self.controls, self.layout = CTRL, Layout(self.model, CTRL)
        self.physics_steps, self.draws, self.max_episode_steps = 50, 1, 10
        self.observation_space, self.action_space = peg.observation_space, peg.action_space

    def begin(self, uniform):
        count = len(uniform)
        state = self.layout.resting(count)
        state[:, self.layout.qpos][:, 2] += uniform[:, 0]
        return Start(state, np.zeros((count, 0)), {})

    def command(self, world, action):
        return world.control

    def judge(self, before, after, action):
        height = after.state[:, self.layout.qpos][:, 2]
        down = height < 0.15
        return Outcome(height.astype("f4"), down, {"success": down}, {})

    def observe(self, world):
        return world.state[:, self.layout.qpos].astype("f4")


def test_a_row_terminates_or_is_cut_and_begins_anew_at_once():
    env = ContactBatch(Falling(), 32, 1)
    env.reset(0)
    ended = cut = 0
    for _ in range(25):
        step = env.step(np.zeros((32, 6)))
        assert not (step.terminated & step.truncated).any()
        done = step.terminated | step.truncated
        if not done.any():
            assert step.final_obs is None
            continue
        assert np.array_equal(step.info["success"], step.terminated[done])
        assert (step.final_obs[step.terminated[done], 2] < 0.15).all()
        assert (step.obs[done, 2] > 0.99).all()
        ended, cut = ended + step.terminated.sum(), cut + step.truncated.sum()
    assert ended > 5
    assert cut > 5


def test_a_picture_is_drawn_without_a_display_or_the_way_out_is_told(monkeypatch):
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    env = machine.make("peg_in_hole", 2, {"threads": 1})
    try:
        picture = env.render(1)
    except UnsupportedError as error:
        assert "MUJOCO_GL=egl" in str(error)
        return
    assert picture.dtype == np.uint8
    assert picture.shape == (360, 480, 3)
    assert picture.std() > 20.0
    assert np.array_equal(picture, env.render(1))
    env.close()


def test_where_nothing_can_draw_the_message_names_a_way_out(monkeypatch):
    broken = SimpleNamespace(side_effect=OSError("no EGL"))

    def absent(name):
        raise broken.side_effect

    monkeypatch.setattr("srb_train.envs.contact.picture.resolve_name", absent)
    with pytest.raises(UnsupportedError, match=r"no EGL.*MUJOCO_GL=egl"):
        machine.make("peg_in_hole", 1, {}).render()
