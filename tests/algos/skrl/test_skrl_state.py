"""Going on from a checkpoint is the same as never having stopped, in every corner of skrl."""

import json

import numpy as np
import pytest
import torch

from srb_train.algos.skrl import PLATE, state, weights
from srb_train.errors import IntegrityError, UsageError
from srb_train.stored import read_arrays
from tests.algos.skrl.scene import Forgetful, Slider, differences, kind

WALK = {"exploration_noise": "OrnsteinUhlenbeckNoise"}
CORNERS = {
    **{label: (label, {}, {}) for label in PLATE.labels},
    "ppo with an adapted rate": ("skrl_ppo", {"learning_rate_scheduler": "KLAdaptiveLR"}, {}),
    "ppo with a falling rate": ("skrl_ppo", {"learning_rate_scheduler": "LinearLR"}, {}),
    "ppo without preprocessors": (
        "skrl_ppo",
        {"observation_preprocessor": None, "value_preprocessor": False},
        {},
    ),
    "ppo that stops epochs early": ("skrl_ppo", {"kl_threshold": 0.0001}, {}),
    "ppo of a dict": ("skrl_ppo", {"entropy_loss_scale": 0.01}, {"observation": "dict"}),
    "ppo of float64": ("skrl_ppo", {}, {"observation": "double"}),
    "ppo with discrete actions": ("skrl_ppo", {}, {"action": "from_five"}),
    "ppo with memory and discrete actions": (
        "skrl_ppo_rnn",
        {"models.policy.num_layers": 2, "learning_rate_scheduler": "KLAdaptiveLR"},
        {"action": "discrete"},
    ),
    "a2c with discrete actions": ("skrl_a2c", {}, {"action": "discrete"}),
    "trpo with discrete actions": (
        "skrl_trpo",
        {"learning_rate_scheduler": "LinearLR"},
        {"action": "discrete"},
    ),
    "td3 with a random walk": (
        "skrl_td3",
        {**WALK, "learning_rate_scheduler": "LinearLR", "observation_preprocessor": True},
        {},
    ),
    "ddpg with a random walk": ("skrl_ddpg", WALK, {"observation": "dict"}),
    "sac whose memory has gone around": ("skrl_sac", {"memory_size": 10, "batch_size": 32}, {}),
    "sac before its first update": ("skrl_sac", {"learning_starts": 30}, {}),
    "sac with a fixed entropy coefficient": ("skrl_sac", {"learn_entropy": False}, {}),
    "sac with three rates": ("skrl_sac", {"learning_rate": [1e-3, 2e-3, 3e-3]}, {}),
    "dqn that updates now and then": (
        "skrl_dqn",
        {"update_interval": 3, "target_update_interval": 5, "learning_rate_scheduler": "LinearLR"},
        {"action": "from_five"},
    ),
}
QUICK = (
    "skrl_ppo_rnn",
    "skrl_cem",
    "skrl_amp",
    "skrl_trpo",
    "ppo with an adapted rate",
    "td3 with a random walk",
    "sac whose memory has gone around",
    "sac before its first update",
    "dqn that updates now and then",
)


@pytest.mark.parametrize(
    "corner",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in CORNERS],
)
def test_a_resumed_run_equals_the_whole_one_bit_for_bit(corner, bench):
    label, changes, shape = CORNERS[corner]
    bench.make_env = lambda num_envs: Slider(num_envs, **{"action": kind(label), **shape})
    spec = bench.spec(label, bench.small(label, **changes))
    whole = bench.train(spec)
    resumed = bench.train(spec, resume=bench.checkpoint(whole, 64))
    assert resumed.name == whole.name
    assert differences(whole, resumed) == []


@pytest.mark.parametrize("label", ["skrl_ppo", "skrl_sac"])
def test_a_budget_that_was_raised_afterwards_makes_no_difference(label, bench):
    agent = bench.small(label)
    whole = bench.train(bench.spec(label, agent, steps=192))
    first = bench.train(bench.spec(label, agent, steps=96))
    resumed = bench.train(bench.spec(label, agent, steps=192), resume=first)
    assert (first.name, resumed.name) == ("96", "192")
    assert differences(whole, resumed) == []


def test_one_row_is_exact_as_well(bench):
    spec = bench.spec("skrl_td3", bench.small("skrl_td3", num_envs=1, **WALK), num_envs=1)
    whole = bench.train(spec)
    assert differences(whole, bench.train(spec, resume=bench.checkpoint(whole, 64))) == []


def test_a_falling_rate_follows_the_line_of_a_raised_budget(bench):
    agent = bench.small("skrl_ppo", learning_rate_scheduler="LinearLR")
    first = bench.train(bench.spec("skrl_ppo", agent, steps=96))
    assert rate(first) == 0.0
    resumed = bench.train(bench.spec("skrl_ppo", agent, steps=192), resume=first)
    half = bench.checkpoint(resumed, 128)
    assert rate(half) == pytest.approx(0.001 * (1 - 128 / 192))
    assert rate(resumed) == 0.0


