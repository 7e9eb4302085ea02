"""Going on from a checkpoint is the same as never having stopped, in every corner of SB3."""

import json

import numpy as np
import pytest

from srb_train.algos.sb3 import state
from srb_train.errors import IntegrityError, UsageError
from srb_train.stored import read_arrays
from tests.algos.sb3.conftest import Forgetful, Slider, differences, small

NOISE = {"train_freq": 3, "gradient_steps": -1, "normalize_observation": True}
CORNERS = {
    "ppo with schedules, exploration matrices and both normalisers": (
        "sb3_ppo",
        {
            "use_sde": True,
            "normalize_reward": True,
            "learning_rate": "lin_1e-3",
            "clip_range": "lin_0.2",
        },
        {},
    ),
    "ppo of images": ("sb3_ppo", {}, {"observation": "image"}),
    "ppo of a dict": ("sb3_ppo", {}, {"observation": "dict"}),
    "ppo of float64": ("sb3_ppo", {}, {"observation": "double"}),
    "ppo with discrete actions": ("sb3_ppo", {}, {"action": "from_five"}),
    "a2c": ("sb3_a2c", {"use_sde": True}, {}),
    "a2c with discrete actions": ("sb3_a2c", {}, {"action": "discrete"}),
    "trpo": ("sb3_trpo", {"use_sde": True, "sde_sample_freq": 3}, {}),
    "trpo with discrete actions": ("sb3_trpo", {}, {"action": "discrete"}),
    "ppo with memory": ("sb3_ppo_lstm", {"use_sde": True}, {}),
    "ppo with memory and discrete actions": ("sb3_ppo_lstm", {}, {"action": "discrete"}),
    "ppo with one shared memory": (
        "sb3_ppo_lstm",
        {"policy_kwargs.shared_lstm": True, "policy_kwargs.enable_critic_lstm": False},
        {},
    ),
    "ars within a population": (
        "sb3_ars",
        {
            "delta_std": "lin_0.05",
            "learning_rate": "lin_0.02",
            "n_eval_episodes": 2,
            "normalize_reward": True,
        },
        {},
    ),
    "ars with discrete actions": ("sb3_ars", {}, {"action": "discrete"}),
    "ddpg with gaussian noise": ("sb3_ddpg", {"action_noise": "normal", **NOISE}, {}),
    "ddpg with a random walk": ("sb3_ddpg", {"action_noise": "ornstein_uhlenbeck", **NOISE}, {}),
    "td3 with a random walk": ("sb3_td3", {"action_noise": "ornstein_uhlenbeck", **NOISE}, {}),
    "sac with everything": (
        "sb3_sac",
        {"use_sde": True, "normalize_reward": True, "action_noise": "ornstein_uhlenbeck", **NOISE},
        {},
    ),
    "sac whose buffer has gone around": ("sb3_sac", {"buffer_size": 40}, {}),
    "sac with a fixed entropy coefficient": ("sb3_sac", {"ent_coef": 0.1}, {}),
    "sac of a dict": ("sb3_sac", {"normalize_observation": True}, {"observation": "dict"}),
    "tqc": ("sb3_tqc", {"use_sde": True, "sde_sample_freq": 2, "train_freq": 3}, {}),
    "crossq": ("sb3_crossq", {"use_sde": True, "action_noise": "normal"}, {}),
    "dqn with summed rewards": (
        "sb3_dqn",
        {"n_steps": 3, "normalize_reward": True, "exploration_fraction": 0.9},
        {"action": "from_five"},
    ),
    "dqn of images": ("sb3_dqn", {}, {"action": "discrete", "observation": "image"}),
    "qrdqn": ("sb3_qrdqn", {}, {"action": "discrete"}),
}


QUICK = (
    "ppo with schedules, exploration matrices and both normalisers",
    "ppo of images",
    "ppo with one shared memory",
    "ars within a population",
    "td3 with a random walk",
    "sac whose buffer has gone around",
    "dqn with summed rewards",
)


@pytest.mark.parametrize(
    "corner",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in CORNERS],
)
def test_a_resumed_run_equals_the_whole_one_bit_for_bit(corner, bench):
    label, changes, shape = CORNERS[corner]
    bench.make_env = lambda num_envs: Slider(num_envs, **shape)
    spec = bench.spec(label, small(label, **changes))
    whole = bench.train(spec)
    resumed = bench.train(spec, resume=bench.checkpoint(whole, 64))
    assert resumed.name == whole.name
    assert differences(whole, resumed) == []


@pytest.mark.parametrize("label", ["sb3_ppo", "sb3_sac", "sb3_ars"])
def test_a_budget_that_was_raised_afterwards_makes_no_difference(label, bench):
    changes = {} if label == "sb3_ars" else {"use_sde": True}
    agent = small(label, **changes)
    whole = bench.train(bench.spec(label, agent, steps=192))
    first = bench.train(bench.spec(label, agent, steps=96))
    resumed = bench.train(bench.spec(label, agent, steps=192), resume=first)
    assert (first.name, resumed.name) == ("96", "192")
    assert differences(whole, resumed) == []


def test_one_row_is_exact_as_well(bench):
    spec = bench.spec("sb3_td3", small("sb3_td3", **NOISE), num_envs=1)
    whole = bench.train(spec)
    assert differences(whole, bench.train(spec, resume=bench.checkpoint(whole, 64))) == []


