"""The environment of a Minari dataset that this machine has recorded itself."""

import json
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from srb_train import soundness
from srb_train.errors import UnsupportedError, UsageError

minari = pytest.importorskip("minari")

from srb_train.envs.minari import machine  # noqa: E402 - it imports Minari

# Minari asks for authors and links, and leaves a temporary folder to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """Record two short episodes of a pendulum, evaluated on a lighter one."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(gymnasium.make("Pendulum-v1", max_episode_steps=7))
    for seed in range(2):
        env.reset(seed=seed)
        while not env.step(np.zeros(1, np.float32))[3]:
            pass
    env.create_dataset(
        dataset_id="pendulum/still-v0",
        eval_env=gymnasium.make("Pendulum-v1", g=1.0),
        algorithm_name="nothing",
    )
    env.close()
    return "pendulum/still-v0"


def test_the_environment_is_that_of_the_dataset_with_its_limit(recorded):
    with closing(machine.make(recorded, 3, {})) as env:
        assert env.max_episode_steps == 7 and env.observation_space.shape == (3,)
        env.reset(0)
        for number in range(1, 15):
            step = env.step(soundness.actions(env, number))
            assert (step.truncated == (number % 7 == 0)).all()
        assert env.state_dict() is not None


def test_the_environment_for_evaluation_is_another_one(recorded):
    def first(**params):
        with closing(machine.make(recorded, 1, params)) as env:
            env.reset(3)
            return [env.step(np.zeros((1, 1), np.float32)).obs for _ in range(5)]

    assert not np.array_equal(first(), first(evaluation=True))
    assert np.array_equal(first(), first(evaluation=False))


def test_a_dataset_that_is_not_here_is_not_downloaded(recorded):
    with pytest.raises(UsageError, match=r"nearest: pendulum/still-v0.*minari download"):
        machine.make("pendulum/stil-v0", 1, {})


def test_a_dataset_of_an_unknown_environment_says_so(recorded):
    path = minari.load_dataset(recorded).storage.data_path / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "env_spec": None}))
    with pytest.raises(UnsupportedError, match="does not say what environment"):
        machine.make(recorded, 1, {})
