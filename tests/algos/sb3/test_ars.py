"""A population that is judged by all rows at once."""

import numpy as np
import pytest
import torch

from srb_train.algos.sb3 import bridge, build
from srb_train.algos.sb3.ars import Population
from srb_train.tracked import TrackedEnv
from tests.algos.sb3.conftest import Slider, small


def model(num_envs=3, action="continuous", **shape):
    env = TrackedEnv(
        Slider(num_envs, action=action, **shape), on_step=lambda n: None, overdue=lambda: False
    )
    env.reset(4)
    agent = small("sb3_ars", n_delta=2, n_eval_episodes=2, normalize_observation=False)
    venv = bridge.wrap(env, agent, say=lambda text: None)
    built = build.model("sb3_ars", agent, venv, device="cpu", seed=1)
    built._last_obs = venv.reset()
    built._last_episode_starts = np.ones(num_envs, dtype=bool)
    return built


@pytest.mark.parametrize("action", ["continuous", "discrete"])
def test_each_row_acts_as_sb3_would_with_the_weights_of_its_candidate(action):
    ars = model(action=action)
    candidates = torch.randn(3, ars.n_params)
    with torch.no_grad():
        actions = ars._act(ars._row_weights(candidates))
    for row in range(3):
        ars.policy.load_from_vector(candidates[row])
        expected, _ = ars.predict(ars._last_obs[row], deterministic=True)
        np.testing.assert_allclose(actions[row], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_envs", [1, 3, 20])
def test_every_candidate_is_judged_by_its_episodes_and_no_others(num_envs):
    ars = model(num_envs, limit=4, constant=True)
    ars.env.unwrapped.env._env.age[:] = np.arange(num_envs) % 3
    for _ in range(2):
        population = Population.begin(ars)
        if num_envs == 3:
            assert population.job.tolist() in ([0, 1, 2], [-1, -1, -1])
        while population.ended < ars.jobs:
            _, reward, done, _ = ars.env.step(np.zeros((num_envs, 2), np.float32))
            population.add(reward, done, ars)
        assert population.taken == ars.jobs == 8
        assert set(population.returns.tolist()) <= {8.0, 7.0, 6.0, 5.0, 4.0}
        # Rows that are within an episode now must finish it before they judge again.
        ars._last_episode_starts[:] = False
    assert population.returns.tolist() == [8.0] * 4


def test_a_population_survives_being_written_down():
    ars = model()
    population = Population.begin(ars)
    population.add(np.ones(3, np.float32), np.array([True, False, False]), ars)
    again = Population.from_state(population.state_dict())
    assert all(np.array_equal(vars(population)[name], vars(again)[name]) for name in vars(again))
    assert population.job.tolist() == [3, 1, 2]
