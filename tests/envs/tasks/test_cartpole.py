"""Cartpole against Gymnasium's own, and its two kinds of action."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
import yaml

from srb_train.envs.tasks import cartpole, machine

CONFIGS = Path(__file__).parents[3] / "configs"


def test_it_moves_as_gymnasiums_cartpole_does():
    theirs = gymnasium.make("CartPole-v1").unwrapped
    theirs.reset(seed=0)
    ours = machine.make("cartpole", 1, {"discrete": True})
    theirs.state = np.array([0.01, -0.02, 0.03, 0.04])
    for name, value in zip(("x", "v", "angle", "rate"), theirs.state, strict=True):
        ours.state[name][0] = value
    rng = np.random.default_rng(0)
    for _ in range(15):
        action = int(rng.integers(2))
        told, _, fallen, *_ = theirs.step(action)
        step = ours.step(np.array([action]))
        if fallen:
            break
        x, v, sin, cos, rate = step.obs[0]
        assert [x, v, np.arctan2(sin, cos), rate] == pytest.approx(told, abs=1e-5)
        assert step.terminated[0] == fallen


def test_full_force_and_the_choice_of_a_side_are_the_same():
    force, choice = (machine.make("cartpole", 4, {"discrete": d}) for d in (False, True))
    force.reset(5), choice.reset(5)
    for side in (1, 0, 0, 1):
        pushed = force.step(np.full((4, 1), 2.0 * side - 1.0))
        chosen = choice.step(np.full(4, side))
        assert np.array_equal(pushed.obs, chosen.obs)
    assert choice.action_space.n == 2


def test_each_step_is_worth_one_and_five_hundred_are_a_success():
    env = machine.make("cartpole", 8, {})
    obs, total = env.reset(2), np.zeros(8)
    for _ in range(500):
        step = env.step(cartpole.scripted(obs))
        obs, total = step.obs, total + step.reward
    assert (total == 500.0).all()
    assert step.truncated.all()


def test_the_shipped_preset_is_the_task_with_its_own_defaults():
    preset = yaml.safe_load((CONFIGS / "env" / "cartpole.yaml").read_text())
    assert preset.pop("name") == "cartpole"
    assert preset.pop("num_envs") == 16
    assert preset.pop("engine") == "numpy"
    assert preset == {"discrete": False, "time_limit": 10.0}


def test_torch_swings_the_same_pole():
    torch = pytest.importorskip("torch")
    env = machine.make("cartpole", 16, {})
    env.reset(1)
    ours = env.state
    theirs = {name: torch.from_numpy(values.copy()) for name, values in ours.items()}
    for _ in range(20):
        action = np.sin(np.arange(16, dtype=np.float32))[None]
        ours = env.task.advance(np, ours, action).state
        theirs = env.task.advance(torch, theirs, torch.from_numpy(action)).state
    assert env.task.observe(torch, theirs).numpy() == pytest.approx(
        env.task.observe(np, ours), abs=1e-4
    )
