"""Who may see what: `critic` reaches critics that may see it, and no actor ever."""

import numpy as np
import pytest
from gymnasium import spaces

from srb_train import registry, sighted
from srb_train.contracts import PRIVILEGED
from srb_train.errors import UnsupportedError

PARAMS = {"observe": "dict", "time_limit": 1.0}


@pytest.fixture
def env():
    return registry.make_env("sample_collection", 3, PARAMS)


def test_a_label_with_a_privileged_critic_trains_on_everything_and_it_is_said(env):
    said = []
    assert sighted.for_training(env, "rsl_rl_ppo", said.append) is env
    assert len(said) == 1
    assert "critic of rsl_rl_ppo alone" in said[0]


def test_for_all_others_it_is_left_out_and_it_is_said_who_could(env):
    said = []
    seen = sighted.for_training(env, "skrl_sac", said.append)
    assert set(seen.observation_space.spaces) == {"state", "proprio"}
    assert len(said) == 1
    assert "skrl_sac cannot" in said[0]
    assert "skrl_ppo" in said[0]


def test_a_task_without_such_a_part_stays_as_it_is():
    said = []
    for params in ({}, {"observe": "camera"}):
        env = registry.make_env("sample_collection", 2, params)
        assert sighted.for_training(env, "sb3_ppo", said.append) is env
        assert sighted.for_acting(env) is env
    assert said == []


def test_what_is_left_out_is_left_out_everywhere_and_nothing_else_changes(env):
    other = registry.make_env("sample_collection", 3, PARAMS)
    blind = sighted.for_acting(env)
    first, whole = blind.reset(5), other.reset(5)
    assert PRIVILEGED in whole
    assert set(first) == {"state", "proprio"}
    action = np.full((3, 2), 0.5, dtype=np.float32)
    for _ in range(6):
        one, two = blind.step(action), other.step(action)
        assert np.array_equal(one.reward, two.reward)
        assert np.array_equal(one.truncated, two.truncated)
        pairs = [(one.obs, two.obs)]
        if two.final_obs is None:
            assert one.final_obs is None
        else:
            pairs.append((one.final_obs, two.final_obs))
        for seen, all_of_it in pairs:
            assert set(seen) == {"state", "proprio"}
            assert all(np.array_equal(seen[key], all_of_it[key]) for key in seen)
    assert two.final_obs is None
    assert blind.max_episode_steps == 5


def test_its_state_is_that_of_the_task_itself(env):
    blind = sighted.for_acting(env)
    blind.reset(8)
    stored = blind.state_dict()
    assert all(np.array_equal(stored[name], part) for name, part in env.state_dict().items())
    other = sighted.for_acting(registry.make_env("sample_collection", 3, PARAMS))
    other.load_state_dict(stored)
    action = np.zeros((3, 2), dtype=np.float32)
    assert np.array_equal(other.step(action).obs["state"], blind.step(action).obs["state"])
    assert blind.render(1).shape == (480, 640, 3)
    blind.close()


def test_a_task_that_shows_nothing_else_is_refused(env):
    env.observation_space = spaces.Dict({PRIVILEGED: spaces.Box(-1.0, 1.0, (2,))})
    for algo in ("rsl_rl_ppo", "sb3_ppo"):
        with pytest.raises(UnsupportedError, match="no actor may see"):
            sighted.for_training(env, algo, print)
    with pytest.raises(UnsupportedError, match="no actor may see"):
        sighted.for_acting(env)