def test_statistics_go_on_counting_after_a_resume(bench):
    spec = bench.spec("sb3_ppo", small("sb3_ppo"), steps=128)
    first = read_arrays(bench.train(spec) / state.NORMALIZER)
    assert first["obs.count"] == pytest.approx(128 + 4, abs=0.01)
    more = bench.spec("sb3_ppo", small("sb3_ppo"), steps=192)
    last = bench.root / "0" / "ckpt" / "128"
    second = read_arrays(bench.train(more, resume=last) / state.NORMALIZER)
    assert second["obs.count"] == pytest.approx(192 + 4, abs=0.01)


@pytest.mark.parametrize("damage", ["absent", "of another task", "cut"])
def test_a_normaliser_that_does_not_fit_is_an_error_and_never_a_fresh_one(damage, bench):
    spec = bench.spec("sb3_ppo", small("sb3_ppo"))
    folder = bench.checkpoint(bench.train(spec), 64)
    file = folder / state.NORMALIZER
    if damage == "absent":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    else:
        stored = read_arrays(file)
        np.savez(file, **{**stored, "obs.mean": np.zeros(9)})
    with pytest.raises(IntegrityError, match=state.NORMALIZER):
        bench.train(spec, resume=folder)


def test_nothing_in_a_checkpoint_beside_sb3s_own_file_is_pickled(bench):
    newest = bench.train(bench.spec("sb3_sac", small("sb3_sac", normalize_observation=True)))
    for path in newest.glob("*.npz"):
        with np.load(path, allow_pickle=False) as stored:
            assert all(stored[name].dtype != object for name in stored.files)
    json.loads((newest / state.NUMBERS).read_text())


def test_a_replay_buffer_keeps_only_the_rows_that_are_filled(bench):
    newest = bench.train(bench.spec("sb3_sac", small("sb3_sac", buffer_size=40_000)))
    with np.load(newest / "replay.npz") as stored:
        assert stored["observations"].shape == (48, 4, 3)
    assert (newest / "replay.npz").stat().st_size < 20_000


def test_a_resume_without_its_buffer_says_so_and_warms_up_again(bench):
    agent = small("sb3_sac")
    spec = bench.spec("sb3_sac", agent, save_replay=False)
    first = bench.train(spec)
    manifest = json.loads((first / "manifest.json").read_text())
    assert "replay buffer" in str(manifest)
    more = bench.spec("sb3_sac", agent, steps=256)
    resumed = bench.train(more, resume=bench.checkpoint(first, 128))
    assert any("no replay buffer" in line and "168" in line for line in bench.said)
    numbers = state.read_numbers(resumed)
    assert numbers["warmup_from"] == 128
    before = state.read_numbers(bench.checkpoint(first, 128))
    updates = [each["counters"]["_n_updates"] for each in (before, numbers)]
    assert updates[1] - updates[0] == (256 - 168) // 4


def test_a_buffer_that_was_saved_goes_on_without_a_second_warm_up(bench):
    agent = small("sb3_sac")
    first = bench.train(bench.spec("sb3_sac", agent, steps=128))
    resumed = bench.train(bench.spec("sb3_sac", agent, steps=136), resume=first)
    counts = [state.read_numbers(each)["counters"]["_n_updates"] for each in (first, resumed)]
    assert counts[1] == counts[0] + 2
    with np.load(resumed / "replay.npz") as stored:
        assert stored["observations"].shape[0] == 136 // 4


@pytest.mark.parametrize("label", ["sb3_ppo", "sb3_sac", "sb3_ars", "sb3_ppo_lstm"])
def test_a_task_that_cannot_tell_its_state_goes_on_with_fresh_episodes(label, bench):
    bench.make_env = Forgetful
    spec = bench.spec(label, small(label, normalize_observation=True))
    first = bench.checkpoint(bench.train(spec), 64)
    resumed = bench.train(spec, resume=first)
    assert resumed.name == "192"
    assert any("start anew" in line for line in bench.said)


def test_a_changed_learning_rate_is_used_when_a_run_goes_on(bench):
    first = bench.train(bench.spec("sb3_ppo", small("sb3_ppo"), steps=64))
    spec = bench.spec("sb3_ppo", small("sb3_ppo", learning_rate=0.5))
    bench.train(spec, resume=first)
    rates = [row["train/learning_rate"] for _, row in bench.sheet.rows if "train/loss" in row]
    assert rates[0] == 0.001
    assert rates[-1] == 0.5


def test_a_learned_entropy_coefficient_cannot_become_a_fixed_one(bench):
    first = bench.train(bench.spec("sb3_sac", small("sb3_sac"), steps=64))
    spec = bench.spec("sb3_sac", small("sb3_sac", ent_coef=0.1))
    with pytest.raises(UsageError, match=r"agent\.ent_coef must stay learned"):
        bench.train(spec, resume=first)


def test_another_network_is_refused_with_both_shapes(bench):
    first = bench.train(bench.spec("sb3_ppo", small("sb3_ppo"), steps=64))
    spec = bench.spec("sb3_ppo", small("sb3_ppo", **{"policy_kwargs.net_arch": [16]}))
    with pytest.raises(UsageError, match=r"the file has \(8, 3\), these settings need \(16, 3\)"):
        bench.train(spec, resume=first)
