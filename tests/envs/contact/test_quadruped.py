"""The robot of locomotion: its masses and legs, and that its motion keeps the laws of mechanics."""

import mujoco
import numpy as np
import pytest

from srb_train.envs.contact import locomotion, quadruped
from srb_train.envs.contact.physics import Layout, Rollouts

CONTROLS = locomotion.CONTROLS
DOWN = np.array([[0.0, 0.0, -1.0]])


def flying(model, seed=0):
    """A layout, and a robot at 10 m that turns, with every joint in motion: (1, S) and (1, C)."""
    layout, rng = Layout(model, CONTROLS), np.random.default_rng(seed)
    state, control = layout.resting(1), np.zeros((1, layout.control_size))
    pose, speeds = state[:, layout.qpos], state[:, layout.qvel]
    pose[:, 2], pose[:, 7:] = 10.0, quadruped.HOME
    speeds[:] = rng.uniform(-1.0, 1.0, speeds.shape)
    control[:, layout.ctrl] = quadruped.HOME + rng.uniform(-0.3, 0.3, (1, 12))
    return layout, state, control


def seen(model, state):
    """MuJoCo's data of one robot's state, with energies and momenta computed."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return data


def test_masses_and_the_trunks_inertia_are_the_published_ones():
    model = quadruped.load()
    leg = 0.68 + 1.009 + 0.195862
    assert model.body_mass.sum() == pytest.approx(5.204 + 4 * leg, abs=1e-9)
    published = [0.0168101, 0.0630105, 0.0716565]
    assert model.body("trunk").inertia == pytest.approx(published, rel=0.07)


def test_what_the_code_knows_of_the_model_is_in_the_model():
    model = quadruped.load()
    assert model.nu == model.nq - 7 == quadruped.JOINTS
    for place, leg in enumerate(quadruped.LEGS):
        ahead, left, _ = model.body(f"{leg}_hip").pos
        assert (ahead, left) == (quadruped.AHEAD[place], quadruped.LEFT[place])
        assert model.body(f"{leg}_thigh").pos[1] == quadruped.SIDE[place] * quadruped.HIP_OUT
        names = [f"{leg}_{part}" for part in ("hip", "thigh", "knee")]
        assert [model.actuator(3 * place + part).name for part in range(3)] == names
    assert (model.actuator_gainprm[:, 0] == quadruped.STIFFNESS).all()
    damping = model.dof_damping[6:] - model.actuator_biasprm[:, 2]
    assert damping == pytest.approx(quadruped.DAMPING)
    assert (model.actuator_forcerange[:, 1] == quadruped.TORQUE).all()
    assert (model.geom("trunk").size == quadruped.TRUNK).all()


def test_feet_are_where_mujoco_puts_them_and_angles_bring_them_there():
    model, rng = quadruped.load(), np.random.default_rng(1)
    joints = quadruped.HOME + rng.uniform(-0.5, 0.5, (20, 12))
    feet = quadruped.feet(joints)
    assert quadruped.angles(feet) == pytest.approx(joints, abs=1e-9)
    data = mujoco.MjData(model)
    for angles, places in zip(joints, feet, strict=True):
        data.qpos[:7], data.qpos[7:] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), angles
        mujoco.mj_kinematics(model, data)
        for leg, place in zip(quadruped.LEGS, places, strict=True):
            from_hip = data.site(f"{leg}_foot").xpos - data.body(f"{leg}_hip").xpos
            assert place == pytest.approx(from_hip, abs=1e-9)


def test_a_foot_out_of_reach_is_pulled_in():
    far = np.tile([0.3, 0.0, -0.5], (1, 4, 1))
    found = quadruped.feet(quadruped.angles(far))
    assert np.isfinite(found).all()
    assert (np.linalg.norm(found, axis=2) < np.linalg.norm(far, axis=2)).all()


def test_in_free_flight_the_middle_of_mass_falls_by_the_closed_form():
    model = quadruped.load()
    _, state, control = flying(model)
    rows, steps, dt = Rollouts(model, CONTROLS, 1), 100, model.opt.timestep
    before, (after, _) = seen(model, state[0]), rows.run(state, control, steps)
    rows.close()
    time = steps * dt
    # What semi-implicit Euler makes of a constant acceleration is exactly half a step more.
    fallen = before.subtree_com[0] + time * before.subtree_linvel[0]
    fallen[2] -= 0.5 * quadruped.GRAVITY * time * (time + dt)
    assert seen(model, after[0]).subtree_com[0] == pytest.approx(fallen, abs=2e-3)


def test_in_free_flight_motors_do_not_change_the_momenta():
    model = quadruped.load()
    model.opt.gravity[:] = 0.0
    model.opt.timestep = 0.0005
    layout, state, control = flying(model)
    rows = Rollouts(model, CONTROLS, 1)
    before, (after, _) = seen(model, state[0]), rows.run(state, control, 400)
    rows.close()
    later = seen(model, after[0])
    assert abs(after[0, layout.qvel][6:] - state[0, layout.qvel][6:]).max() > 0.5
    assert later.subtree_linvel[0] == pytest.approx(before.subtree_linvel[0], abs=2e-3)
    spin = np.linalg.norm(before.subtree_angmom[0])
    assert later.subtree_angmom[0] == pytest.approx(before.subtree_angmom[0], abs=0.01 * spin)


def test_without_motors_and_friction_energy_is_kept():
    model = quadruped.load()
    model.opt.timestep = 0.0005
    model.actuator_gainprm[:], model.actuator_biasprm[:], model.dof_damping[:] = 0.0, 0.0, 0.0
    _, state, control = flying(model)
    rows = Rollouts(model, CONTROLS, 1)
    before, (after, _) = seen(model, state[0]), rows.run(state, control, 200)
    rows.close()
    later = seen(model, after[0])
    moving = before.energy[1]
    assert later.energy.sum() == pytest.approx(before.energy.sum(), abs=0.01 * moving)
    assert abs(later.energy[0] - before.energy[0]) > 0.1 * moving


def test_gravity_that_leans_pulls_every_link_alike():
    model = quadruped.load()
    tilt = np.deg2rad(10.0)
    down = np.array([[-np.sin(tilt), 0.0, -np.cos(tilt)]])
    layout, state, control = flying(model)
    state[:, layout.qvel], control[:, layout.ctrl] = 0.0, quadruped.HOME
    control[:, layout.xfrc_applied] = quadruped.weights(model, down).reshape(1, -1)
    rows = Rollouts(model, CONTROLS, 1)
    after, _ = rows.run(state, control, 50)
    rows.close()
    time = 50 * model.opt.timestep
    speeds = after[0, layout.qvel]
    assert speeds[:3] == pytest.approx(quadruped.GRAVITY * time * down[0], abs=1e-9)
    assert speeds[3:] == pytest.approx(np.zeros(15), abs=1e-9)


def test_the_trunk_turned_to_its_side_is_seen_in_its_own_frame():
    model = quadruped.load()
    layout = Layout(model, CONTROLS)
    state = layout.resting(1)
    state[:, layout.qpos][:, 3:7] = np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0  # rolled to the right
    state[:, layout.qvel][:, :3] = 1.0, 2.0, 3.0
    moved = quadruped.motion(layout, state, DOWN)
    assert moved.velocity[0] == pytest.approx([1.0, 3.0, -2.0])
    assert moved.up[0] == pytest.approx([0.0, 1.0, 0.0])
    assert moved.down[0] == pytest.approx([0.0, -1.0, 0.0])
    assert quadruped.clearance(layout, state, moved.up)[0] == pytest.approx(0.3 - 0.08)


def test_pushing_joints_ahead_by_what_they_give_holds_the_load():
    model = quadruped.load()
    layout, state, control = flying(model)
    state[:, layout.qvel] = 0.0
    state[:, layout.qpos][:, 2] = quadruped.STAND
    weight = 9.81 * model.body_mass.sum()
    home = quadruped.HOME[None]
    heights = []
    for forces in (np.zeros((1, 4)), np.full((1, 4), 0.25 * weight)):
        control[:, layout.ctrl] = home + quadruped.give(home, forces)
        rows = Rollouts(model, CONTROLS, 1)
        after, sensors = rows.run(state, control, 500)
        rows.close()
        heights.append(after[0, layout.qpos][2])
        assert sensors.sum() == pytest.approx(weight, rel=0.02)
    sagged, held = heights
    assert sagged < quadruped.STAND - 0.015
    assert held == pytest.approx(quadruped.STAND, abs=0.01)
