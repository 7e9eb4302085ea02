"""Training, acting, teachers and imported weights, through rsl_rl itself."""

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from srb_train.algos.rsl_rl import PLATE, build, machine, state
from srb_train.errors import TrainingFailed, UnsupportedError, UsageError
from tests.algos.rsl_rl.scene import Buoy, Sick, changed, small

PPO = ("rsl_rl_ppo", "rsl_rl_ppo_rnn")


def agent_of(label, bench, **changes):
    """Return toy settings of a label, with a teacher where it needs one."""
    if label == "rsl_rl_distillation":
        changes["teacher"] = str(bench.teacher())
    return small(label, **changes)


@pytest.mark.parametrize("label", PLATE.labels)
def test_a_trained_policy_acts_the_same_every_time_and_within_bounds(label, bench):
    spec = bench.spec(label, agent_of(label, bench), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(3)
    obs = env.reset(1)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    actor = machine.load(newest, spec, env)
    actions = actor.act(obs)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(actions) == 3
    assert all(env.action_space.contains(each) for each in actions)
    np.testing.assert_array_equal(machine.load(newest, spec, env).act(obs), actions)


@pytest.mark.parametrize("rnn_type", ["lstm", "gru"])
def test_a_recurrent_policy_forgets_the_rows_that_begin_anew(rnn_type, bench):
    kind = {"actor.rnn_type": rnn_type, "critic.rnn_type": rnn_type}
    spec = bench.spec("rsl_rl_ppo_rnn", small("rsl_rl_ppo_rnn", **kind), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    obs = env.reset(0)
    actor = machine.load(newest, spec, env)
    first = actor.act(obs)
    second = actor.act(obs)
    assert (second != first).any(axis=1).all()
    actor.reset(np.array([True, False]))
    third = actor.act(obs)
    np.testing.assert_array_equal(third[0], first[0])
    assert (third[1] != first[1]).any()


def test_an_evaluation_sees_the_frozen_statistics_of_training(bench):
    spec = bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    actor = machine.load(newest, spec, env)
    obs = env.reset(0)
    first = actor.act(obs)
    for _ in range(5):
        actor.act(obs + 100.0)
    np.testing.assert_array_equal(actor.act(obs), first)


def test_the_normaliser_has_seen_every_transition_once(bench):
    newest = bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo")))
    stored = state.read(newest / state.MODEL)
    assert stored["actor_state_dict"]["obs_normalizer.count"] == 192


@pytest.mark.parametrize("label", PLATE.labels)
def test_rsl_rls_scalars_arrive_under_their_own_tags_and_nothing_is_printed(
    label, bench, capfd, tmp_path, monkeypatch
):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    bench.train(bench.spec(label, agent_of(label, bench)))
    tags = {"Loss/learning_rate", "Policy/mean_std", "Perf/collection_time", "episode/return"}
    loss = "Loss/behavior" if label == "rsl_rl_distillation" else "Loss/surrogate"
    assert {*tags, loss} <= bench.sheet.tags()
    assert all(isinstance(value, float) for _, row in bench.sheet.rows for value in row.values())
    steps = [step for step, _ in bench.sheet.series(loss)]
    assert steps == [32, 64, 96, 128, 160, 192]
    assert capfd.readouterr() == ("", "")
    assert list(here.iterdir()) == []


def test_scalars_come_no_oftener_than_asked_for_and_at_the_end(bench):
    bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"), log_every=100))
    assert [step for step, _ in bench.sheet.series("Loss/value")] == [128, 192]


def test_discrete_actions_are_refused(bench):
    bench.make_env = lambda num_envs: Buoy(num_envs, action="discrete")
    with pytest.raises(UnsupportedError, match=r"rsl_rl_ppo takes continuous actions only"):
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo")))


def test_one_of_several_processes_is_refused(bench, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UnsupportedError, match="WORLD_SIZE=2"):
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo")))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named(bench):
    for device in ("cuda", "cuda:1"):
        with pytest.raises(UnsupportedError, match=device):
            bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"), device=device))
    with pytest.raises(UsageError, match="gpu"):
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"), device="gpu"))


def test_a_misspelt_observation_group_is_told_with_the_nearest(bench):
    bench.make_env = lambda num_envs: Buoy(num_envs, observation="dict")
    agent = small("rsl_rl_ppo", **{"obs_groups.critic": ["stat"]})
    with pytest.raises(UsageError, match=r"obs_groups\.critic='stat'.*nearest: state"):
        bench.train(bench.spec("rsl_rl_ppo", agent))


@pytest.mark.parametrize(
    ("label", "observation", "changes", "words"),
    [
        ("rsl_rl_ppo", "image", {"actor.class_name": "MLPModel"}, r"actor\.class_name=MLPModel"),
        ("rsl_rl_ppo", "vector", {"critic.class_name": "CNNModel"}, "needs an image"),
        ("rsl_rl_ppo_rnn", "camera", {}, "takes no images"),
    ],
)
def test_a_network_that_cannot_take_what_there_is_to_see_is_refused(
    label, observation, changes, words, bench
):
    bench.make_env = lambda num_envs: Buoy(num_envs, observation=observation)
    with pytest.raises(UnsupportedError, match=words):
        bench.train(bench.spec(label, small(label, **changes)))


def test_what_rsl_rl_refuses_is_told_with_the_label(bench):
    bench.make_env = lambda num_envs: Buoy(num_envs, observation="image")
    agent = small("rsl_rl_ppo", **{"actor.cnn_cfg.kernel_size": [50, 4, 3]})
    with pytest.raises(UsageError, match="rsl_rl_ppo cannot be built"):
        bench.train(bench.spec("rsl_rl_ppo", agent))


def test_losses_that_are_no_longer_finite_end_the_run_in_a_sentence(bench):
    bench.make_env = Sick
    with pytest.raises(TrainingFailed, match=r"no longer finite at step .*learning_rate"):
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo"), nan_guard=False))


# Teachers


def test_a_student_comes_to_act_as_its_teacher_does(bench):
    bench.make_env = lambda num_envs: Buoy(num_envs, observation="dict")
    teacher = bench.teacher(**{"obs_groups.actor": ["state"]})
    agent = changed(
        "rsl_rl_distillation",
        8,
        **{
            "teacher": str(teacher),
            "obs_groups.student": ["hint", "state"],
            "algorithm.learning_rate": 0.01,
        },
    )
    assert agent["teacher_model"]["groups"] == ["state"]
    spec = bench.spec("rsl_rl_distillation", agent, steps=5120, num_envs=8, checkpoint_every=5120)
    newest = bench.train(spec)
    losses = [loss for _, loss in bench.sheet.series("Loss/behavior")]
    assert losses[-1] < 0.2 * losses[0]
    env = bench.make_env(8)
    obs = env.reset(4)
    taught = machine.load(newest, spec, env).act(obs)
    known = bench.spec("rsl_rl_ppo", small("rsl_rl_ppo", **{"obs_groups.actor": ["state"]}))
    np.testing.assert_allclose(taught, machine.load(teacher, known, env).act(obs), atol=0.15)


def test_a_run_means_its_newest_checkpoint(bench):
    teacher = bench.teacher()
    agent = small("rsl_rl_distillation", teacher=str(teacher.parent.parent))
    assert agent["teacher"] == str(teacher)
    assert agent["teacher_model"]["hidden_dims"] == [8]
    assert PLATE.settle("rsl_rl_distillation", agent, 4) == agent


def test_a_relative_teacher_becomes_an_absolute_one(bench, monkeypatch):
    teacher = bench.teacher()
    monkeypatch.chdir(teacher.parent)
    assert small("rsl_rl_distillation", teacher=teacher.name)["teacher"] == str(teacher)


def test_a_teacher_of_another_label_is_refused(bench):
    student = bench.train(bench.spec("rsl_rl_ppo_rnn", small("rsl_rl_ppo_rnn"), steps=64))
    with pytest.raises(UsageError, match=r"was trained with rsl_rl_ppo_rnn; .* rsl_rl_ppo"):
        small("rsl_rl_distillation", teacher=str(student))


def test_a_damaged_teacher_is_refused(bench):
    teacher = bench.teacher()
    with (teacher / state.MODEL).open("ab") as file:
        file.write(b"x")
    with pytest.raises(UsageError, match=r"agent\.teacher=.*model\.pt"):
        small("rsl_rl_distillation", teacher=str(teacher))
    teacher.parent.parent.joinpath("ckpt").rename(teacher.parent.parent / "none")
    with pytest.raises(UsageError, match="no complete checkpoint"):
        small("rsl_rl_distillation", teacher=str(teacher.parent.parent))


def test_a_teacher_of_another_task_is_refused(bench):
    agent = small("rsl_rl_distillation", teacher=str(bench.teacher()))
    spec = bench.spec("rsl_rl_distillation", agent)
    with pytest.raises(UsageError, match="was trained on buoy, this run is on raft"):
        bench.train(type(spec)(**{**spec.as_dict(), "env": "raft"}))


def test_a_teacher_that_is_gone_before_training_is_told(bench):
    teacher = bench.teacher()
    spec = bench.spec("rsl_rl_distillation", small("rsl_rl_distillation", teacher=str(teacher)))
    teacher.rename(teacher.with_name("gone"))
    with pytest.raises(UsageError, match=r"agent\.teacher=.*there is no such folder"):
        bench.train(spec)


def test_a_teacher_that_would_see_something_else_is_refused_with_both_shapes(bench):
    teacher = bench.teacher()
    bench.make_env = lambda num_envs: Buoy(num_envs, observation="dict")
    agent = small("rsl_rl_distillation", teacher=str(teacher))
    assert agent["teacher_model"]["groups"] is None
    with pytest.raises(UsageError, match=r"\(8, 3\), these settings need \(8, 4\)"):
        bench.train(bench.spec("rsl_rl_distillation", agent))


# Weights from elsewhere


@pytest.mark.parametrize("label", PPO)
def test_a_native_file_gives_its_weights_and_nothing_else(label, bench, tmp_path):
    first = bench.train(bench.spec(label, small(label), steps=96))
    other = tmp_path / "epoch=3-step=900.pt"
    torch.save(torch.load(first / state.MODEL, weights_only=True), other)
    still = {"algorithm.schedule": "fixed", "algorithm.learning_rate": 0.0}
    newest = bench.train(bench.spec(label, small(label, **still), steps=32), weights=other)
    before, after = (state.read(folder / state.MODEL) for folder in (first, newest))
    for name in ("mlp.0.weight", "mlp.2.bias"):
        assert torch.equal(before["actor_state_dict"][name], after["actor_state_dict"][name])
        assert torch.equal(before["critic_state_dict"][name], after["critic_state_dict"][name])
    assert after["actor_state_dict"]["obs_normalizer.count"] == 96 + 32
    assert after["iter"] == 0
    assert any("actor and critic" in line for line in bench.said)


def test_a_native_file_of_another_shape_is_refused_with_both_shapes(bench):
    wide = small("rsl_rl_ppo", **{"actor.hidden_dims": [16]})
    other = bench.train(bench.spec("rsl_rl_ppo", wide, steps=32))
    with pytest.raises(UsageError) as refusal:
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo")), weights=other / state.MODEL)
    assert "the file has (16, 3), these settings need (8, 3)" in str(refusal.value)
    assert len(str(refusal.value).splitlines()) <= 7


@pytest.mark.parametrize("content", [None, b"not a file of torch", {"model_state_dict": {}}])
def test_a_native_file_that_is_none_is_refused(content, bench, tmp_path):
    path = tmp_path / "model_900.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        torch.save(content, path)
    with pytest.raises(UsageError, match=r"--model .*model_900\.pt"):
        bench.train(bench.spec("rsl_rl_ppo", small("rsl_rl_ppo")), weights=path)


# Truncation is not termination

CLOCKS = {
    "rsl_rl_ppo": {
        "algorithm.num_learning_epochs": 5,
        "algorithm.num_mini_batches": 2,
        "algorithm.learning_rate": 0.005,
    },
    "rsl_rl_ppo_rnn": {
        "algorithm.num_learning_epochs": 4,
        "algorithm.num_mini_batches": 1,
        "algorithm.learning_rate": 0.01,
        "actor.hidden_dims": [8],
        "actor.rnn_hidden_dim": 8,
        "critic.hidden_dims": [16],
        "critic.rnn_hidden_dim": 8,
    },
}


@pytest.mark.parametrize("label", PPO)
def test_a_time_limit_does_not_cut_the_value(label, bench):
    """Reward 1 for ever, cut after 10 steps, discounted by 0.9: 10; taken as an end, below 6.6."""
    bench.make_env = lambda num_envs: Buoy(num_envs, limit=10, constant=True)
    agent = changed(
        label,
        8,
        **{
            "num_steps_per_env": 10,
            "algorithm.gamma": 0.9,
            "algorithm.lam": 1.0,
            "algorithm.schedule": "fixed",
            "algorithm.max_grad_norm": 100.0,
            "critic.obs_normalization": False,
            **CLOCKS[label],
        },
    )
    spec = bench.spec(label, agent, steps=4000, num_envs=8, checkpoint_every=4000)
    newest = bench.train(spec)
    env = bench.make_env(8)
    env.age[:] = np.arange(8)
    values = worth(newest, spec, env)
    assert values.min() > 8.0
    assert values.max() < 12.0


def worth(newest, spec, env) -> torch.Tensor:
    """Return the values (N,) that a checkpoint's critic gives to what the rows see."""
    seen = TensorDict({"policy": torch.from_numpy(env.look(env.x, env.age))}, [env.num_envs])
    critic = build.Built(spec, env).algorithm(seen).critic
    state.restore_network(critic, "critic", newest / state.MODEL)
    with torch.no_grad():
        return critic.eval()(seen).squeeze(-1)


def test_what_is_added_for_a_cut_row_is_its_value_and_the_memory_stays(bench):
    env = Buoy(4, limit=6)
    env.reset(2)
    spec = bench.spec("rsl_rl_ppo_rnn", small("rsl_rl_ppo_rnn"))
    built = build.Built(spec, env)
    env.last_obs = env.look(env.x, env.age)
    algorithm = built.algorithm(built.bridge.observe(env.last_obs))
    env.age[:] = [0, 4, 0, 5]
    env.x[2] = [1.99, 9.0]
    with torch.inference_mode():
        obs = built.bridge.observe(env.last_obs)
        moved = built.bridge.step(algorithm.act(obs))
        kept = [part.clone() for part in algorithm.critic.get_hidden_state()]
        added = machine._rewards(algorithm, moved) - moved.rewards
        assert all(
            torch.equal(a, b)
            for a, b in zip(kept, algorithm.critic.get_hidden_state(), strict=True)
        )
        assert moved.dones.tolist() == [False, False, True, True]
        assert (added != 0).tolist() == [False, False, False, True]
        algorithm.critic.reset(hidden_state=tuple(part[:, 3:4].contiguous() for part in kept))
        alone = algorithm.critic(moved.last_obs).squeeze()
    torch.testing.assert_close(added[3], algorithm.gamma * alone)
