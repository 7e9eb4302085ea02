"""The tracked environment counts, measures, guards and stops, whatever it wraps."""

import numpy as np
import pytest
from gymnasium.spaces import Box

from srb_train.contracts import Step
from srb_train.errors import StopTraining
from srb_train.runs import metrics
from srb_train.tracked import EpisodeMeter, NonFinite, TrackedEnv


class Clockwork:
    """Rows that end after 2, 3, 4 … steps; the reward of a step is its row's number."""

    array, device, max_episode_steps, render_fps = "numpy", "cpu", None, 10
    draws_endings = False

    def __init__(self, num_envs=3):
        self.num_envs = num_envs
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = Box(-1, 1, (1,), np.float32)
        self.age = np.zeros(num_envs, int)
        self.reward = np.arange(num_envs, dtype=np.float32)

    def reset(self, seed):
        self.age[:] = 0
        return np.zeros((self.num_envs, 2), np.float32)

    def step(self, action):
        self.age += 1
        ended = self.age == np.arange(self.num_envs) + 2
        self.age[ended] = 0
        obs = np.repeat(self.age[:, None], 2, axis=1).astype(np.float32)
        rows = np.flatnonzero(ended)
        final = np.ones((len(rows), 2), np.float32) if len(rows) else None
        info = {"success": rows % 2 == 0, "fuel": rows * 10.0} if len(rows) else {}
        return Step(obs, self.reward.copy(), ended, np.zeros_like(ended), final, info)

    def state_dict(self):
        return {"age": self.age.copy()}

    def load_state_dict(self, state):
        self.age[:] = state["age"]

    def render(self, row=0):
        return None

    def close(self):
        pass


def tracked(env=None, overdue=lambda: False):
    counted = []
    env = TrackedEnv(env or Clockwork(), on_step=counted.append, overdue=overdue)
    env.reset(0)
    return env, counted


ACTION = np.zeros((3, 1), np.float32)


def test_every_step_of_all_rows_is_counted():
    env, counted = tracked()
    for _ in range(5):
        env.step(ACTION)
    assert counted == [3] * 5


def test_episodes_are_measured_row_by_row_on_raw_rewards():
    env, _ = tracked()
    for _ in range(4):
        env.step(ACTION)
    # Row 0 ended twice after 2 steps, row 1 once after 3, row 2 once after 4.
    assert list(env.meter.returns) == [0.0, 3.0, 0.0, 8.0]
    values = env.meter.drain()
    assert values[metrics.EPISODES] == 4
    assert values[metrics.RETURN] == pytest.approx(11 / 4)
    assert values[metrics.LENGTH] == pytest.approx(11 / 4)
    assert values[metrics.SUCCESS] == pytest.approx(3 / 4)
    assert values["episode/fuel"] == pytest.approx((0 + 10 + 0 + 20) / 4)
    assert set(env.meter.drain()) == {metrics.EPISODES}


def test_the_score_is_the_mean_return_of_the_window_and_none_before_the_first_end():
    env, _ = tracked()
    env.step(ACTION)
    assert env.meter.score is None
    for _ in range(3):
        env.step(ACTION)
    assert env.meter.score == pytest.approx(11 / 4)


def test_a_meter_goes_on_in_the_middle_of_episodes():
    env, _ = tracked()
    for _ in range(3):
        env.step(ACTION)
    state = env.meter.state_dict()
    again = EpisodeMeter(3)
    again.load_state_dict(state, episodes_go_on=True)
    other = Clockwork()
    other.load_state_dict(env.state_dict())
    for _ in range(6):
        result = other.step(ACTION)
        again.add(result)
        env.meter.add(result)
    assert again.drain() == env.meter.drain()
    assert list(again.returns) == list(env.meter.returns)


def test_without_the_environment_running_episodes_start_anew():
    env, _ = tracked()
    for _ in range(3):
        env.step(ACTION)
    again = EpisodeMeter(3)
    again.load_state_dict(env.meter.state_dict(), episodes_go_on=False)
    assert again.count == env.meter.count
    assert not again.state_dict()["return"].any()
    assert not again.state_dict()["length"].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reward_that_is_not_finite_names_its_row(bad):
    env, _ = tracked()
    env._env.reward[1] = bad
    with pytest.raises(NonFinite, match=r"reward.*row 1") as caught:
        env.step(ACTION)
    assert {"action", "reward", "row", "obs_before"} <= set(caught.value.facts)


def test_an_action_that_is_not_finite_never_reaches_the_task():
    env, _ = tracked()
    action = ACTION.copy()
    action[2] = np.nan
    with pytest.raises(NonFinite, match=r"action\[0\].*row 2"):
        env.step(action)
    assert not env._env.age.any()


def test_large_finite_numbers_are_no_alarm():
    env, _ = tracked()
    env._env.reward[:] = np.finfo(np.float32).max
    with np.errstate(over="ignore"):
        env.step(ACTION)


def test_without_the_guard_nothing_is_checked():
    env, _ = tracked()
    env.guard = False
    env._env.reward[1] = np.nan
    env.step(ACTION)


def test_an_overdue_stop_leaves_before_the_step():
    env, counted = tracked(overdue=lambda: True)
    with pytest.raises(StopTraining):
        env.step(ACTION)
    assert counted == []
