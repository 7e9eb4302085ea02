"""Groups of tensors become arrays, whoever restarts the rows that have ended."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

from srb_train.envs.tensor_rows import (
    Groups,
    TensorRows,
    action_box,
    host,
    lay,
    restarted,
    seen_before,
)
from srb_train.errors import UnsupportedError, UsageError

torch = pytest.importorskip("torch")

LIMIT = 5
ENDLESS = spaces.Box(-np.inf, np.inf, (1,))


class Clock:
    """A simulator whose rows see their own time; row i begins at i, all are cut at 5."""

    def __init__(self, num_envs, *, auto_reset):
        self.num_envs, self.auto_reset = num_envs, auto_reset
        self.device, self.step_dt, self.max_episode_length = torch.device("cpu"), 0.02, LIMIT
        self.single_observation_space = spaces.Dict({"actor": ENDLESS})
        self.single_action_space = ENDLESS
        self.time = torch.zeros(num_envs, 1)
        self.pending = torch.zeros(num_envs, dtype=torch.bool)
        self.closed = 0

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None, env_ids=None):
        if env_ids is None:
            self.time[:, 0] = torch.arange(self.num_envs) % LIMIT
        else:
            self.time[env_ids] = 0.0
            self.pending[env_ids] = False
        return {"actor": self.time}, {}

    def step(self, action):
        assert not self.pending.any(), "ended rows were not restarted"
        assert action.dtype == torch.float32
        self.time += 1
        cut = self.time[:, 0] >= LIMIT
        if self.auto_reset:
            self.time[cut] = 0.0
        else:
            self.pending |= cut
        return {"actor": self.time}, self.time[:, 0] * 2, cut & False, cut, {}

    def render(self):
        return None

    def close(self):
        self.closed += 1


def rows(auto_reset):
    clock = Clock(3, auto_reset=auto_reset)

    def restart(ended):
        return clock.reset(env_ids=torch.as_tensor(ended))[0]

    last = seen_before if auto_reset else restarted(restart)
    return TensorRows(clock, ["actor"], 1.0, last=last), clock


@pytest.mark.parametrize(("auto_reset", "seen_last"), [(False, 5.0), (True, 4.0)])
def test_ended_rows_show_what_they_saw_last_and_the_first_of_what_follows(auto_reset, seen_last):
    env, _ = rows(auto_reset)
    first = env.reset(0)
    kept = first.copy()
    zero = np.zeros((3, 1), np.float32)
    for _ in range(2):
        assert env.step(zero).final_obs is None
    step = env.step(zero)
    assert step.truncated.tolist() == [False, False, True]
    assert not step.terminated.any()
    assert step.final_obs.tolist() == [[seen_last]]
    assert step.obs[:, 0].tolist() == [3.0, 4.0, 0.0]
    assert step.reward.dtype == np.float32
    step = env.step(zero)
    assert step.final_obs.tolist() == [[seen_last]] and step.obs[1, 0] == 0.0
    assert np.array_equal(first, kept)


def test_facts_of_the_simulator_are_those_of_the_rows():
    env, clock = rows(False)
    assert (env.num_envs, env.device, env.max_episode_steps, env.render_fps) == (3, "cpu", 5, 50)
    assert env.state_dict() is None and env.render() is None
    with pytest.raises(UnsupportedError):
        env.load_state_dict({})
    env.close()
    assert clock.closed == 1


def test_terms_are_joined_and_pictures_stay():
    picture = spaces.Box(0, 1, (2, 2, 3))
    group = spaces.Dict({"a": ENDLESS, "eye": picture, "z": spaces.Box(-1, 1, (2,))})
    groups = Groups(spaces.Dict({"policy": group, "critic": ENDLESS}), ["policy", "critic"])
    assert set(groups.space) == {"state", "state/eye", "critic"}
    tensors = {
        "policy": {
            "a": torch.tensor([[1.0]]),
            "eye": torch.ones(1, 2, 2, 3),
            "z": torch.tensor([[2.0, 3.0]]),
        },
        "critic": torch.tensor([[4.0]]),
    }
    seen = groups.read(tensors)
    assert seen["state"].tolist() == [[1.0, 2.0, 3.0]]
    assert seen["state/eye"].shape == (1, 2, 2, 3) and seen["critic"].tolist() == [[4.0]]


def test_an_array_is_never_the_simulators_own_memory():
    tensor = torch.ones(2)
    array = host(tensor)
    tensor += 1
    assert array.tolist() == [1.0, 1.0]


def test_bounds_that_a_task_has_stay():
    own = spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 1.0]), dtype=np.float64)
    assert action_box(own, 1.0) == spaces.Box(
        np.float32([-2, 0]), np.float32([2, 1]), dtype=np.float32
    )
    plain = SimpleNamespace(shape=(2,), low=-np.inf, high=np.inf)
    assert action_box(plain, 3.0) == spaces.Box(-3.0, 3.0, (2,), np.float32)
    with pytest.raises(UnsupportedError, match="continuous"):
        action_box(spaces.Discrete(3), 1.0)


@dataclass
class Settings:
    time: float = 1.0
    terms: dict = field(default_factory=lambda: {"reward": Settings(2.0, {})})


def test_settings_are_laid_by_their_paths_through_objects_and_mappings():
    tree = Settings()
    lay(tree, {"time": 3.0, "terms": {"reward": {"time": 4.0}}})
    assert (tree.time, tree.terms["reward"].time) == (3.0, 4.0)
    with pytest.raises(UsageError, match=r"env\.cfg\.terms\.rewards: .*nearest: reward"):
        lay(tree, {"terms": {"rewards": {"time": 4.0}}})
