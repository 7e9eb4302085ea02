"""What frameworks forget on their own and runs must not: normalisers and replay buffers."""

import json

import numpy as np
import pytest

from tests.cases.conftest import is_clean, runs

PPO = ("--algo", "sb3_ppo", "--env", "cartpole")
SAC = ("--algo", "sb3_sac", "--env", "cartpole")


def test_s08_the_normaliser_travels_with_the_checkpoint(srb, logs):
    size = ("env.num_envs=4", "agent.n_steps=32", "run.seed=1", "agent.normalize_observation=true")
    srb("agent", "train", *PPO, *size, "run.steps=1024", "--logdir", logs, check=True)
    (run,) = runs(logs)
    first = run.checkpoints().latest().path / "normalizer.npz"
    before = {name: value for name, value in np.load(first).items()}
    srb("agent", "train", *PPO, "--continue", "run.steps=2048", "--logdir", logs, check=True)
    after = np.load(run.checkpoints().latest().path / "normalizer.npz")
    (count,) = [name for name in before if name.startswith("obs") and name.endswith("count")]
    assert before[count] >= 1024
    assert after[count] == pytest.approx(before[count] + 1024, abs=8)
    evaluated = srb(
        "agent", "eval", *PPO, "--logdir", logs, "--episodes", "4", "--json", check=True
    )
    assert json.loads(evaluated.stdout)["episodes_completed"] == 4


def test_s08_a_missing_normaliser_is_an_error_and_never_a_fresh_one(srb, logs):
    size = ("env.num_envs=4", "agent.n_steps=32", "agent.normalize_observation=true")
    srb("agent", "train", *PPO, *size, "run.steps=256", "--logdir", logs, check=True)
    (run,) = runs(logs)
    newest = run.checkpoints().latest().path
    (newest / "normalizer.npz").unlink()
    is_clean(srb("agent", "train", *PPO, "--model", newest, "--logdir", logs), "normalizer.npz")
    is_clean(srb("agent", "eval", "--model", newest, "--logdir", logs), "normalizer.npz")


def replay(run) -> int:
    """Return the transitions in the newest checkpoint's replay buffer."""
    with np.load(run.checkpoints().latest().path / "replay.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    observations = next(value for name, value in arrays.items() if name.endswith("observations"))
    return observations.shape[0] * observations.shape[1]


def test_s23_the_replay_buffer_goes_on(srb, logs):
    size = ("env.num_envs=4", "run.seed=1", "agent.learning_starts=100", "agent.gradient_steps=1")
    srb("agent", "train", *SAC, *size, "run.steps=1000", "--logdir", logs, check=True)
    (run,) = runs(logs)
    assert replay(run) == 1000
    done = srb("agent", "train", *SAC, "--continue", "run.steps=1400", "--logdir", logs, check=True)
    assert replay(run) == 1400
    assert "starts empty" not in done.stdout


def test_s23_without_a_saved_buffer_the_start_says_that_it_is_empty(srb, logs):
    size = ("env.num_envs=4", "agent.learning_starts=100", "agent.gradient_steps=1")
    more = ("run.save_replay=false", "run.steps=600")
    srb("agent", "train", *SAC, *size, *more, "--logdir", logs, check=True)
    (run,) = runs(logs)
    manifest = run.checkpoints().latest().manifest
    assert "replay buffer" in manifest["components"]["reset"]
    assert manifest["grade"] == "continued"
    done = srb(
        "agent", "train", *SAC, "--continue", "run.steps=1000", "--logdir", logs, "--hide_ui",
        check=True,
    )  # fmt: skip
    assert "starts empty" in done.stdout
    assert run.record()["resume_grade"] == "continued"
