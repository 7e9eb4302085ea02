"""A task in an interpreter of its own: the same rows, and an end to whatever goes wrong there."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import psutil
import pytest
from gymnasium import spaces

from srb_train import apart, config, registry, soundness
from srb_train.config import Selected
from srb_train.errors import (
    IntegrityError,
    MissingDependency,
    TrainingFailed,
    UnsupportedError,
    UsageError,
)
from srb_train.runs.checkpoint import Checkpoints
from srb_train.stored import read_arrays

PYTHON = {"python": sys.executable}
LANDING = {"difficulty": "easy"}
PATIENCE = 30.0

TASKS = '''
"""Tasks that show one thing each."""

import os
import sys

import numpy as np
from gymnasium import spaces

from srb_train.contracts import Step
from srb_train.errors import UnsupportedError, UsageError

HEAVY = {"torch", "hydra", "omegaconf", "orjson", "psutil", "tensorboard", "typer", "jax"}
EYE = spaces.Box(0, 255, (4, 5, 3), np.uint8)
POSE = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Odd:
    """Two rows with every kind of observation; the first one ends at every third step."""

    array, device, max_episode_steps, render_fps, draws_endings = "numpy", "cpu", None, 25, True
    observation_space = spaces.Dict({"eye": EYE, "pose": POSE, "gear": spaces.Discrete(4)})
    action_space = spaces.MultiDiscrete([3, 5])

    def __init__(self, num_envs, fault=None):
        self.num_envs, self.fault, self.time = num_envs, fault, 0
        heavy = sorted(HEAVY & set(sys.modules))
        beside = sorted(os.listdir(os.environ["PYTHONPATH"].split(os.pathsep)[0]))
        print(f"heavy {heavy}, beside {beside}, stdin {sys.stdin.read()!r}, argv {sys.argv[1:]}")
        if fault == "build":
            raise UsageError("env.fault=build: not like this")

    def seen(self, rows):
        pose = np.full((len(rows), 2), self.time / 100, np.float32)
        eye = np.full((len(rows), 4, 5, 3), self.time, np.uint8)
        return {"eye": eye, "pose": pose, "gear": np.array(rows, np.int64)}

    def reset(self, seed):
        self.time = seed
        return self.seen(range(self.num_envs))

    def step(self, action):
        self.time += 1
        if self.fault == "unsupported":
            raise UnsupportedError("no step here")
        if self.fault == "bug":
            raise ValueError("the bearing is broken")
        if self.fault == "exit":
            print("goodbye", flush=True)
            os._exit(3)
        assert action.dtype == np.int64 and action.shape == (self.num_envs, 2)
        ended = np.zeros(self.num_envs, bool)
        ended[0] = self.time % 3 == 0
        reward = action.sum(1).astype(np.float64 if self.fault == "dtype" else np.float32)
        final, info = None, {"log": {"mean": np.float32(self.time)}}
        if ended[0]:
            final = self.seen([7][:1])
            final["gear"] = np.array([3])
            info |= {"success": np.array([True]), "distance": np.array([0.5], np.float32)}
        return Step(self.seen(range(self.num_envs)), reward, ended, ~ended & False, final, info)

    def state_dict(self):
        return None

    def load_state_dict(self, state):
        raise UnsupportedError("no state")

    def render(self, row=0):
        return None

    def close(self):
        print("closed")


def make(num_envs, **settings):
    return Odd(num_envs, **settings)
'''


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """Build the odd task in a child."""
    (tmp_path / "odd_tasks.py").write_text(TASKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(num_envs=2, **kwargs):
        return apart.make_env("odd_tasks:make", num_envs, {**PYTHON, "kwargs": kwargs})

    return make


def both(env="landing", num_envs=8, params=LANDING):
    here = apart.make_env(env, num_envs, params)
    return here, apart.make_env(env, num_envs, {**params, **PYTHON})


def assert_same(one, other):
    for name in ("obs", "reward", "terminated", "truncated", "final_obs"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or (a.dtype == b.dtype and np.array_equal(a, b)), name
    assert one.info.keys() == other.info.keys()
    assert all(np.array_equal(value, other.info[name]) for name, value in one.info.items())


def test_rows_are_the_same_there_as_here_bit_for_bit():
    here, there = both()
    with closing(here), closing(there):
        assert here.observation_space == there.observation_space
        assert here.action_space == there.action_space
        assert here.max_episode_steps == there.max_episode_steps
        assert np.array_equal(here.reset(4), there.reset(4))
        ended = 0
        for number in range(320):
            action = soundness.actions(here, number)
            one, other = here.step(action), there.step(action)
            assert_same(one, other)
            ended += 0 if one.final_obs is None else len(one.final_obs)
        assert ended > 8
        assert np.array_equal(here.render(3), there.render(3))


def test_a_state_goes_over_and_back():
    here, there = both("cartpole", 4, {})
    with closing(here), closing(there):
        there.reset(1)
        for number in range(30):
            there.step(soundness.actions(there, number))
        here.load_state_dict(there.state_dict())
        there.reset(9)
        there.load_state_dict(here.state_dict())
        for number in range(60):
            action = soundness.actions(here, number)
            assert_same(here.step(action), there.step(action))


def test_every_kind_of_array_and_fact_comes_over(odd):
    with closing(odd()) as env:
        assert list(env.observation_space) == ["eye", "gear", "pose"]
        assert env.observation_space["eye"].dtype == np.uint8
        assert env.action_space == spaces.MultiDiscrete([3, 5])
        assert (env.render_fps, env.draws_endings, env.max_episode_steps) == (25, True, None)
        first = env.reset(1)
        assert first["eye"].shape == (2, 4, 5, 3) and first["gear"].tolist() == [0, 1]
        step = env.step(np.array([[1, 4], [2, 0]]))
        assert step.reward.tolist() == [5.0, 2.0]
        assert step.final_obs is None and step.info == {"log": {"mean": 2.0}}
        step = env.step(np.array([[0, 0], [0, 0]]))
        assert step.final_obs["gear"].tolist() == [3]
        assert step.final_obs["eye"].shape == (1, 4, 5, 3)
        assert step.info["success"].tolist() == [True]
        assert step.info["distance"].dtype == np.float32
        assert env.state_dict() is None and env.render() is None
        assert (first["eye"] == 1).all()


def test_the_child_has_our_package_alone_and_imports_no_learner(odd, capfd):
    with closing(odd()):
        pass
    said = capfd.readouterr().out
    assert "heavy [], beside ['srb_train'], stdin '', argv []" in said
    assert said.endswith("closed\n")


def test_an_error_on_purpose_keeps_its_class_and_exit_code(odd):
    with pytest.raises(UsageError, match="not like this") as caught:
        odd(fault="build")
    assert caught.value.exit_code == 2
    with closing(odd(fault="unsupported")) as env:
        env.reset(0)
        for _ in range(2):
            with pytest.raises(UnsupportedError, match="no step here"):
                env.step(np.zeros((2, 2), np.int64))
    with closing(apart.make_env("cartpole", 2, PYTHON)) as env, pytest.raises(IntegrityError):
        env.load_state_dict({"strange": np.zeros(3)})


@pytest.mark.parametrize(
    ("fault", "how"),
    [("bug", "ended with 1.*ValueError: the bearing is broken"), ("exit", "ended with 3.*goodbye")],
)
def test_a_child_that_dies_is_told_with_its_last_words(odd, fault, how):
    with closing(odd(fault=fault)) as env:
        env.reset(0)
        with pytest.raises(TrainingFailed, match=f"(?s)odd_tasks:make in .*{how}"):
            env.step(np.zeros((2, 2), np.int64))


def test_a_child_that_is_killed_is_told_with_the_signal(odd):
    others = psutil.Process().children()
    with closing(odd()) as env:
        env.reset(0)
        (child,) = (each for each in psutil.Process().children() if each not in others)
        child.send_signal(signal.SIGKILL)
        with pytest.raises(TrainingFailed, match="was killed by SIGKILL"):
            env.step(np.zeros((2, 2), np.int64))


def test_what_is_not_of_its_space_is_refused_not_converted(odd):
    with closing(odd(fault="dtype")) as env:
        env.reset(0)
        with pytest.raises(UnsupportedError, match=r"reward as float64 \(2,\).*float32 \(2,\)"):
            env.step(np.zeros((2, 2), np.int64))


def test_nothing_is_left_behind(odd):
    def left():
        return sorted(Path(tempfile.gettempdir()).glob("srb-apart-*"))

    before, others = left(), psutil.Process().children()
    with closing(odd()) as env:
        env.reset(0)
        assert len(left()) == len(before) + 1
    with pytest.raises(UsageError):
        odd(fault="build")
    assert left() == before
    assert psutil.Process().children() == others


ORPHAN = """
import os, signal, sys
import psutil
from srb_train import apart
env = apart.make_env("cartpole", 2, {"python": sys.executable})
print(psutil.Process().children()[0].pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_ends_with_its_parent(tmp_path):
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid = int(done.stdout.splitlines()[-1])
    if psutil.pid_exists(pid):
        psutil.Process(pid).wait(PATIENCE)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_no_python_is_told(tmp_path):
    with pytest.raises(TrainingFailed, match="ended with"):
        apart.make_env("cartpole", 2, {"python": "/bin/false"})
    script = tmp_path / "python"
    script.write_text("neither a program nor a script")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="cannot be started"):
        apart.make_env("cartpole", 2, {"python": str(script)})


