"""Going on from a checkpoint is the same as never having stopped, in every corner of rsl_rl."""

import json

import numpy as np
import pytest
import torch
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from srb_train.algos.rsl_rl import state
from srb_train.errors import IntegrityError, UsageError
from tests.algos.rsl_rl.scene import Buoy, Forgetful, differences, small

BETA = {"actor.distribution_cfg.class_name": "BetaDistribution"}
WIDE = {
    "actor.distribution_cfg.class_name": "HeteroscedasticGaussianDistribution",
    "actor.distribution_cfg.std_type": "log",
}
CORNERS = {
    "ppo": ("rsl_rl_ppo", {}, {}),
    "ppo with a fixed rate and a clipped value": (
        "rsl_rl_ppo",
        {"algorithm.schedule": "fixed", "algorithm.use_clipped_value_loss": True, **WIDE},
        {},
    ),
    "ppo with bounded actions and another optimizer": (
        "rsl_rl_ppo",
        {"algorithm.optimizer": "rmsprop", **BETA},
        {},
    ),
    "ppo of a dict, another part for each": (
        "rsl_rl_ppo",
        {"obs_groups.actor": ["hint"], "algorithm.optimizer": "adamw"},
        {"observation": "dict"},
    ),
    "ppo of an image beside a vector": ("rsl_rl_ppo", {}, {"observation": "camera"}),
    "ppo of an image alone": ("rsl_rl_ppo", {}, {"observation": "image"}),
    "ppo of double precision": ("rsl_rl_ppo", {}, {"observation": "double"}),
    "ppo with an lstm": ("rsl_rl_ppo_rnn", {}, {}),
    "ppo with two layers of gru": (
        "rsl_rl_ppo_rnn",
        {
            "actor.rnn_type": "gru",
            "critic.rnn_type": "gru",
            "actor.rnn_num_layers": 2,
            "critic.rnn_num_layers": 2,
        },
        {"observation": "dict"},
    ),
}
QUICK = ("ppo", "ppo with an lstm", "ppo with two layers of gru", "ppo of an image alone")


@pytest.mark.parametrize(
    "corner",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in CORNERS],
)
def test_a_resumed_run_equals_the_whole_one_bit_for_bit(corner, bench):
    label, changes, shape = CORNERS[corner]
    bench.make_env = lambda num_envs: Buoy(num_envs, **shape)
    spec = bench.spec(label, small(label, **changes))
    whole = bench.train(spec)
    resumed = bench.train(spec, resume=bench.checkpoint(whole, 64))
    assert resumed.name == whole.name
    assert differences(whole, resumed) == []


def test_a_resumed_student_equals_the_whole_one_and_needs_its_teacher_no_more(bench):
    teacher = bench.teacher()
    spec = bench.spec("rsl_rl_distillation", small("rsl_rl_distillation", teacher=str(teacher)))
    whole = bench.train(spec)
    teacher.rename(teacher.with_name("gone"))
    resumed = bench.train(spec, resume=bench.checkpoint(whole, 64))
    assert differences(whole, resumed) == []


def test_the_start_is_a_checkpoint_to_go_on_from_as_well(bench):
    spec = bench.spec("rsl_rl_ppo_rnn", small("rsl_rl_ppo_rnn"))
    whole = bench.train(spec)
    resumed = bench.train(spec, resume=bench.checkpoint(whole, 0))
    assert differences(whole, resumed) == []


def test_a_raised_budget_goes_on_with_the_rate_that_adapted_itself(bench):
    agent = small("rsl_rl_ppo", **{"algorithm.desired_kl": 1.0})
    first = bench.train(bench.spec("rsl_rl_ppo", agent, steps=96))
    rates = [rate for _, rate in bench.sheet.series("Loss/learning_rate")]
    assert rates[-1] > rates[0]
    resumed = bench.train(bench.spec("rsl_rl_ppo", agent), resume=first)
    assert resumed.name == "192"
    after = [rate for _, rate in bench.sheet.series("Loss/learning_rate")]
    assert after[len(rates)] >= rates[-1]


def test_a_fixed_rate_that_was_changed_is_used_when_a_run_goes_on(bench):
    fixed = {"algorithm.schedule": "fixed"}
    first = bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo", **fixed), steps=64))
    agent = small("rsl_rl_ppo", **fixed, **{"algorithm.learning_rate": 0.5})
    newest = bench.train(bench.spec("rsl_rl_ppo", agent), resume=first)
    stored = state.read(newest / state.MODEL)
    assert stored["optimizer_state_dict"]["param_groups"][0]["lr"] == 0.5
    assert bench.sheet.series("Loss/learning_rate")[-1][1] == 0.5


