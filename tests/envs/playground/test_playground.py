"""MuJoCo Playground's own tasks behind the contract."""

import numpy as np
import pytest

from srb_train import soundness
from srb_train.errors import MissingDependency, UsageError

pytest.importorskip("mujoco_playground")

from srb_train.envs.playground import machine


def made(copies=2, **params):
    return machine.make("CartpoleBalance", copies, {"max_episode_steps": 6, **params})


def test_a_misspelt_task_or_setting_is_named():
    with pytest.raises(UsageError, match="nearest: CartpoleBalance"):
        machine.make("CartpoleBalanse", 1, {})
    with pytest.raises(UsageError, match=r"env\.config\.ctrl_dd.*nearest: ctrl_dt"):
        made(config={"ctrl_dd": 0.02})


def test_a_robot_whose_meshes_are_not_there_is_refused_before_anything_is_cloned(
    monkeypatch, tmp_path
):
    place = tmp_path / "mujoco_menagerie"
    monkeypatch.setattr(machine.mjx_env, "MENAGERIE_PATH", place)
    with pytest.raises(MissingDependency, match=rf"git clone https.* {place} && git -C {place}"):
        machine.make("Go1JoystickFlatTerrain", 1, {})
    assert not place.exists()


@pytest.mark.slow
def test_a_cartpole_is_cut_begins_anew_and_goes_on_from_its_state():
    env = made()
    first = env.reset(0)
    assert first.shape == (2, 5) and env.render_fps == 100
    for number in range(1, 14):
        step = env.step(soundness.actions(env, number))
        assert not step.terminated.any()
        assert (step.truncated == (number % 6 == 0)).all()
        assert (step.final_obs is not None) == bool(step.truncated.any())
    stored = {name: np.array(part) for name, part in env.state_dict().items()}
    played = []
    for _ in range(2):
        env.load_state_dict(stored)
        played.append([env.step(soundness.actions(env, 100 + number)) for number in range(8)])
        assert np.array_equal(env.reset(0), first)
    for one, two in zip(*played, strict=True):
        assert np.array_equal(one.obs, two.obs) and np.array_equal(one.reward, two.reward)