def test_an_interpreter_without_what_is_needed_is_told(tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(MissingDependency, match=r"has no \w+: .*python -m pip install"):
        apart.make_env("cartpole", 2, {"python": str(bare)})


@pytest.mark.parametrize("env", ["landing", "gymnasium/CartPole-v1", "odd_tasks:make"])
def test_every_task_takes_an_interpreter(env):
    backend, _ = registry.backend_of(env)
    typed = [f"env.python={sys.executable}"]
    composed = config.compose_env(Selected.of(env, backend.prefix), typed, config_dir=None)
    assert composed.env["python"] == sys.executable
    plain = config.compose_env(Selected.of(env, backend.prefix), [], config_dir=None)
    assert "python" not in plain.env


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("sim/bin/python", "give the whole path"),
        ("/nowhere/bin/python", "is not there"),
        ("~/nowhere/python", "is not there"),
        (str(Path(__file__)), "is no program that can be started"),
        ("3", "is int"),
    ],
)
def test_an_interpreter_that_cannot_be_started_is_refused_before_a_run(value, why):
    with pytest.raises(UsageError, match=f"env.python=.*{why}"):
        config.compose_env(Selected.of("landing"), [f"env.python={value}"], config_dir=None)


def test_a_home_folder_is_written_with_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", str(Path(sys.executable).parents[1]))
    short = f"~/bin/{Path(sys.executable).name}"
    composed = config.compose_env(Selected.of("cartpole"), [f"env.python={short}"], config_dir=None)
    params = {key: value for key, value in composed.env.items() if key != "num_envs"}
    with closing(apart.make_env("cartpole", 3, params)) as env:
        assert env.reset(0).shape[0] == 3


