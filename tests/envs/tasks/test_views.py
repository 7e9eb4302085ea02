"""Pictures: right size and type, something on them, and the end of an episode is seen."""

import numpy as np
import pytest

from srb_train.envs.tasks import cartpole, landing_pilot, machine


@pytest.mark.parametrize("name", ["landing", "cartpole"])
def test_a_frame_is_a_picture_with_something_on_it(name):
    env = machine.make(name, 3, {})
    frames = [env.render(row) for row in range(3)]
    for frame in frames:
        assert frame.shape == (480, 640, 3)
        assert frame.dtype == np.uint8
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 50
    assert not np.array_equal(frames[0], frames[1])


def test_a_frame_is_a_copy_and_drawing_changes_nothing():
    env, other = machine.make("landing", 2, {}), machine.make("landing", 2, {})
    first = env.render(0)
    first[:] = 0
    action = np.zeros((2, 4), dtype=np.float32)
    assert np.array_equal(env.step(action).obs, other.step(action).obs)
    assert env.render(0).any()
    assert all(np.array_equal(env.state[name], other.state[name]) for name in env.state)


def test_the_descent_leaves_a_trail_and_ends_with_a_verdict():
    env = machine.make("landing", 1, {})
    env.reset(3)
    times = []
    while True:
        frame = env.render(0)
        times.append(env.scenes.drawn[0][-1].time)
        step = env.step(landing_pilot.scripted(env))
        if step.terminated[0]:
            break
    last = env.render(0)
    assert len(env.scenes.drawn[0]) == len(times) + 1
    assert env.scenes.drawn[0][-1].verdict is True
    assert last[50, 180:300].std() > frame[50, 180:300].std() + 10.0, "no banner"
    env.step(landing_pilot.scripted(env))
    env.render(0)
    assert len(env.scenes.drawn[0]) == 1, "the next episode's trail begins anew"


def test_extreme_states_can_be_drawn():
    env = machine.make("landing", 1, {"difficulty": "full"})
    for position in ([240.0, -240.0, 399.0], [0.0, 0.0, 0.2], [-200.0, 10.0, 1.0]):
        env.state["position"][:, 0] = position
        env.state["attitude"][:, 0] = [0.6, 0.8, 0.0, 0.0]
        env.state["propellant"][:] = 0.0
        env.state["throttle"][:] = 1.0
        assert env.render(0).any()


def test_a_fallen_pole_is_seen_to_have_fallen():
    env = machine.make("cartpole", 2, {})
    env.reset(0)
    for _ in range(200):
        step = env.step(np.array([[1.0], [0.0]], dtype=np.float32))
        if step.terminated[0]:
            break
    env.render(0)
    assert env.scenes.drawn[0][-1].verdict is False


def test_the_cartpole_script_holds_the_pole_up():
    env = machine.make("cartpole", 64, {})
    obs = env.reset(0)
    for _ in range(env.max_episode_steps):
        step = env.step(cartpole.scripted(obs))
        obs = step.obs
    assert step.truncated.all()
    assert step.info["success"].all()
