"""The batched environment as skrl sees it."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from srb_train.algos.skrl import bridge
from srb_train.errors import UnsupportedError
from srb_train.tracked import TrackedEnv
from tests.algos.skrl.scene import Slider

CPU = torch.device("cpu")


def rows(label="skrl_ppo", num_envs=3, **shape):
    env = TrackedEnv(Slider(num_envs, **shape), on_step=lambda n: None, overdue=lambda: False)
    env.reset(5)
    return bridge.Rows(env, label, CPU)


def test_observations_share_the_memory_of_the_environment():
    made = rows()
    seen = made.current()
    assert seen.data_ptr() == made._env.last_obs.ctypes.data
    assert seen.dtype == torch.float32


def test_a_dict_is_flattened_in_the_order_of_its_space():
    made = rows(observation="dict")
    raw = made._env.last_obs
    expected = np.concatenate([raw["a"].reshape(3, 4), raw["b"]], axis=1)
    np.testing.assert_array_equal(made.current().numpy(), expected)
    assert made.observation_space.shape == (7,)


def test_double_precision_becomes_single():
    assert rows(observation="double").current().dtype == torch.float32


def test_rows_that_ended_led_to_their_last_observation_and_go_on_from_a_fresh_one():
    made = rows(limit=4, constant=True)
    for _ in range(3):
        seen = made.step(torch.zeros(3, 2))
        assert seen.next_obs is seen.obs
    seen = made.step(torch.zeros(3, 2))
    assert seen.truncated.all()
    assert not seen.terminated.any()
    np.testing.assert_allclose(seen.next_obs[:, 2].numpy(), 4 / 15, rtol=1e-6)
    assert (seen.obs[:, 2] == 0).all()
    assert seen.reward.shape == seen.truncated.shape == (3, 1)


def test_adding_to_the_reward_of_an_ended_row_leaves_the_environment_alone():
    made = rows(limit=1, constant=True)
    inner = made._env
    kept = []
    original = inner.step
    inner.step = lambda action: kept.append(original(action)) or kept[-1]
    seen = made.step(torch.zeros(3, 2))
    seen.reward.add_(5.0)
    assert (kept[0].reward == 1.0).all()


def test_actions_are_clipped_and_choices_counted_from_where_the_task_counts():
    made = rows()
    np.testing.assert_array_equal(made.act(torch.full((3, 2), 9.0)), np.full((3, 2), 2.0))
    choices = rows(action="from_five").act(torch.tensor([[0], [2], [1]]))
    assert choices.tolist() == [5, 7, 6]
    assert choices.dtype == np.int64


@pytest.mark.parametrize(
    ("label", "shape", "word"),
    [
        ("skrl_sac", {"action": "discrete"}, "skrl_dqn"),
        ("skrl_ddqn", {"action": "continuous"}, "skrl_sac"),
        ("skrl_cem", {"action": "continuous"}, "skrl_ppo"),
        ("skrl_ppo", {"action": "several"}, "MultiDiscrete"),
        ("skrl_ppo", {"observation": "image"}, "vectors"),
        ("skrl_amp", {"observation": "dict"}, "one vector"),
    ],
)
def test_a_kind_that_the_plate_does_not_promise_is_refused(label, shape, word):
    with pytest.raises(UnsupportedError, match=word) as refusal:
        bridge.Rows(Slider(2, **shape), label, CPU)
    assert label in str(refusal.value)


def test_images_within_a_dict_are_refused_as_well():
    env = Slider(2)
    pictures = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    env.observation_space = spaces.Dict({"camera": pictures, "state": env.observation_space})
    with pytest.raises(UnsupportedError, match="vectors"):
        bridge.Rows(env, "skrl_ppo", CPU)
