"""The evaluation loop: who counts, when it ends, and how sure it is."""

import json
import math
import statistics
from contextlib import closing

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from srb_train import evaluate as ev
from srb_train.contracts import Step
from srb_train.errors import UnsupportedError, UsageError
from srb_train.registry import make_env


class Countdown:
    """Row i ends every lengths[i] steps with a reward of 1 a step; a 0 never ends."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    array, device, render_fps, draws_endings = "numpy", "cpu", 30, False

    def __init__(self, lengths, *, max_episode_steps=None, success=None, reward=1.0):
        self.lengths = np.array(lengths)
        self.num_envs = len(lengths)
        self.max_episode_steps = max_episode_steps
        self.success = success
        self.reward = reward
        self.time = np.zeros(self.num_envs, dtype=np.int64)

    def reset(self, seed):
        self.time[:] = 0
        return self.time[:, None].astype(np.float32)

    def step(self, action):
        self.time += 1
        ended = self.time == self.lengths
        rows = np.flatnonzero(ended)
        final = self.time[rows, None].astype(np.float32) if rows.size else None
        info = {}
        if rows.size and self.success is not None:
            info["success"] = np.array([self.success(row) for row in rows])
        self.time[ended] = 0
        obs = self.time[:, None].astype(np.float32)
        reward = np.full(self.num_envs, self.reward, np.float32)
        return Step(obs, reward, ended, np.zeros_like(ended), final, info)


class Watching(ev.ZeroPolicy):
    """Does nothing and writes down what it was told to forget."""

    def __init__(self, env):
        super().__init__(env.action_space, env.num_envs)
        self.forgot = []

    def reset(self, rows):
        self.forgot.append(rows.tolist())


def play(env, episodes, **options):
    return ev.evaluate(ev.ZeroPolicy(env.action_space, env.num_envs), env, episodes, 0, **options)


def rows(evaluation):
    return sorted(episode.row for episode in evaluation.episodes)


@given(st.integers(1, 300), st.integers(1, 40))
def test_quotas_share_everything_and_differ_by_one_at_most(episodes, num_envs):
    quota = ev.quotas(episodes, num_envs)
    assert quota.sum() == episodes
    assert quota.max() - quota.min() <= 1
    assert (np.diff(quota) <= 0).all()


def test_a_copy_with_short_episodes_does_not_count_more_often():
    found = play(Countdown([1, 50]), 6)
    assert rows(found) == [0, 0, 0, 1, 1, 1]
    assert found.as_dict()["mean_length"] == statistics.fmean([1, 1, 1, 50, 50, 50])


def test_what_does_not_divide_goes_to_the_lowest_copies():
    assert rows(play(Countdown([3, 3, 3]), 5)) == [0, 0, 1, 1, 2]


def test_fewer_episodes_than_copies_are_fine():
    found = play(Countdown([9, 1, 1, 1]), 2)
    assert rows(found) == [0, 1]
    assert (found.steps, found.stop_reason) == (9, "completed")


def test_more_episodes_than_copies_are_fine():
    found = play(Countdown([4]), 7)
    assert len(found.episodes) == 7 and found.steps == 28


def test_a_policy_forgets_the_rows_that_ended():
    env = Countdown([2, 3])
    policy = Watching(env)
    ev.evaluate(policy, env, 3, 0)
    assert policy.forgot == [[True, True], [True, False], [False, True], [True, False]]


def test_a_row_that_never_ends_spends_the_budget_and_the_result_says_so():
    found = play(Countdown([5, 0], max_episode_steps=5), 4)
    facts = found.as_dict()
    assert facts["max_steps"] == 5 * 2 * 2 == facts["steps"]
    assert facts["stop_reason"] == "step_budget" and not facts["complete"]
    assert (facts["episodes_requested"], facts["episodes_completed"]) == (4, 2)


def test_a_task_without_a_limit_has_a_stated_cap():
    assert play(Countdown([1]), 3).max_steps == ev.ENDLESS_EPISODE * 3 * 2


def test_a_stop_is_obeyed_at_the_next_step_and_keeps_what_is_done():
    asked = []

    def stopped():
        asked.append(True)
        return len(asked) > 12

    found = play(Countdown([5]), 100, stopped=stopped)
    assert (found.steps, found.stop_reason, len(found.episodes)) == (12, "stopped", 2)


def test_each_episode_is_told_when_it_ends():
    told = []
    found = play(Countdown([2, 3]), 4, on_episode=told.append)
    assert tuple(told) == found.episodes and len(told) == 4


def test_success_is_null_without_a_signal_and_counted_with_one():
    silent = play(Countdown([2]), 3).as_dict()
    assert [silent[k] for k in ("success_rate", "success_interval", "successes", "failures")] == (
        [None] * 4
    )
    facts = play(Countdown([1, 1, 1, 1], success=lambda row: row != 2), 4).as_dict()
    assert (facts["success_rate"], facts["successes"], facts["failures"]) == (0.75, 3, 1)
    assert facts["success_interval"] == list(ev.rate_interval(3, 4))


def test_one_episode_has_a_mean_but_no_spread():
    facts = play(Countdown([7]), 1).as_dict()
    assert (facts["mean_return"], facts["std_return"], facts["return_interval"]) == (
        7.0,
        None,
        None,
    )


def test_a_result_is_strict_json_even_when_returns_are_not_finite():
    for reward in (1.0, math.nan, math.inf):
        facts = play(Countdown([2, 3], reward=reward), 4).as_dict()
        text = json.dumps(facts, allow_nan=False)
        assert json.loads(text) == facts
        broken = not math.isfinite(reward)
        assert facts["non_finite_returns"] == (4 if broken else 0)
        assert (facts["mean_return"] is None) == broken
        assert facts["mean_length"] == 2.5
        assert ("non_finite" in facts["episodes"][0]) == broken
    with pytest.raises(UsageError, match="episodes=0"):
        play(Countdown([1]), 0)


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    def returns(seed):
        with closing(make_env("gymnasium/CartPole-v1", 3, {})) as env:
            policy = ev.RandomPolicy(env.action_space, 3, seed)
            found = ev.evaluate(policy, env, 7, seed)
        assert found.as_dict()["episodes_completed"] == 7
        return [(episode.row, episode.total) for episode in found.episodes]

    assert returns(1) == returns(1) != returns(2)


def test_returns_and_lengths_are_those_of_the_bare_environment():
    with closing(make_env("gymnasium/Pendulum-v1", 2, {"max_episode_steps": 20})) as env:
        found = play(env, 2)
        obs = env.reset(0)
        total = np.zeros(2)
        for _ in range(20):
            total += env.step(np.zeros((2, 1), np.float32)).reward
    assert obs.shape == (2, 3)
    assert [episode.total for episode in found.episodes] == total.tolist()
    assert {(episode.length, episode.terminated) for episode in found.episodes} == {(20, False)}


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062047), (2, 4.3026527), (3, 3.1824463), (9, 2.2621572), (29, 2.0452296)],
)
def test_t_quantiles_are_those_of_the_tables(freedom, quantile):
    assert ev.t_quantile(freedom) == pytest.approx(quantile, abs=1e-6)


def test_the_t_quantile_tends_to_the_normal_one():
    assert ev.t_quantile(10**7) == pytest.approx(1.95996, abs=3e-4)


def test_the_mean_interval_covers_the_mean_as_often_as_it_says():
    generator = np.random.default_rng(0)
    samples = generator.normal(3.0, 2.0, (2000, 6)).tolist()
    covered = sum(low <= 3.0 <= high for low, high in map(ev.mean_interval, samples))
    assert 0.935 < covered / 2000 < 0.965


def test_wilson_intervals_are_those_of_the_tables():
    assert ev.rate_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert ev.rate_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert ev.rate_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


SPACES = [
    spaces.Box(-1.0, 1.0, (3,), np.float32),
    spaces.Box(0.5, 2.0, (2,), np.float64),
    spaces.Box(-np.inf, np.inf, (2, 2), np.float32),
    spaces.Box(np.array([0.0, -np.inf]), np.array([np.inf, -3.0]), dtype=np.float64),
    spaces.Box(-3, 5, (4,), np.int64),
    spaces.Discrete(4, start=2),
    spaces.MultiDiscrete([2, 3], start=[1, 5]),
    spaces.MultiBinary(5),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_baselines_act_within_every_space(space):
    obs = np.zeros((200, 1))
    for policy in (ev.ZeroPolicy(space, 200), ev.RandomPolicy(space, 200, 0)):
        actions = policy.act(obs)
        assert len(actions) == 200
        assert all(space.contains(action) for action in actions)
    assert not np.array_equal(policy.act(obs), actions), "random actions repeat themselves"


def test_zero_is_zero_where_zero_is_allowed():
    assert (ev.ZeroPolicy(SPACES[0], 2).act(None) == 0).all()
    assert (ev.ZeroPolicy(SPACES[1], 2).act(None) == 0.5).all()
    assert ev.ZeroPolicy(spaces.Discrete(3), 2).act(None).tolist() == [0, 0]


def test_random_actions_leave_the_global_generator_alone_and_cover_the_bounds():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    policy = ev.RandomPolicy(spaces.Box(-3, 5, (1,), np.int64), 2000, 1)
    assert set(policy.act(None).ravel().tolist()) == set(range(-3, 6))
    assert np.array_equal(np.random.get_state()[1], before)


def test_an_action_space_without_a_baseline_is_refused():
    for policy in (lambda s: ev.ZeroPolicy(s, 1), lambda s: ev.RandomPolicy(s, 1, 0)):
        with pytest.raises(UnsupportedError):
            policy(spaces.Text(4))