def test_iterations_go_on_counting(bench):
    spec = bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"))
    newest = bench.train(spec)
    bench.train(spec, resume=bench.checkpoint(newest, 64))
    assert json.loads((newest / state.NUMBERS).read_text()) == {"iterations": 6}
    assert state.read(newest / state.MODEL)["iter"] == 5


@pytest.mark.parametrize("label", ["rsl_rl_ppo", "rsl_rl_ppo_rnn"])
def test_a_task_that_cannot_tell_its_state_goes_on_with_fresh_episodes(label, bench):
    bench.make_env = Forgetful
    spec = bench.spec(label, small(label))
    first = bench.checkpoint(bench.train(spec), 64)
    assert bench.train(spec, resume=first).name == "192"
    assert any("start anew" in line for line in bench.said)


class Plain:
    """What a script without us hands to rsl_rl's own runner."""

    def __init__(self, batch):
        self.obs = batch
        self.num_envs, self.num_actions, self.device, self.cfg = 4, 2, "cpu", {}

    def get_observations(self):
        return self.obs


def test_rsl_rl_alone_loads_our_file(bench):
    agent = small("rsl_rl_ppo")
    newest = bench.train(bench.spec("rsl_rl_ppo", agent))
    network = {"hidden_dims": [8], "obs_normalization": True, "class_name": "MLPModel"}
    noise = {"class_name": "GaussianDistribution"}
    config = {
        "num_steps_per_env": 8,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "algorithm": {"class_name": "PPO"},
        "actor": {**network, "distribution_cfg": noise},
        "critic": network,
    }
    batch = state_of_four_rows()
    runner = OnPolicyRunner(Plain(batch), config, log_dir=None)
    runner.load(str(newest / state.MODEL))
    assert runner.current_learning_iteration == 5
    ours = torch.load(newest / state.MODEL, weights_only=True)
    for name, tensor in runner.alg.actor.state_dict().items():
        assert torch.equal(tensor, ours["actor_state_dict"][name])


def state_of_four_rows():
    return TensorDict({"policy": torch.zeros(4, 3)}, batch_size=[4])


def test_nothing_in_a_checkpoint_is_pickled_code(bench):
    newest = bench.train(bench.spec("rsl_rl_ppo_rnn", small("rsl_rl_ppo_rnn")))
    torch.load(newest / state.MODEL, weights_only=True)
    with np.load(newest / state.MEMORY, allow_pickle=False) as stored:
        assert {name: stored[name].shape for name in stored.files} == {
            f"{role}.{place}": (1, 4, 8) for role in ("actor", "critic") for place in (0, 1)
        }


@pytest.mark.parametrize("damage", ["cut", "another's", "without numbers", "without a critic"])
def test_a_damaged_checkpoint_is_told_and_never_half_restored(damage, bench):
    spec = bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"))
    folder = bench.checkpoint(bench.train(spec), 64)
    file = folder / state.MODEL
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-900])
    elif damage == "another's":
        torch.save([1, 2], file)
    elif damage == "without numbers":
        (folder / state.NUMBERS).unlink()
    else:
        stored = torch.load(file, weights_only=True)
        torch.save({k: v for k, v in stored.items() if not k.startswith("critic")}, file)
    with pytest.raises(IntegrityError, match=folder.name):
        bench.train(spec, resume=folder)


class Trap:
    def __reduce__(self):
        return (print, ("code was executed",))


def test_a_file_with_code_in_it_is_refused_and_not_executed(bench, tmp_path, capfd):
    torch.save({"actor_state_dict": Trap()}, tmp_path / "model.pt")
    with pytest.raises(UsageError, match=r"--model .*model\.pt is no readable file"):
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo")), weights=tmp_path / "model.pt")
    assert "code was executed" not in capfd.readouterr().out


def test_another_network_is_refused_with_both_shapes(bench):
    first = bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"), steps=64))
    spec = bench.spec("rsl_rl_ppo", small("rsl_rl_ppo", **{"critic.hidden_dims": [16]}))
    with pytest.raises(UsageError, match=r"the file has \(8, 3\), these settings need \(16, 3\)"):
        bench.train(spec, resume=first)
