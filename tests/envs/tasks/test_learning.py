"""The shipped defaults solve their tasks: the promise of the first command in the README."""

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(5))
def test_landing_is_learnt_whatever_the_seed(srb, tmp_path, seed):
    assert trained_success(srb, tmp_path, "landing", seed) >= 0.9


@pytest.mark.parametrize("seed", range(5))
def test_cartpole_is_learnt_whatever_the_seed(srb, tmp_path, seed):
    assert trained_success(srb, tmp_path, "cartpole", seed) >= 0.9


def trained_success(srb, tmp_path, task, seed):
    """Train with nothing but the defaults and return the success rate of 200 fresh episodes."""
    what = ("--algo", "sb3_ppo", "--env", task, "--logdir", tmp_path)
    pytest.importorskip("stable_baselines3")
    srb("agent", "train", *what, "--seed", seed, "--hide_ui", check=True)
    told = srb("agent", "eval", *what, "--episodes", 200, "--seed", 777, "--json", check=True)
    return json.loads(told.stdout)["success_rate"]
