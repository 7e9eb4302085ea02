"""Going on from a checkpoint is the same as never having stopped, in every corner of SBX."""

import json

import numpy as np
import pytest

from srb_train.algos.sbx import weights
from srb_train.errors import IntegrityError, UsageError
from tests.algos.sb3.conftest import Forgetful, Slider, differences, small

RATE = "train/learning_rate"
NOISE = {"train_freq": 3, "gradient_steps": -1, "normalize_observation": True}
CORNERS = {
    "ppo with schedules and both normalisers": (
        "sbx_ppo",
        {"normalize_reward": True, "learning_rate": "lin_1e-3", "clip_range": "lin_0.2"},
        {},
    ),
    "ppo that adapts its learning rate": ("sbx_ppo", {"target_kl": 0.001}, {}),
    "ppo of images": ("sbx_ppo", {}, {"observation": "image"}),
    "ppo of float64": ("sbx_ppo", {}, {"observation": "double"}),
    "ppo with discrete actions": ("sbx_ppo", {}, {"action": "from_five"}),
    "ddpg with gaussian noise": ("sbx_ddpg", NOISE, {}),
    "td3 with a random walk": ("sbx_td3", {"action_noise": "ornstein_uhlenbeck", **NOISE}, {}),
    "sac with everything": (
        "sbx_sac",
        {"use_sde": True, "normalize_reward": True, "action_noise": "normal", **NOISE},
        {},
    ),
    "sac whose buffer has gone around": ("sbx_sac", {"buffer_size": 40}, {}),
    "sac with a fixed entropy coefficient and a schedule": (
        "sbx_sac",
        {"ent_coef": 0.1, "learning_rate": "lin_1e-3", "qf_learning_rate": 0.01},
        {},
    ),
    "sac with a delayed policy": ("sbx_sac", {"policy_delay": 3, "gradient_steps": 2}, {}),
    "sac with summed rewards": ("sbx_sac", {"n_steps": 3}, {}),
    "tqc": ("sbx_tqc", {"use_sde": True, "sde_sample_freq": 2, "train_freq": 3}, {}),
    "droq": ("sbx_droq", {"gradient_steps": 4, "policy_delay": 4}, {}),
    "crossq": ("sbx_crossq", {"policy_kwargs.renorm_warmup_steps": 5}, {}),
    "simba": ("sbx_simba", {}, {}),
    "dqn with summed rewards": (
        "sbx_dqn",
        {"n_steps": 3, "normalize_reward": True, "exploration_fraction": 0.9},
        {"action": "from_five"},
    ),
    "dqn of images": ("sbx_dqn", {}, {"action": "discrete", "observation": "image"}),
}
QUICK = (
    "ppo with schedules and both normalisers",
    "sac with everything",
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


@pytest.mark.slow
@pytest.mark.parametrize("label", ["sbx_ppo", "sbx_sac"])
def test_a_budget_that_was_raised_afterwards_makes_no_difference(label, bench):
    changes = {"use_sde": True} if label == "sbx_sac" else {}
    agent = small(label, **changes)
    whole = bench.train(bench.spec(label, agent, steps=192))
    first = bench.train(bench.spec(label, agent, steps=96))
    resumed = bench.train(bench.spec(label, agent, steps=192), resume=first)
    assert (first.name, resumed.name) == ("96", "192")
    assert differences(whole, resumed) == []


@pytest.mark.slow
def test_one_row_is_exact_as_well(bench):
    spec = bench.spec("sbx_td3", small("sbx_td3", **NOISE), num_envs=1)
    whole = bench.train(spec)
    assert differences(whole, bench.train(spec, resume=bench.checkpoint(whole, 64))) == []


def test_a_checkpoint_holds_every_array_by_its_path_and_nothing_pickled(bench):
    newest = bench.train(bench.spec("sbx_sac", small("sbx_sac", normalize_observation=True)))
    files = {path.name for path in newest.iterdir()}
    assert files == {
        "manifest.json", "spec.json", "run_state.npz", "model.npz", "normalizer.npz",
        "replay.npz", "sb3.json", "sb3.npz",
    }  # fmt: skip
    for path in newest.glob("*.npz"):
        with np.load(path, allow_pickle=False) as stored:
            assert all(stored[name].dtype != object for name in stored.files)
            names = set(stored.files)
        if path.name == weights.MODEL:
            assert {
                "model.key",
                "policy.key",
                "policy.noise_key",
                "policy.actor_state.params.params.Dense_0.kernel",
                "policy.actor_state.opt_state.hyperparams.learning_rate",
                "policy.qf_state.target_params.params.VmapContinuousCritic_0.Dense_0.bias",
                "policy.qf_state.opt_state.inner_state.0.count",
                "model.ent_coef_state.params.log_ent_coef",
                "model.ent_coef_state.opt_state.0.mu.log_ent_coef",
            } <= names
    json.loads((newest / "sb3.json").read_text())


def test_a_damaged_file_is_refused_by_name(bench):
    spec = bench.spec("sbx_ppo", small("sbx_ppo"), steps=64)
    folder = bench.train(spec)
    file = folder / weights.MODEL
    for damaged in (file.read_bytes()[:-9], None):
        file.unlink() if damaged is None else file.write_bytes(damaged)
        with pytest.raises(IntegrityError, match=weights.MODEL):
            bench.train(spec, resume=folder)


def test_another_network_is_refused_with_both_shapes(bench):
    first = bench.train(bench.spec("sbx_ppo", small("sbx_ppo"), steps=64))
    spec = bench.spec("sbx_ppo", small("sbx_ppo", **{"policy_kwargs.net_arch": [16]}))
    with pytest.raises(UsageError, match=r"the file has \(3, 8\), these settings need \(3, 16\)"):
        bench.train(spec, resume=first)


@pytest.mark.slow
def test_a_learned_entropy_coefficient_cannot_become_a_fixed_one(bench):
    first = bench.train(bench.spec("sbx_sac", small("sbx_sac"), steps=64))
    spec = bench.spec("sbx_sac", small("sbx_sac", ent_coef=0.1))
    with pytest.raises(UsageError, match=r"agent\.ent_coef must stay learned"):
        bench.train(spec, resume=first)


def test_an_adapted_learning_rate_goes_on_where_it_was(bench):
    agent = small("sbx_ppo", target_kl=1.0)
    first = bench.train(bench.spec("sbx_ppo", agent, steps=64))
    with np.load(first / weights.MODEL) as stored:
        assert stored["adaptive_learning_rate"] == 0.01
    bench.sheet.rows.clear()
    bench.train(bench.spec("sbx_ppo", agent, steps=96), resume=first)
    rates = [row[RATE] for _, row in bench.sheet.rows if RATE in row]
    assert rates[0] == 0.01


@pytest.mark.slow
def test_a_changed_learning_rate_is_used_when_a_run_goes_on(bench):
    first = bench.train(bench.spec("sbx_ppo", small("sbx_ppo"), steps=64))
    bench.sheet.rows.clear()
    spec = bench.spec("sbx_ppo", small("sbx_ppo", learning_rate=0.5), steps=128)
    bench.train(spec, resume=first)
    rates = [row[RATE] for _, row in bench.sheet.rows if RATE in row]
    assert rates[-1] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("label", ["sbx_ppo", "sbx_sac"])
def test_a_task_that_cannot_tell_its_state_goes_on_with_fresh_episodes(label, bench):
    bench.make_env = Forgetful
    spec = bench.spec(label, small(label, normalize_observation=True))
    first = bench.checkpoint(bench.train(spec), 64)
    resumed = bench.train(spec, resume=first)
    assert resumed.name == "192"
    assert any("start anew" in line for line in bench.said)