def test_a_backend_that_is_not_here_may_be_there(srb):
    words = ("agent", "rand", "--env", "mjlab/Any-Task")
    refused = srb(*words)
    assert refused.returncode == 2
    assert "env.python=~/mjlab/bin/python" in refused.stderr
    asked = srb(*words, f"env.python={sys.executable}")
    assert asked.returncode == 2
    assert f"(in {sys.executable})" in asked.stderr


def final_state(root):
    (run,) = (root / "cartpole" / "toy_cem").iterdir()
    checkpoint = Checkpoints(run / "ckpt").latest()
    return checkpoint.step, {
        path.name: read_arrays(path) for path in sorted(checkpoint.path.glob("*.npz"))
    }


@pytest.mark.slow
def test_a_run_is_the_same_wherever_its_task_runs_even_stopped_and_gone_on_with(srb, tmp_path):
    words = ("agent", "train", "--algo", "toy_cem", "--env", "cartpole", "run.seed=5")
    there = f"env.python={sys.executable}"
    srb(*words, "run.steps=8000", "--logdir", tmp_path / "here", check=True)
    srb(*words, there, "run.steps=8000", "--logdir", tmp_path / "there", check=True)
    halved = ("--logdir", tmp_path / "halved")
    srb(*words, there, "run.steps=4000", *halved, check=True)
    srb(*words[:-1], "--continue", "run.steps=8000", *halved, check=True)
    step, states = final_state(tmp_path / "here")
    for name in ("there", "halved"):
        other, found = final_state(tmp_path / name)
        assert other == step and found.keys() == states.keys()
        for file, arrays in states.items():
            assert arrays.keys() == found[file].keys()
            for key, value in arrays.items():
                assert np.array_equal(value, found[file][key]), (name, file, key)
