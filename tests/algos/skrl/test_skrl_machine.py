"""Training, acting and importing weights, through skrl itself."""

import logging
import os

import numpy as np
import pytest
import torch

from srb_train.algos.skrl import PLATE, bridge, build, episodes, machine, weights
from srb_train.errors import StopTraining, TrainingFailed, UnsupportedError, UsageError
from srb_train.tracked import TrackedEnv
from tests.algos.skrl.scene import Slider, changed, kind

CPU = torch.device("cpu")


def task(label, **shape):
    return lambda num_envs: Slider(num_envs, **{"action": kind(label), **shape})


@pytest.mark.parametrize("label", PLATE.labels)
def test_a_trained_policy_acts_the_same_every_time_and_within_bounds(label, bench):
    bench.make_env = task(label)
    spec = bench.spec(label, bench.small(label), steps=64)
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


def test_an_evaluation_sees_the_frozen_statistics_of_training(bench):
    spec = bench.spec("skrl_ppo", bench.small("skrl_ppo"), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    actor = machine.load(newest, spec, env)
    obs = env.reset(0)
    first = actor.act(obs)
    for _ in range(5):
        actor.act(obs + 100.0)
    np.testing.assert_array_equal(actor.act(obs), first)
    assert actor._scaler.current_count > 60


def test_a_recurrent_policy_forgets_the_rows_that_begin_anew(bench):
    spec = bench.spec("skrl_ppo_rnn", bench.small("skrl_ppo_rnn"), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    obs = env.reset(0)
    actor = machine.load(newest, spec, env)
    first = actor.act(obs)
    assert (actor.act(obs) != first).any(axis=1).all()
    actor.reset(np.array([True, False]))
    third = actor.act(obs)
    np.testing.assert_array_equal(third[0], first[0])
    assert (third[1] != first[1]).any()


@pytest.mark.parametrize("label", ["skrl_ppo", "skrl_sac", "skrl_dqn", "skrl_cem"])
def test_skrls_scalars_arrive_under_their_own_tags_and_nothing_is_printed_or_written(
    label, bench, capfd, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    bench.make_env = task(label)
    bench.train(bench.spec(label, bench.small(label)))
    tag = {"skrl_dqn": "Loss / Q-network loss"}.get(label, "Loss / Policy loss")
    steps = [step for step, row in bench.sheet.rows if tag in row]
    assert steps == sorted(set(steps))
    assert steps[-1] == 192
    values = [value for _, row in bench.sheet.rows for value in row.values()]
    assert all(isinstance(value, float) and np.isfinite(value) for value in values)
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert [path.name for path in (tmp_path / "runs" / "0").iterdir()] == ["ckpt"]
    assert logging.getLogger("skrl").level == logging.WARNING


def test_a_choice_has_no_deviation_to_log(bench):
    bench.make_env = lambda num_envs: Slider(num_envs, action="discrete")
    bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo")))
    assert "Policy / Standard deviation" not in bench.sheet.tags()
    bench.make_env = Slider
    bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo")))
    assert "Policy / Standard deviation" in bench.sheet.tags()


def test_what_skrl_tracks_does_not_pile_up(bench, monkeypatch):
    made = []
    original = build.learner

    def keep(spec, rows):
        made.append(original(spec, rows))
        return made[-1]

    monkeypatch.setattr(build, "learner", keep)
    bench.train(bench.spec("skrl_td3", bench.small("skrl_td3"), steps=400))
    assert dict(made[0].agent.tracking_data) == {}
    assert not made[0].agent._track_rewards


def test_warm_up_draws_uniform_actions_and_counts_steps_of_all_copies(bench):
    kept = []
    bench.make_env = lambda num_envs: kept.append(Slider(num_envs)) or kept[-1]
    agent = bench.small("skrl_sac", random_timesteps=40, learning_starts=1000)
    bench.train(bench.spec("skrl_sac", agent, steps=160))
    drawn = np.concatenate(kept[0].actions)
    assert len(np.unique(drawn)) == drawn.size
    assert drawn.min() < -1.8
    assert drawn.max() > 1.8


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named(bench):
    for device in ("cuda", "cuda:1"):
        with pytest.raises(UnsupportedError, match=device):
            bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo"), device=device))
    with pytest.raises(UsageError, match="gpu"):
        bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo"), device="gpu"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("label", PLATE.labels)
def test_a_label_trains_and_goes_on_on_cuda(label, bench):
    bench.make_env = task(label)
    spec = bench.spec(label, bench.small(label), device="cuda")
    newest = bench.train(spec)
    bench.train(spec, resume=bench.checkpoint(newest, 64))
    env = bench.make_env(3)
    obs = env.reset(1)
    assert all(env.action_space.contains(a) for a in machine.load(newest, spec, env).act(obs))


class Sick(Slider):
    """The same task, whose reward is no number after a while."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=step.reward * np.nan) if self.age.max() > 8 else step


def test_weights_that_are_no_longer_finite_end_the_run_in_a_sentence(bench):
    bench.make_env = lambda num_envs: Sick(num_envs, action="discrete")
    with pytest.raises(TrainingFailed, match=r"no longer finite at step .*learning_rate"):
        bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo"), nan_guard=False))


def learner(bench, label, num_envs=4, steps=192, **changes):
    """Return an agent on an environment of its own, and the environment."""
    env = TrackedEnv(bench.make_env(num_envs), on_step=lambda n: None, overdue=lambda: False)
    env.reset(5)
    spec = bench.spec(label, bench.small(label, **changes), num_envs=num_envs, steps=steps)
    return build.learner(spec, bridge.Rows(env, label, CPU)), env


def test_a_recurrent_policy_learns_from_the_memory_that_it_acted_with(bench):
    made, _ = learner(bench, "skrl_ppo_rnn", learning_epochs=1, mini_batches=1, learning_rate=0.0)
    agent, ratios = made.agent, []
    acted = agent.policy.act

    def watch(inputs, role=""):
        actions, outputs = acted(inputs, role=role)
        if "terminated" in inputs:
            stored = agent.memory.tensors_view["log_prob"][agent.memory.all_sequence_indexes]
            ratios.append((outputs["log_prob"] - stored).abs().max().item())
        return actions, outputs

    agent.policy.act = watch
    # The statistics that observations are standardized by move after the first update.
    agent._observation_preprocessor = lambda x, train=False: x
    obs = made.rows.current()
    for t in range(32):
        obs = machine._interact(made, obs, None, {"timestep": t, "timesteps": 100}).obs
        agent.post_interaction(timestep=t, timesteps=100)
    assert len(ratios) == 4
    assert max(ratios) < 1e-5


def test_a_recurrent_row_that_is_cut_is_closed_by_the_value_of_its_last_observation(bench):
    bench.make_env = task("skrl_ppo_rnn", limit=1, constant=True)
    made, _ = learner(bench, "skrl_ppo_rnn")
    obs, agent = made.rows.current(), made.agent
    with torch.no_grad():
        seen = made.rows.step(torch.zeros(4, 2))
        shown = episodes.bootstrap(agent, obs, None, seen)
        memory = agent._rnn_initial_states["value"]
        _, after = agent.value.compute({"observations": obs, "rnn": memory})
        worth, _ = agent.value.compute({"observations": seen.next_obs, **after})
    assert not torch.allclose(seen.next_obs, obs)
    torch.testing.assert_close(shown.reward, 1.0 + 0.99 * worth)
    assert shown.terminated.all()
    assert not shown.truncated.any()
    assert (seen.reward == 1.0).all()


def test_the_cross_entropy_method_imitates_the_best_episodes_of_all_rows(bench):
    bench.make_env = task("skrl_cem", limit=4, constant=True)
    made, env = learner(bench, "skrl_cem", percentile=0.0)
    env._env.age[:] = [0, 1, 2, 3]
    seen = []
    original = made.agent.update

    def watch(**time):
        ends = torch.stack(made.agent._ends, dim=1)
        original(**time)
        seen.append((ends, made.agent._episode_tracking[0]))

    made.agent.update = watch
    obs = made.rows.current()
    for t in range(8):
        obs = machine._interact(made, obs, None, {"timestep": t, "timesteps": 8}).obs
        made.agent.post_interaction(timestep=t, timesteps=8)
    (_, limits) = seen[0]
    assert limits == [0, 4, 8, 8 + 3, 8 + 7, 16, 16 + 2, 16 + 6, 24, 24 + 1, 24 + 5, 32]
    mean = made.agent.tracking_data["Coefficient / Mean discounted returns"][0]
    lengths = np.diff(limits)
    assert mean == pytest.approx(np.mean([(1 - 0.99**n) / 0.01 for n in lengths]), rel=1e-5)


@pytest.mark.parametrize("label", PLATE.labels)
def test_skrl_alone_loads_our_file(label, bench):
    bench.make_env = task(label)
    agent = bench.small(label)
    newest = bench.train(bench.spec(label, agent, steps=64))
    fresh, _ = learner(bench, label)
    fresh.agent.load(str(newest / weights.MODEL))
    stored = torch.load(newest / weights.MODEL, weights_only=True)
    for name, module in fresh.agent.checkpoint_modules.items():
        if isinstance(module, torch.nn.Module):
            for key, tensor in module.state_dict().items():
                assert torch.equal(tensor, stored[name][key])


def native(bench, path, **changes):
    """Save an agent the way a script with our networks and without our runs would."""
    made, _ = learner(bench, "skrl_ppo", **changes)
    with torch.no_grad():
        made.agent.policy.mean.weight.fill_(0.25)
    made.agent.save(str(path))


def test_a_native_file_gives_its_weights_and_nothing_else(bench, tmp_path):
    path = tmp_path / "agent_900.pt"
    native(bench, path)
    agent = bench.small("skrl_ppo", learning_rate=0.0)
    newest = bench.train(bench.spec("skrl_ppo", agent, steps=32), weights=path)
    assert newest.name == "32"
    stored = torch.load(newest / weights.MODEL, weights_only=True)
    assert (stored["policy"]["mean.weight"] == 0.25).all()
    assert any("starts at step 0" in line for line in bench.said)


def test_a_native_file_of_another_shape_is_refused_with_both_shapes(bench, tmp_path):
    native(bench, tmp_path / "other.pt", **{"models.policy.layers": [16]})
    with pytest.raises(UsageError) as refusal:
        bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo")), weights=tmp_path / "other.pt")
    assert "the file has (16, 3), these settings need (8, 3)" in str(refusal.value)
    assert str(refusal.value).startswith("--model ")


def test_what_a_native_file_lacks_is_said_and_what_is_too_much_is_refused(bench, tmp_path):
    path = tmp_path / "plain.pt"
    native(bench, path, observation_preprocessor=None)
    bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo"), steps=32), weights=path)
    assert any("no observation_preprocessor" in line for line in bench.said)
    native(bench, path)
    agent = bench.small("skrl_ppo", observation_preprocessor=None)
    with pytest.raises(UsageError, match=r"agent\.observation_preprocessor is off"):
        bench.train(bench.spec("skrl_ppo", agent), weights=path)


@pytest.mark.parametrize("content", [None, b"not a zip"])
def test_a_native_file_that_is_none_is_refused(content, bench, tmp_path):
    path = tmp_path / "wrong.pt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"--model .*wrong\.pt"):
        bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo")), weights=path)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def test_a_file_that_would_execute_code_is_refused_and_executes_none(bench, tmp_path):
    mark = tmp_path / "mark"
    torch.save({"policy": Trap(str(mark))}, tmp_path / "trap.pt")
    with pytest.raises(UsageError, match="trap"):
        bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo")), weights=tmp_path / "trap.pt")
    assert not mark.exists()


ON_POLICY = {
    "rollouts": 10,
    "mini_batches": 2,
    "learning_rate": 0.005,
    "gae_lambda": 1.0,
    "observation_preprocessor": None,
    "value_preprocessor": None,
    "grad_norm_clip": 100.0,
}
CLIPPED = {**ON_POLICY, "value_clip": 0.0}
OFF_POLICY = {
    "batch_size": 64,
    "random_timesteps": 12,
    "learning_starts": 12,
    "learning_rate": 0.003,
    "memory_size": 600,
    "gradient_steps": 1,
    "polyak": 0.05,
}
CRITIC = {**OFF_POLICY, "models.critic.layers": [32], "models.policy.layers": [32]}
CLOCKS = {
    "skrl_ppo": (4000, CLIPPED),
    "skrl_rpo": (4000, CLIPPED),
    "skrl_a2c": (8000, {**ON_POLICY, "rollouts": 5, "mini_batches": 1}),
    "skrl_trpo": (4000, ON_POLICY),
    "skrl_ppo_rnn": (
        2400,
        {
            **CLIPPED,
            "learning_rate": 0.01,
            "mini_batches": 2,
            "models.sequence_length": 5,
            "models.policy.hidden_size": 8,
            "models.value.hidden_size": 8,
        },
    ),
    "skrl_amp": (4000, {**CLIPPED, "task_reward_scale": 0.5, "style_reward_scale": 0.0}),
    "skrl_sac": (3000, {**CRITIC, "learn_entropy": False, "initial_entropy_value": 0.001}),
    "skrl_td3": (3000, {**CRITIC, "gradient_steps": 3}),
    "skrl_ddpg": (3000, CRITIC),
    "skrl_dqn": (3000, {**OFF_POLICY, "models.q_network.layers": [32]}),
    "skrl_ddqn": (3000, {**OFF_POLICY, "models.q_network.layers": [32]}),
}
QUICK = ("skrl_a2c", "skrl_ppo_rnn", "skrl_amp", "skrl_ddpg", "skrl_ddqn")


@pytest.mark.parametrize(
    "label",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in CLOCKS],
)
def test_a_time_limit_does_not_cut_the_value(label, bench):
    """Reward 1 for ever, cut after 10 steps, discounted by 0.9: 10; taken as an end, below 6.6.

    Half of the reward is the task's for the label that imitates, so that its value is 5.
    """
    steps, settings = CLOCKS[label]
    bench.make_env = task(label, limit=10, constant=True)
    imitates = {"motions": bench.small(label)["motions"]} if label == "skrl_amp" else {}
    agent = changed(label, 8, discount_factor=0.9, **settings, **imitates)
    spec = bench.spec(label, agent, steps=steps, num_envs=8, checkpoint_every=steps)
    newest = bench.train(spec)
    env = bench.make_env(8)
    env.age[:] = np.arange(8)
    values = worth(spec, newest, env) * (2 if imitates else 1)
    assert values.min() > 8.0
    assert values.max() < 12.0


def worth(spec, checkpoint, env):
    """Return the values (N,) that a checkpoint's critics give to what an environment shows."""
    rows = bridge.Rows(env, spec.algo, CPU)
    networks = build.networks(spec.algo, spec.agent_params["models"], rows)
    stored = weights.read(checkpoint / weights.MODEL)
    for name, network in networks.items():
        network.load_state_dict(stored[name])
    inputs = {"observations": rows.observe(env._obs(env.x, env.age))}
    with torch.no_grad():
        if "q_network" in networks:
            return networks["q_network"].compute(inputs)[0].max(dim=1).values
        if "value" in networks:
            sizes = networks["value"].get_specification().get("rnn", {}).get("sizes", [])
            return networks["value"].compute({**inputs, "rnn": [torch.zeros(s) for s in sizes]})[0]
        actions, _ = networks["policy"].mode(inputs)
        critic = networks.get("critic", networks.get("critic_1"))
        return critic.compute({**inputs, "taken_actions": actions})[0]


def test_a_stop_between_two_boundaries_leaves_the_last_checkpoint_standing(bench):
    class Stopping(Slider):
        def step(self, action):
            if len(self.actions) == 20:
                raise StopTraining
            return super().step(action)

    bench.make_env = Stopping
    newest = bench.train(bench.spec("skrl_ppo", bench.small("skrl_ppo")))
    assert newest.name == "64"
    assert any("between two boundaries at step 80" in line for line in bench.said)
