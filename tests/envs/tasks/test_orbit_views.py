"""Pictures of the two tasks in orbit: something on them, a trail, and a verdict at the end."""

import numpy as np
import pytest

from srb_train.envs.tasks import (
    orbital_evasion,
    orbital_evasion_pilot,
    rendezvous,
    rendezvous_pilot,
)
from srb_train.envs.tasks.batch import Batch

TASKS = {
    "rendezvous": (rendezvous.build, rendezvous_pilot.scripted),
    "orbital_evasion": (orbital_evasion.build, orbital_evasion_pilot.scripted),
}


@pytest.fixture(params=TASKS)
def made(request):
    build, pilot = TASKS[request.param]
    return (lambda num_envs: Batch(build({}), num_envs)), pilot


def test_a_frame_is_a_picture_with_something_on_it(made):
    make, _ = made
    env = make(3)
    frames = [env.render(row) for row in range(3)]
    for frame in frames:
        assert frame.shape == (480, 640, 3)
        assert frame.dtype == np.uint8
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 50
    assert not np.array_equal(frames[0], frames[1])


def test_drawing_changes_nothing_and_a_step_changes_the_picture(made):
    make, _ = made
    env, other = make(2), make(2)
    first = env.render(0)
    action = np.full((2, 3), 0.7, dtype=np.float32)
    for _ in range(3):
        assert np.array_equal(env.step(action).obs, other.step(action).obs)
        assert not np.array_equal(env.render(0), first)
    assert all(np.array_equal(env.state[name], other.state[name]) for name in env.state)


def test_the_flight_leaves_a_trail_and_ends_with_a_verdict(made):
    make, pilot = made
    env = make(1)
    env.reset(3)
    frame, ended, count = env.render(0), False, 0
    while not ended:
        ended, count = bool(env.step(pilot(env)).terminated[0]), count + 1
        if count % 10 == 0 and not ended:
            frame = env.render(0)
    last = env.render(0)
    assert env.scenes.drawn[0][-1].verdict is True
    assert last[48, 170:310].std() > frame[48, 170:310].std() + 10.0, "no last word"
    trail = len(env.scenes.drawn[0])
    assert trail > 5
    env.step(pilot(env))
    env.render(0)
    assert len(env.scenes.drawn[0]) == 1, "the next episode's trail begins anew"


def test_extreme_states_can_be_drawn(made):
    make, _ = made
    env = make(1)
    for spot in ([100.0, -149.0, 90.0], [0.0, 0.0, 0.0], [-60.0, 80.0, -70.0], [149.0, 0.0, 0.0]):
        env.state["position"][:, 0] = spot
        env.state["velocity"][:, 0] = [5.0, -5.0, 5.0]
        env.state["firing"][:, 0] = [1.0, -1.0, 0.01]
        assert env.render(0).any()
