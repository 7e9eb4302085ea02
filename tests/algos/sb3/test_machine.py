"""Training, acting and importing weights, through SB3 itself."""

import base64
import json
import zipfile

import numpy as np
import pytest
import sb3_contrib
import stable_baselines3
import torch
from gymnasium import spaces

from srb_train.algos.sb3 import PLATE, bridge, build, machine, weights
from srb_train.errors import TrainingFailed, UnsupportedError, UsageError
from tests.algos.sb3.conftest import Slider, changed, small

DISCRETE = ("sb3_dqn", "sb3_qrdqn")


def task(label, **shape):
    action = "discrete" if label in DISCRETE else "continuous"
    return lambda num_envs: Slider(num_envs, **{"action": action, **shape})


@pytest.mark.parametrize("label", PLATE.labels)
def test_a_trained_policy_acts_the_same_every_time_and_within_bounds(label, bench):
    bench.make_env = task(label)
    spec = bench.spec(label, small(label), steps=64)
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
    spec = bench.spec("sb3_ppo", small("sb3_ppo"), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    actor = machine.load(newest, spec, env)
    obs = env.reset(0)
    first = actor.act(obs)
    for _ in range(5):
        actor.act(obs + 100.0)
    np.testing.assert_array_equal(actor.act(obs), first)


def test_a_recurrent_policy_forgets_the_rows_that_begin_anew(bench):
    spec = bench.spec("sb3_ppo_lstm", small("sb3_ppo_lstm"), steps=64)
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


@pytest.mark.parametrize(
    ("observation", "policy"),
    [("image", "ActorCriticCnnPolicy"), ("dict", "MultiInputActorCriticPolicy")],
)
def test_images_and_dicts_get_their_network(observation, policy, bench):
    bench.make_env = task("sb3_ppo", observation=observation)
    spec = bench.spec("sb3_ppo", small("sb3_ppo"), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    actor = machine.load(newest, spec, env)
    assert actor._policy.__class__.__name__ == policy
    assert actor.act(env.reset(0)).shape == (2, 2)


def test_sb3s_scalars_arrive_under_their_own_tags_and_nothing_is_printed(bench, capfd, tmp_path):
    bench.train(bench.spec("sb3_ppo", small("sb3_ppo")))
    ours = {"train/loss", "rollout/ep_rew_mean", "time/fps", "time/iterations", "episode/return"}
    assert ours <= bench.sheet.tags()
    assert all(isinstance(value, float) for _, row in bench.sheet.rows for value in row.values())
    steps = [step for step, row in bench.sheet.rows if "train/loss" in row]
    assert steps == sorted(set(steps))
    assert steps[0] == 32
    assert steps[-1] == 192
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in (tmp_path / "0").iterdir()] == ["ckpt"]


@pytest.mark.parametrize("label", ["sb3_sac", "sb3_ars", "sb3_dqn"])
def test_labels_that_log_by_episodes_log_by_transitions_here(label, bench):
    bench.make_env = task(label)
    bench.train(bench.spec(label, small(label)))
    steps = [step for step, row in bench.sheet.rows if "time/total_timesteps" in row]
    assert steps[:3] == [32, 64, 96]


@pytest.mark.parametrize(
    ("label", "action", "advice"),
    [("sb3_sac", "discrete", "sb3_dqn"), ("sb3_qrdqn", "continuous", "sb3_sac")],
)
def test_the_wrong_kind_of_actions_is_refused_with_labels_that_fit(label, action, advice, bench):
    bench.make_env = lambda num_envs: Slider(num_envs, action=action)
    with pytest.raises(UnsupportedError, match=advice):
        bench.train(bench.spec(label, small(label)))


@pytest.mark.parametrize("label", ["sb3_ars", "sb3_crossq"])
def test_a_label_without_a_network_for_dicts_says_so(label, bench):
    bench.make_env = task(label, observation="dict")
    with pytest.raises(UnsupportedError, match="MultiInputPolicy"):
        bench.train(bench.spec(label, small(label)))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named(bench):
    for device in ("cuda", "cuda:1"):
        with pytest.raises(UnsupportedError, match=device):
            bench.train(bench.spec("sb3_ppo", small("sb3_ppo"), device=device))
    with pytest.raises(UsageError, match="gpu"):
        bench.train(bench.spec("sb3_ppo", small("sb3_ppo"), device="gpu"))


def test_what_sb3_refuses_is_told_with_the_label(bench):
    agent = small("sb3_ppo", use_sde=True)
    bench.make_env = lambda num_envs: Slider(num_envs, action="discrete")
    with pytest.raises(UsageError, match=r"sb3_ppo cannot be built.*gSDE"):
        bench.train(bench.spec("sb3_ppo", agent))


class Sick(Slider):
    """The same task, whose reward is no number after a while."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=step.reward * np.nan) if self.age.max() > 8 else step


def test_weights_that_are_no_longer_finite_end_the_run_in_a_sentence(bench):
    bench.make_env = Sick
    # Frameworks of other families switch this off for the whole process when they are imported.
    torch.distributions.Distribution.set_default_validate_args(True)
    with pytest.raises(TrainingFailed, match=r"no longer finite at step .*learning_rate"):
        bench.train(bench.spec("sb3_ppo", small("sb3_ppo"), nan_guard=False))


def test_a_misspelt_policy_is_told_with_the_nearest(bench):
    with pytest.raises(UsageError, match=r"nearest: MlpPolicy"):
        bench.train(bench.spec("sb3_ppo", small("sb3_ppo", policy="MlpPolcy")))


def test_a_plain_policy_name_means_the_recurrent_one(bench):
    bench.train(bench.spec("sb3_ppo_lstm", small("sb3_ppo_lstm", policy="MlpPolicy"), steps=64))


@pytest.mark.parametrize("label", PLATE.labels)
def test_sb3_alone_loads_our_file_which_names_nothing_of_ours(label, bench):
    bench.make_env = task(label)
    newest = bench.train(bench.spec(label, small(label), steps=64))
    path = newest / weights.MODEL
    loaded = plain(label).load(path)
    assert loaded.num_timesteps == 64
    with zipfile.ZipFile(path) as archive:
        data = json.loads(archive.read("data"))
    pickled = [
        base64.b64decode(each[":serialized:"])
        for each in data.values()
        if isinstance(each, dict) and ":serialized:" in each
    ]
    assert pickled
    assert not any(b"srb_train" in each for each in pickled)


def plain(label):
    """Return SB3's own class of a label."""
    return sb3_contrib.ARS if label == "sb3_ars" else build.ALGORITHMS[label]


def native(path, **net):
    """Train and save a PPO the way a script without us would."""
    model = stable_baselines3.PPO(
        "MlpPolicy", "Pendulum-v1", n_steps=8, batch_size=8, n_epochs=1, device="cpu", **net
    )
    model.learn(8)
    model.save(path)
    return model


@pytest.mark.parametrize("named", ["epoch=3-step=900.zip", "epoch=3-step=900"])
def test_a_native_file_gives_its_weights_and_nothing_else(named, bench, tmp_path):
    import_from = tmp_path / "elsewhere" / "epoch=3-step=900.zip"
    import_from.parent.mkdir()
    model = native(import_from, policy_kwargs={"net_arch": [8]})
    model.policy.action_net.weight.data.fill_(0.25)
    model.save(import_from)
    bench.make_env = OneAction
    agent = small("sb3_ppo", learning_rate=0.0)
    spec = bench.spec("sb3_ppo", agent, steps=32)
    newest = bench.train(spec, weights=import_from.with_name(named))
    assert newest.name == "32"
    trained = stable_baselines3.PPO.load(newest / weights.MODEL)
    assert (trained.policy.action_net.weight == 0.25).all()
    assert any("no normaliser" in line for line in bench.said)


class OneAction(Slider):
    """The same task with the shapes of a pendulum."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.action_space = spaces.Box(-2.0, 2.0, (1,), np.float32)


def test_a_native_file_of_another_shape_is_refused_with_both_shapes(bench, tmp_path):
    native(tmp_path / "other.zip", policy_kwargs={"net_arch": [16]})
    bench.root = tmp_path / "runs"
    bench.root.mkdir()
    with pytest.raises(UsageError) as refusal:
        bench.train(bench.spec("sb3_ppo", small("sb3_ppo")), weights=tmp_path / "other.zip")
    assert "the file has (16, 3), these settings need (8, 3)" in str(refusal.value)
    assert len(str(refusal.value).splitlines()) <= 7


@pytest.mark.parametrize("content", [None, b"not a zip"])
def test_a_native_file_that_is_none_is_refused(content, bench, tmp_path):
    path = tmp_path / "wrong" / "model.zip"
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"--model .*model\.zip"):
        bench.train(bench.spec("sb3_ppo", small("sb3_ppo")), weights=path)


ON_POLICY = {
    "n_steps": 10,
    "batch_size": 40,
    "learning_rate": 0.005,
    "gae_lambda": 1.0,
    "normalize_observation": False,
}
OFF_POLICY = {
    "batch_size": 64,
    "learning_starts": 100,
    "train_freq": 2,
    "learning_rate": 0.003,
    "buffer_size": 5000,
    "policy_kwargs.net_arch": [32],
}
TARGET = {**OFF_POLICY, "tau": 0.05}
CLOCKS = {
    "sb3_ppo": (4000, {**ON_POLICY, "max_grad_norm": 100.0}),
    "sb3_a2c": (
        8000,
        {
            "n_steps": 5,
            "learning_rate": 0.005,
            "max_grad_norm": 100.0,
            "normalize_observation": False,
        },
    ),
    "sb3_trpo": (4000, ON_POLICY),
    "sb3_ppo_lstm": (
        2400,
        {
            **ON_POLICY,
            "batch_size": 80,
            "learning_rate": 0.01,
            "max_grad_norm": 100.0,
            "policy_kwargs.lstm_hidden_size": 8,
            "policy_kwargs.net_arch": [16],
        },
    ),
    "sb3_sac": (3000, {**TARGET, "ent_coef": 0.001}),
    "sb3_tqc": (3000, {**TARGET, "ent_coef": 0.001}),
    "sb3_crossq": (5000, {**OFF_POLICY, "ent_coef": 0.001}),
    "sb3_td3": (3000, TARGET),
    "sb3_ddpg": (3000, TARGET),
    "sb3_dqn": (3000, {**TARGET, "target_update_interval": 8}),
    "sb3_qrdqn": (3000, {**TARGET, "target_update_interval": 8}),
}
QUICK = ("sb3_a2c", "sb3_dqn", "sb3_ddpg")


@pytest.mark.parametrize(
    "label",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in CLOCKS],
)
def test_a_time_limit_does_not_cut_the_value(label, bench):
    """Reward 1 for ever, cut after 10 steps, discounted by 0.9: 10; taken as an end, below 6.6."""
    steps, settings = CLOCKS[label]
    bench.make_env = task(label, limit=10, constant=True)
    agent = changed(label, 8, gamma=0.9, **settings)
    spec = bench.spec(label, agent, steps=steps, num_envs=8, checkpoint_every=steps)
    newest = bench.train(spec)
    env = bench.make_env(8)
    env.age[:] = np.arange(8)
    actor = machine.load(newest, spec, env)
    seen = bridge.observe(actor._venv, env._obs(env.x, env.age))
    values = worth(actor._policy, torch.as_tensor(seen))
    assert values.min() > 8.0
    assert values.max() < 12.0


def worth(policy, obs):
    """Return the values (N,) that a policy's critics give to observations."""
    policy.set_training_mode(False)
    with torch.no_grad():
        if hasattr(policy, "lstm_actor"):
            lstm = policy.lstm_actor
            nothing = torch.zeros(lstm.num_layers, len(obs), lstm.hidden_size)
            return policy.predict_values(obs, (nothing, nothing), torch.ones(len(obs)))
        if hasattr(policy, "predict_values"):
            return policy.predict_values(obs)
        if hasattr(policy, "q_net"):
            return policy.q_net(obs).max(dim=1).values
        if hasattr(policy, "quantile_net"):
            return policy.quantile_net(obs).mean(dim=1).max(dim=1).values
        judged = policy.critic(obs, policy.actor(obs))
        return judged[0] if isinstance(judged, tuple) else judged.mean(dim=-1)
