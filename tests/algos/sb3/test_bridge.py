"""The batched environment as SB3 sees it."""

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecNormalize, VecTransposeImage

from srb_train.algos.sb3 import bridge
from srb_train.errors import UnsupportedError
from srb_train.tracked import TrackedEnv
from tests.algos.sb3.conftest import IMAGE, Slider, preset


def tracked(num_envs=3, **shape) -> TrackedEnv:
    env = TrackedEnv(Slider(num_envs, **shape), on_step=lambda n: None, overdue=lambda: False)
    env.reset(5)
    return env


def idle(env) -> np.ndarray:
    space = env.action_space
    return np.zeros((env.num_envs, *space.shape), dtype=space.dtype)


def until_an_episode_ends(venv):
    while True:
        obs, reward, done, infos = venv.step(idle(venv))
        if done.any():
            return obs, reward, done, infos


def test_rows_that_go_on_share_one_empty_dict():
    venv = bridge.Bridge(tracked())
    _, _, done, infos = venv.step(idle(venv))
    assert not done.any()
    assert infos == [{}, {}, {}]
    assert infos[0] is infos[1] is infos[2]
    assert venv.step(idle(venv))[3] is infos


def test_an_ended_row_tells_its_last_observation_its_cause_and_its_episode():
    env = tracked(limit=6, constant=True)
    venv = bridge.Bridge(env)
    obs, _, done, infos = until_an_episode_ends(venv)
    assert done.all()
    assert [info["TimeLimit.truncated"] for info in infos] == [True] * 3
    assert [info["episode"]["r"] for info in infos] == [6.0] * 3
    assert [info["episode"]["l"] for info in infos] == [6] * 3
    assert all(info["is_success"] in (True, False) for info in infos)
    last = np.stack([info["terminal_observation"] for info in infos])
    np.testing.assert_allclose(last[:, 2], 6 / 15)
    np.testing.assert_allclose(obs[:, 2], 0.0)
    again = until_an_episode_ends(venv)[3]
    assert again[0]["episode"] | {"t": 0.0} == {"r": 6.0, "l": 6, "t": 0.0}
    assert infos[0]["terminal_observation"].tolist() == last[0].tolist()


def test_a_termination_is_no_time_limit():
    env = Slider(2, limit=500)
    env.reset(0)
    venv = bridge.Bridge(env)
    while True:
        _, _, done, infos = venv.step(np.full((2, 2), 2.0, np.float32))
        if done.any():
            break
    ended = [info for info in infos if info]
    assert [info["TimeLimit.truncated"] for info in ended] == [False] * len(ended)


def test_rewards_may_be_changed_in_place_without_touching_the_environment():
    env = tracked(limit=2, constant=True)
    kept = []
    inner = env.step
    env.step = lambda action: kept.append(inner(action)) or kept[-1]
    _, reward, _, _ = until_an_episode_ends(bridge.Bridge(env))
    reward += 100.0
    assert kept[-1].reward.tolist() == [1.0] * 3


def test_the_first_observation_is_what_the_rows_see_now():
    env = tracked()
    venv = bridge.Bridge(env)
    obs, *_ = venv.step(idle(venv))
    np.testing.assert_array_equal(venv.reset(), obs)


@pytest.mark.parametrize("action", ["discrete", "from_five"])
def test_discrete_actions_arrive_as_int64_in_the_range_of_the_task(action):
    env = Slider(3, action=action)
    env.reset(0)
    venv = bridge.Bridge(env)
    assert venv.action_space == spaces.Discrete(3)
    venv.step(np.array([0, 1, 2], dtype=np.int32))
    assert env.actions[-1].dtype == np.int64
    assert [env.action_space.contains(int(each)) for each in env.actions[-1]] == [True] * 3


def test_random_actions_come_from_a_generator_of_the_bridge():
    env = Slider(1)
    venv = bridge.Bridge(env)
    env.action_space.seed(1)
    expected = env.action_space.sample()
    env.action_space.seed(1)
    venv.action_space.sample()
    assert env.action_space.sample().tolist() == expected.tolist()


def test_endless_actions_are_refused_with_the_way_out():
    with pytest.raises(UnsupportedError, match=r"finite bounds.*rescale"):
        bridge.Bridge(Slider(1, action="endless"))


def test_nested_observations_are_refused():
    nested = spaces.Dict({"a": spaces.Dict({"b": IMAGE})})
    with pytest.raises(UnsupportedError, match="flat Dict"):
        bridge.observation_space(nested)


def test_double_precision_becomes_single():
    env = tracked(observation="double")
    venv = bridge.Bridge(env)
    assert venv.observation_space.dtype == np.float32
    assert venv.reset().dtype == np.float32
    obs, *_, infos = until_an_episode_ends(venv)
    assert obs.dtype == np.float32
    assert next(info for info in infos if info)["terminal_observation"].dtype == np.float32


def wrapped(observation, **changes):
    said = []
    env = tracked(observation=observation)
    agent = {**preset("sb3_ppo"), **changes}
    return env, bridge.wrap(env, agent, said.append), said


def test_vectors_are_normalised_and_a_policy_is_shown_the_same():
    env, venv, said = wrapped("vector")
    assert isinstance(venv, VecNormalize)
    venv.reset()
    for _ in range(5):
        obs, *_ = venv.step(idle(venv))
    np.testing.assert_array_equal(bridge.observe(venv, env.last_obs), obs)
    assert abs(obs).max() <= 10.0
    assert said == []


def test_images_are_transposed_and_never_normalised():
    env, venv, said = wrapped("image")
    assert isinstance(venv, VecTransposeImage)
    assert venv.reset().shape == (3, 1, 36, 36)
    assert bridge.observe(venv, env.last_obs).dtype == np.uint8
    assert ["stay as they are" in line for line in said] == [True]


def test_a_dict_is_normalised_in_its_vectors_alone():
    env, venv, _ = wrapped("dict", normalize_reward=True)
    venv.reset()
    obs, *_ = venv.step(idle(venv))
    assert venv.norm_obs_keys == ["state"]
    assert obs["camera"].shape == (3, 1, 36, 36)
    assert obs["camera"].dtype == np.uint8
    seen = bridge.observe(venv, env.last_obs)
    assert all(np.array_equal(seen[key], obs[key]) for key in obs)


def test_nothing_is_wrapped_where_nothing_is_asked_for():
    _, venv, _ = wrapped("vector", normalize_observation=False)
    assert isinstance(venv, bridge.Bridge)
