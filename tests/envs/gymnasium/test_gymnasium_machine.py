"""The batched contract over real Gymnasium environments."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from srb_train import registry
from srb_train.envs.gymnasium import machine
from srb_train.errors import IntegrityError, MissingDependency, UnsupportedError, UsageError

HERE = Path(__file__).parent


def actions(env, count, seed=0):
    env.action_space.seed(seed)
    return [
        np.stack([env.action_space.sample() for _ in range(env.num_envs)]) for _ in range(count)
    ]


def play(env, count, seed=0):
    return [env.step(action) for action in actions(env, count, seed)]


def test_the_registry_finds_the_room_by_its_prefix():
    with closing(registry.make_env("gymnasium/Pendulum-v1", 2, {})) as env:
        assert (env.num_envs, env.array, env.device) == (2, "numpy", "cpu")
        assert env.max_episode_steps == 200
        assert env.render_fps == 30


def test_row_i_is_seeded_by_seed_plus_i():
    with closing(machine.make("CartPole-v1", 3, {})) as env:
        obs = env.reset(7)
        again = env.reset(7)
    alone = gymnasium.make("CartPole-v1")
    for row in range(3):
        assert np.array_equal(obs[row], alone.reset(seed=7 + row)[0])
    assert np.array_equal(obs, again)
    alone.close()


def test_an_ended_row_shows_its_next_episode_and_its_last_observation_is_compact():
    with closing(machine.make("CartPole-v1", 4, {})) as env:
        env.reset(0)
        ends = 0
        for result in play(env, 200):
            ended = np.flatnonzero(result.terminated | result.truncated)
            assert (result.final_obs is None) == (ended.size == 0)
            if ended.size:
                ends += ended.size
                assert result.final_obs.shape == (ended.size, 4)
                # A pole that ended leans; one that begins is within 0.05 of upright.
                assert (np.abs(result.obs[ended]) <= 0.05).all()
                assert (np.abs(result.final_obs).max(axis=1) > 0.05).all()
        assert ends > 10


def test_a_row_steps_as_the_bare_environment_does():
    with closing(machine.make("Pendulum-v1", 1, {"max_episode_steps": 30})) as env:
        bare = gymnasium.make("Pendulum-v1", max_episode_steps=30)
        assert np.array_equal(env.reset(5)[0], bare.reset(seed=5)[0])
        for action in actions(env, 65):
            result = env.step(action)
            obs, reward, _, truncated, _ = bare.step(2.0 * action[0])
            if truncated:
                assert np.array_equal(result.final_obs[0], obs)
                obs, _ = bare.reset()
            assert np.array_equal(result.obs[0], obs)
            assert result.reward[0] == np.float32(reward)
            assert result.truncated[0] == truncated
        bare.close()


def test_a_time_limit_truncates_and_never_terminates():
    with closing(machine.make("faults:ConstantReward-v0", 2, {})) as env:
        assert env.max_episode_steps == 10
        env.reset(0)
        for number, result in enumerate(play(env, 30), start=1):
            assert not result.terminated.any()
            assert (result.truncated == (number % 10 == 0)).all()
            assert (result.reward == 1.0).all() and result.reward.dtype == np.float32


def test_a_step_that_both_terminates_and_truncates_only_terminates():
    register("Telling", Telling)
    bare = gymnasium.make("Telling-v0", max_episode_steps=1)
    bare.reset()
    assert bare.step(np.zeros(1, np.float32))[2:4] == (True, True)
    with closing(machine.make("Telling-v0", 1, {"max_episode_steps": 1})) as env:
        env.reset(0)
        result = env.step(np.zeros((1, 1), np.float32))
    assert (result.terminated.tolist(), result.truncated.tolist()) == ([True], [False])


def test_max_episode_steps_replaces_the_registered_limit():
    with closing(machine.make("Pendulum-v1", 1, {"max_episode_steps": 3})) as env:
        env.reset(0)
        assert [bool(result.truncated[0]) for result in play(env, 6)] == [False, False, True] * 2
    with pytest.raises(UsageError, match=r"env\.max_episode_steps=0"):
        machine.make("Pendulum-v1", 1, {"max_episode_steps": 0})


def test_returned_arrays_are_never_written_again_and_actions_are_left_alone():
    with closing(machine.make("CartPole-v1", 3, {})) as env:
        env.reset(0)
        kept = play(env, 60)
        copies = [
            [None if part is None else np.array(part) for part in result[:5]] for result in kept
        ]
        action = np.ones(3, dtype=np.int64)
        env.step(action)
        play(env, 60, seed=1)
        assert (action == 1).all()
        for result, copied in zip(kept, copies, strict=True):
            for part, copy in zip(result[:5], copied, strict=True):
                assert (part is None and copy is None) or np.array_equal(part, copy)


def test_float64_observations_become_float32():
    with closing(machine.make("faults:ConstantReward-v0", 2, {})) as env:
        assert env.observation_space.dtype == np.float32
        obs = env.reset(0)
        result = play(env, 10)[-1]
        assert {obs.dtype, result.obs.dtype, result.final_obs.dtype} == {np.dtype(np.float32)}


def test_a_nested_dict_becomes_a_flat_one_and_success_is_told():
    with closing(machine.make("faults:DictObs-v0", 3, {})) as env:
        assert list(env.observation_space) == ["goal/distance", "goal/side", "position"]
        obs = env.reset(0)
        assert {key: value.shape for key, value in obs.items()} == {
            "goal/distance": (3, 1),
            "goal/side": (3, 2),
            "position": (3, 3),
        }
        result = play(env, 10)[-1]
        low = result.final_obs["position"][:, 0] < 0
        assert np.array_equal(result.info["success"], low)
        assert np.array_equal(result.final_obs["goal/side"], np.stack([low, ~low], axis=1))
        for row in range(3):
            one = {key: value[row] for key, value in result.obs.items()}
            assert env.observation_space.contains(one)


def test_numbers_of_the_last_info_are_facts_of_the_episode():
    register("Telling", Telling)
    with closing(machine.make("Telling-v0", 2, {})) as env:
        env.reset(0)
        info = env.step(np.zeros((2, 1), np.float32)).info
    assert set(info) == {"distance", "success", "sometimes"}
    assert info["distance"].dtype == np.float32
    assert info["success"].tolist() == [False, False]
    assert np.isnan(info["sometimes"]).sum() == 1


def test_an_environment_that_reuses_its_observation_keeps_its_last_one():
    register("Reusing", Reusing)
    with closing(machine.make("Reusing-v0", 2, {})) as env:
        env.reset(0)
        for _ in range(2):
            result = env.step(np.zeros((2, 1), np.float32))
        assert (result.final_obs == 2.0).all()
        assert (result.obs == 0.0).all()


@pytest.mark.parametrize("library", ["jax", "nothing"])
def test_rows_in_processes_of_their_own_see_what_rows_in_a_loop_see(monkeypatch, library):
    # A process with JAX in it must not fork; whether it really has it does not matter here.
    monkeypatch.setitem(sys.modules, library, sys)
    results = []
    for kind in ("sync", "async"):
        params = {"vectorization": kind, "max_episode_steps": 15}
        with closing(machine.make("Pendulum-v1", 2, params)) as env:
            env.reset(3)
            play(env, 10)
            state = env.state_dict()
            tail = play(env, 20, seed=1)
            env.reset(99)
            env.load_state_dict(state)
            repeated = play(env, 20, seed=1)
            frame = env.render(1)
            results.append((tail, repeated, frame))
    (sync_tail, _, sync_frame), (async_tail, async_repeated, async_frame) = results
    assert np.array_equal(sync_frame, async_frame)
    for expected, seen, repeated in zip(sync_tail, async_tail, async_repeated, strict=True):
        for part, other, third in zip(expected[:5], seen[:5], repeated[:5], strict=True):
            assert np.array_equal(part, other) and np.array_equal(part, third)


def test_a_picture_is_drawn_only_where_there_is_one():
    with closing(machine.make("CartPole-v1", 2, {})) as env:
        env.reset(0)
        frame = env.render(1)
        assert frame.dtype == np.uint8 and frame.shape == (400, 600, 3)
    with closing(machine.make("CartPole-v1", 1, {"render": False})) as env:
        env.reset(0)
        assert env.render() is None
    register("Telling", Telling)
    with closing(machine.make("Telling-v0", 1, {})) as env:
        env.reset(0)
        assert env.render() is None


def test_an_unknown_id_names_the_nearest_ones():
    with pytest.raises(UsageError, match="Pendulum-v1"):
        machine.make("Pendulm-v1", 1, {})
    with pytest.raises(UsageError, match="CartPole-v1"):
        machine.make("CartPole", 1, {})
    with pytest.raises(UsageError, match="NanReward-v0"):
        machine.make("faults:NanRewards-v0", 1, {})


def test_a_module_that_is_not_there_is_named_with_the_way_out():
    with pytest.raises(UsageError, match=r"no module nowhere_at_all.*PYTHONPATH"):
        machine.make("nowhere_at_all:Task-v0", 1, {})


def test_a_missing_package_comes_with_the_pip_line(tmp_path, monkeypatch):
    (tmp_path / "needy.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingDependency, match="pip install a_package_that_is_not_there"):
        machine.make("needy:Task-v0", 1, {})


def test_a_missing_extra_of_gymnasium_comes_with_the_pip_line():
    code = (
        "import sys; sys.modules['Box2D'] = None\n"
        "from srb_train.envs.gymnasium import machine\n"
        "machine.make('LunarLander-v3', 1, {})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingDependency: gymnasium/LunarLander-v3 needs" in done.stderr
    assert 'pip install "gymnasium[box2d]"' in done.stderr


def test_a_missing_renderer_is_told_when_a_picture_is_asked_for():
    code = (
        "import sys; sys.modules['pygame'] = None\n"
        "from srb_train.envs.gymnasium import machine\n"
        "env = machine.make('CartPole-v1', 1, {}); env.reset(0); env.render()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingDependency: this task cannot be drawn" in done.stderr
    assert 'pip install "gymnasium[classic-control]"' in done.stderr


def test_an_environment_that_moved_elsewhere_says_where():
    with pytest.raises(MissingDependency, match=r"Ant-v3 cannot be imported: .*robotics"):
        machine.make("Ant-v3", 1, {})


def test_a_wrong_argument_of_the_environment_is_named():
    with pytest.raises(UsageError, match=r"gravitas.*env\.kwargs"):
        machine.make("Pendulum-v1", 1, {"kwargs": {"gravitas": 9.8}})
    with closing(machine.make("Pendulum-v1", 1, {"kwargs": {"g": 1.5}})) as env:
        assert env.num_envs == 1


def test_spaces_that_nobody_can_learn_on_are_refused_with_the_id():
    register("Talking", Talking)
    with pytest.raises(UnsupportedError, match=r"gymnasium/Talking-v0: .*Text"):
        machine.make("Talking-v0", 1, {})
    with pytest.raises(UsageError, match=r"env\.vectorization='threads': one of sync, async"):
        machine.make("Pendulum-v1", 1, {"vectorization": "threads"})


def test_noise_and_reading_stdin_break_nothing():
    code = (
        "import numpy as np; from srb_train.envs.gymnasium import machine\n"
        "env = machine.make('faults:Chatty-v0', 2, {})\n"
        "env.reset(0)\n"
        "print('sum', sum(env.step(np.zeros((2, 2))).reward.sum() for _ in range(20)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="this\nis\nfor\nnobody\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    assert "sum 40.0" in done.stdout and "chatty: a warning" in done.stderr


def test_nan_rewards_and_crashes_pass_through_untouched():
    with closing(machine.make("faults:NanReward-v0", 2, {"kwargs": {"at": 3}})) as env:
        env.reset(0)
        assert [bool(np.isnan(r.reward).all()) for r in play(env, 4)] == [False, False, True, False]
    with closing(machine.make("faults:Crash-v0", 1, {"kwargs": {"at": 12}})) as env:
        env.reset(0)
        play(env, 11)
        with pytest.raises(RuntimeError, match="gave up at step 12"):
            play(env, 1)


def test_a_state_of_another_number_of_rows_is_refused():
    with (
        closing(machine.make("CartPole-v1", 2, {})) as two,
        closing(machine.make("CartPole-v1", 3, {})) as three,
    ):
        two.reset(0)
        with pytest.raises(IntegrityError, match="of 2 rows, the environment of 3"):
            three.load_state_dict(two.state_dict())


class Telling(gymnasium.Env):
    """Ends at once and says a lot about it."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    made = 0

    def __init__(self):
        self.even = Telling.made % 2 == 0
        Telling.made += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {"irrelevant": np.zeros(7)}

    def step(self, action):
        info = {"distance": np.float64(2.5), "success": np.bool_(False), "name": "x", "a.b": 1}
        if self.even:
            info["sometimes"] = 3
        return np.zeros(1, np.float32), 0.0, True, False, info


class Reusing(Telling):
    """Counts its steps in one and the same array."""

    def __init__(self):
        self.buffer = np.zeros(1, np.float32)

    def reset(self, *, seed=None, options=None):
        self.buffer[:] = 0.0
        return self.buffer, {}

    def step(self, action):
        self.buffer += 1.0
        return self.buffer, 0.0, bool(self.buffer[0] == 2.0), False, {}


class Talking(Telling):
    """Speaks in words."""

    observation_space = gymnasium.spaces.Text(8)


def register(name, entry_point):
    if f"{name}-v0" not in gymnasium.registry:
        gymnasium.register(f"{name}-v0", entry_point=entry_point)
