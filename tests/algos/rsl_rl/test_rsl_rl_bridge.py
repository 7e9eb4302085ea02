"""The batched environment as rsl_rl's algorithms see it."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from srb_train.algos.rsl_rl import bridge
from srb_train.errors import UnsupportedError
from srb_train.tracked import TrackedEnv
from tests.algos.rsl_rl.scene import Buoy


def bridged(num_envs=3, **shape) -> bridge.Bridge:
    env = TrackedEnv(Buoy(num_envs, **shape), on_step=lambda n: None, overdue=lambda: False)
    env.reset(5)
    groups = bridge.groups_of(env.observation_space)
    return bridge.Bridge(env, groups, torch.device("cpu"))


def idle(over: bridge.Bridge) -> torch.Tensor:
    return torch.zeros(over.num_envs, over.num_actions)


def until_an_episode_ends(over: bridge.Bridge) -> bridge.Moved:
    while True:
        moved = over.step(idle(over))
        if moved.dones.any():
            return moved


def test_one_array_is_the_group_policy_and_a_dict_a_group_a_key():
    assert list(bridged().groups) == ["policy"]
    seen = bridged(observation="dict")
    assert {key: tuple(t.shape) for key, t in seen.observe(seen.env.last_obs).items()} == {
        "hint": (3, 1),
        "state": (3, 3),
    }


def test_observations_and_rewards_share_memory_with_the_environment():
    over = bridged()
    moved = over.step(idle(over))
    assert np.shares_memory(moved.obs["policy"].numpy(), over.env.last_obs)
    kept = []
    inner = over.env.step
    over.env.step = lambda action: kept.append(inner(action)) or kept[-1]
    assert np.shares_memory(over.step(idle(over)).rewards.numpy(), kept[-1].reward)


def test_an_array_of_any_shape_in_double_precision_is_a_float32_vector():
    over = bridged(observation="double")
    moved = until_an_episode_ends(over)
    assert moved.obs["policy"].dtype == torch.float32
    assert tuple(moved.obs["policy"].shape) == (3, 3)
    np.testing.assert_array_equal(
        moved.obs["policy"].numpy(), over.env.last_obs[..., 0].astype(np.float32)
    )


def test_an_image_has_its_channels_first_and_values_up_to_one():
    over = bridged(observation="image")
    seen = over.observe(over.env.last_obs)["policy"]
    assert tuple(seen.shape) == (3, 1, 36, 36)
    np.testing.assert_allclose(seen[:, 0, 0, 0], over.env.last_obs[:, 0, 0, 0] / 255.0, rtol=1e-6)
    first = bridge.groups_of(spaces.Box(0, 255, (3, 40, 50), np.uint8))["policy"]
    assert (first.shape, first.colours_last) == ((3, 40, 50), False)


def test_what_is_no_array_of_numbers_is_refused():
    with pytest.raises(UnsupportedError, match=r"hint is Discrete"):
        bridge.groups_of(spaces.Dict({"hint": spaces.Discrete(2)}))


def test_only_the_rows_that_a_limit_ended_tell_what_they_saw_last():
    over = bridged(limit=6, constant=True)
    over.env._env.age[1] = 3
    moved = until_an_episode_ends(over)
    assert moved.dones.tolist() == [False, True, False]
    assert moved.cut.tolist() == [1]
    torch.testing.assert_close(moved.last_obs["policy"][:, 2], torch.tensor([6 / 15]))
    assert moved.obs["policy"][1, 2] == 0


def test_a_terminated_row_is_never_cut():
    over = bridged(limit=4)
    over.env._env.x[0] = [1.9, 5.0]
    over.env._env.age[2] = 3
    moved = over.step(idle(over))
    assert moved.dones.tolist() == [True, False, True]
    assert moved.cut.tolist() == [2]
    torch.testing.assert_close(moved.last_obs["policy"][:, 2], torch.tensor([4 / 15]))


def test_a_step_that_only_terminates_cuts_nothing():
    over = bridged()
    over.env._env.x[0] = [1.9, 5.0]
    moved = over.step(idle(over))
    assert moved.dones.tolist() == [True, False, False]
    assert moved.cut is moved.last_obs is None


def test_actions_from_minus_one_to_one_go_from_bound_to_bound_and_never_beyond():
    over = bridged(num_envs=1)
    for action, expected in (([-1.0, -1.0], [0.0, -2.0]), ([0.0, 0.5], [0.5, 1.0])):
        assert over.to_task(torch.tensor([action])).tolist() == [expected]
    sent = over.to_task(torch.tensor([[9.0, -9.0]]))
    assert sent.tolist() == [[1.0, -2.0]]
    assert over.env.action_space.contains(sent[0])


def test_actions_without_bounds_arrive_as_they_are():
    over = bridged(num_envs=1, action="endless")
    assert over.to_task(torch.tensor([[3.0, -70.0]])).tolist() == [[3.0, -70.0]]


def test_actions_arrive_in_the_shape_and_type_of_the_task():
    over = bridged(num_envs=2, action="square")
    assert over.num_actions == 4
    sent = over.to_task(torch.full((2, 4), 0.5))
    assert (sent.shape, sent.dtype) == ((2, 2, 2), np.float64)


def test_the_policys_own_actions_are_not_changed():
    over = bridged(num_envs=2)
    actions = torch.full((2, 2), 9.0)
    over.step(actions)
    assert actions.tolist() == [[9.0, 9.0]] * 2