def rate(folder, optimizer="optimizer"):
    stored = torch.load(folder / weights.MODEL, weights_only=True)
    return stored[optimizer]["param_groups"][0]["lr"]


def test_a_changed_learning_rate_is_used_when_a_run_goes_on(bench):
    for scheduler in (None, "LinearLR", "KLAdaptiveLR"):
        agent = bench.small("skrl_ppo", learning_rate_scheduler=scheduler)
        first = bench.train(bench.spec("skrl_ppo", agent, steps=64))
        spec = bench.spec("skrl_ppo", {**agent, "learning_rate": 0.5}, steps=96)
        assert rate(bench.train(spec, resume=first)) == pytest.approx(
            0.0 if scheduler == "LinearLR" else 0.5, abs=0.5 if scheduler == "KLAdaptiveLR" else 0
        )
    assert rate(first) < 0.01


def test_nothing_in_a_checkpoint_beside_skrls_own_file_is_pickled(bench):
    newest = bench.train(bench.spec("skrl_sac", bench.small("skrl_sac")))
    for path in newest.glob("*.npz"):
        with np.load(path, allow_pickle=False) as stored:
            assert all(stored[name].dtype != object for name in stored.files)
    json.loads((newest / state.NUMBERS).read_text())


def test_a_replay_buffer_keeps_only_the_rows_that_are_filled(bench):
    newest = bench.train(bench.spec("skrl_sac", bench.small("skrl_sac", memory_size=40_000)))
    with np.load(newest / state.MEMORY) as stored:
        assert stored["memory.observations"].shape == (48, 4, 3)
        assert np.isfinite(stored["memory.observations"]).all()
    assert (newest / state.MEMORY).stat().st_size < 20_000


def test_a_resume_without_its_buffer_says_so_and_warms_up_again(bench):
    agent = bench.small("skrl_sac")
    first = bench.train(bench.spec("skrl_sac", agent, save_replay=False))
    assert "replay buffer" in (first / "manifest.json").read_text()
    at = bench.checkpoint(first, 128)
    spec = bench.spec("skrl_sac", agent, steps=256, checkpoint_every=4)
    resumed = bench.train(spec, resume=at)
    assert any("no replay buffer" in line and "160" in line for line in bench.said)
    assert json.loads((resumed / state.NUMBERS).read_text())["warmup_from"] == 32
    before, still, after = (bench.checkpoint(resumed, step) for step in (132, 160, 164))
    assert updates(before) == updates(still) == updates(at) < updates(after)
    again = bench.train(spec, resume=bench.checkpoint(resumed, 140))
    assert differences(resumed, again) == []


def updates(folder):
    stored = torch.load(folder / weights.MODEL, weights_only=True)
    return stored["policy_optimizer"]["state"][0]["step"]


@pytest.mark.parametrize("label", ["skrl_ppo", "skrl_ppo_rnn", "skrl_td3"])
def test_a_task_that_cannot_tell_its_state_goes_on_with_fresh_episodes(label, bench):
    bench.make_env = Forgetful
    spec = bench.spec(label, bench.small(label))
    first = bench.checkpoint(bench.train(spec), 64)
    assert bench.train(spec, resume=first).name == "192"
    assert any("start anew" in line for line in bench.said)


@pytest.mark.parametrize("damage", ["absent", "cut", "of another size"])
def test_a_memory_that_does_not_fit_is_an_error(damage, bench):
    spec = bench.spec("skrl_sac", bench.small("skrl_sac"))
    folder = bench.checkpoint(bench.train(spec), 64)
    file = folder / state.MEMORY
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    else:
        stored = read_arrays(file)
        rewards = {} if damage == "absent" else {"memory.rewards": np.zeros((9, 3, 1), np.float32)}
        kept = {name: value for name, value in stored.items() if name != "memory.rewards"}
        np.savez(file, **kept, **rewards)
    with pytest.raises(IntegrityError, match=state.MEMORY):
        bench.train(spec, resume=folder)


def test_another_network_is_refused_with_both_shapes(bench):
    first = bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo"), steps=64))
    spec = bench.spec("skrl_ppo", bench.small("skrl_ppo", **{"models.policy.layers": [16]}))
    with pytest.raises(UsageError, match=r"the file has \(8, 3\), these settings need \(16, 3\)"):
        bench.train(spec, resume=first)


def test_a_preprocessor_cannot_come_or_go_on_the_way(bench):
    first = bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo"), steps=64))
    spec = bench.spec("skrl_ppo", bench.small("skrl_ppo", value_preprocessor=None))
    with pytest.raises(UsageError, match="value_preprocessor"):
        bench.train(spec, resume=first)
