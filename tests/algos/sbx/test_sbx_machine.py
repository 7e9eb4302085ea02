"""Training and acting, through SBX itself."""

import jax
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from srb_train.algos.sb3 import bridge
from srb_train.algos.sbx import PLATE, build, machine
from srb_train.algos.sbx.bootstrap import CUT, Bootstrap
from srb_train.errors import TrainingFailed, UnsupportedError, UsageError
from srb_train.tracked import TrackedEnv
from tests.algos.sb3.conftest import VECTOR, Slider, changed, small

QUICK = ("sbx_ppo", "sbx_td3")
LABELS = [
    pytest.param(label, marks=() if label in QUICK else pytest.mark.slow) for label in PLATE.labels
]


def task(label, **shape):
    action = "discrete" if label == "sbx_dqn" else "continuous"
    return lambda num_envs: Slider(num_envs, **{"action": action, **shape})


@pytest.mark.parametrize("label", LABELS)
def test_a_trained_policy_acts_the_same_every_time_and_within_bounds(label, bench):
    bench.make_env = task(label)
    spec = bench.spec(label, small(label), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(3)
    obs = env.reset(1)
    np.random.seed(5)
    before = np.random.get_state()[1].tolist()
    actor = machine.load(newest, spec, env)
    actions = actor.act(obs)
    assert np.random.get_state()[1].tolist() == before
    assert len(actions) == 3
    assert all(env.action_space.contains(each) for each in actions)
    np.testing.assert_array_equal(machine.load(newest, spec, env).act(obs), actions)


def test_an_evaluation_sees_the_frozen_statistics_of_training_and_compiles_once(bench, compiled):
    spec = bench.spec("sbx_ppo", small("sbx_ppo"), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    actor = machine.load(newest, spec, env)
    obs = env.reset(0)
    first = actor.act(obs)
    compiled.clear()
    for _ in range(5):
        actor.act(obs + 100.0)
    np.testing.assert_array_equal(actor.act(obs), first)
    assert compiled == []


@pytest.mark.parametrize("label", LABELS)
def test_nothing_is_compiled_after_the_first_update(label, bench, compiled):
    """Updates of the policy are delayed so that they are due in different phases of an update."""
    counts: list[int] = []

    class Counting(Slider):
        def step(self, action):
            counts.append(len(compiled))
            return super().step(action)

    action = "discrete" if label == "sbx_dqn" else "continuous"
    bench.make_env = lambda num_envs: Counting(num_envs, action=action, limit=7)
    agent = small(label)
    if "policy_delay" in agent:
        agent["policy_delay"] = 3
    bench.train(bench.spec(label, agent))
    first = 32 if PLATE.labels[label].on_policy else 48
    assert counts[first // 4] > 0
    assert len(compiled) - counts[first // 4] == 0


@pytest.mark.slow
def test_sbx_itself_compiles_one_program_for_each_phase_of_a_delay(bench, compiled):
    """When this fails, SBX has mended it and `build._compile_once` can go."""
    agent = changed(
        "sbx_td3",
        2,
        policy_delay=2,
        gradient_steps=1,
        learning_starts=4,
        batch_size=4,
        **{"policy_kwargs.net_arch": [4]},
    )
    env = TrackedEnv(Slider(2), on_step=lambda n: None, overdue=lambda: False)
    env.reset(0)
    model = build.model("sbx_td3", agent, bridge.wrap(env, agent, print), seed=0)
    model.learn(20)
    assert len([name for name in compiled if "_train" in name]) == 1
    del model._train
    compiled.clear()
    model.learn(20, reset_num_timesteps=False)
    assert len([name for name in compiled if "_train" in name]) == 2


def test_sbxs_scalars_arrive_under_their_own_tags_and_nothing_is_printed(bench, capfd, tmp_path):
    bench.train(bench.spec("sbx_ppo", small("sbx_ppo")))
    ours = {"train/pg_loss", "rollout/ep_rew_mean", "time/fps", "episode/return"}
    assert ours <= bench.sheet.tags()
    assert all(isinstance(value, float) for _, row in bench.sheet.rows for value in row.values())
    steps = [step for step, row in bench.sheet.rows if "train/pg_loss" in row]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (32, 192)
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in (tmp_path / "0").iterdir()] == ["ckpt"]
    assert bench.said[0].startswith("JAX ")


@pytest.mark.parametrize(
    ("label", "shape", "words"),
    [
        ("sbx_sac", {"action": "discrete"}, "use sbx_ppo, sbx_dqn"),
        ("sbx_dqn", {"action": "continuous"}, "use sbx_ppo, sbx_ddpg"),
        ("sbx_ppo", {"observation": "dict"}, "sbx_ppo has no MultiInputPolicy"),
        ("sbx_ddpg", {"observation": "dict"}, "sbx_ddpg has no MultiInputPolicy"),
        ("sbx_sac", {"observation": "dict"}, "must be vectors; camera"),
        ("sbx_sac", {"observation": "image"}, "sbx_sac has no CnnPolicy"),
        ("sbx_simba", {"observation": "image"}, "takes no images"),
    ],
)
def test_what_sbx_cannot_do_is_refused_in_words(label, shape, words, bench):
    bench.make_env = task(label, **shape)
    with pytest.raises(UnsupportedError, match=words):
        bench.train(bench.spec(label, small(label)))


class Odd(Slider):
    """The same task with actions that are a matrix."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.action_space = spaces.Box(-1.0, 1.0, (2, 2), np.float32)


def test_matrices_of_actions_are_refused_where_sbx_would_fail(bench):
    bench.make_env = Odd
    with pytest.raises(UnsupportedError, match="one vector"):
        bench.train(bench.spec("sbx_ppo", small("sbx_ppo")))


class Named(Slider):
    """The same task, whose vector has parts with names."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        box = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.observation_space = spaces.Dict({"at": VECTOR, "age": box})

    def _obs(self, x, age):
        vector = super()._obs(x, age)
        return {"age": vector[:, 2:], "at": vector}


@pytest.mark.slow
@pytest.mark.parametrize("label", ["sbx_td3", "sbx_simba"])
def test_the_parts_of_a_dict_lie_side_by_side(label, bench):
    bench.make_env = Named
    spec = bench.spec(label, small(label, normalize_observation=True), steps=64)
    newest = bench.train(spec)
    env = bench.make_env(2)
    actor = machine.load(newest, spec, env)
    assert actor._policy.actor_state.params["params"]
    assert actor.act(env.reset(0)).shape == (2, 2)


def test_a_misspelt_policy_is_told_with_the_nearest(bench):
    with pytest.raises(UsageError, match=r"nearest: SimbaPolicy"):
        bench.train(bench.spec("sbx_sac", small("sbx_sac", policy="SimbPolicy")))


def test_the_largest_seed_is_a_seed(bench):
    bench.train(bench.spec("sbx_ppo", small("sbx_ppo"), steps=32, seed=2**32 - 1))


class Sick(Slider):
    """The same task, whose reward is no number after a while."""

    def step(self, action):
        step = super().step(action)
        return step._replace(reward=step.reward * np.nan) if self.age.max() > 8 else step


def test_weights_that_are_no_longer_finite_end_the_run(bench):
    bench.make_env = Sick
    with pytest.raises(TrainingFailed, match="non-finite"):
        bench.train(bench.spec("sbx_ppo", small("sbx_ppo")))


class Scripted(VecEnv):
    """Three rows: the first is cut, the second ends, the third goes on."""

    def __init__(self):
        super().__init__(3, VECTOR, spaces.Box(-1.0, 1.0, (1,), np.float32))

    def reset(self):
        return np.zeros((3, 3), np.float32)

    def step_async(self, actions):
        pass

    def step_wait(self):
        ends = {"terminal_observation": np.full(3, 7.0, np.float32)}
        infos = [{**ends, CUT: True}, {**ends, CUT: False}, {}]
        done = np.array([True, True, False])
        return self.reset(), np.ones(3, np.float32), done, infos

    def close(self):
        pass

    def get_attr(self, attr_name, indices=None):
        return [None] * 3

    def set_attr(self, attr_name, value, indices=None):
        pass

    def env_method(self, method_name, *args, indices=None, **kwargs):
        pass

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * 3


def test_cut_rows_are_valued_at_once_and_ended_ones_not_at_all():
    venv = Bootstrap(Scripted(), gamma=0.5)
    asked = []
    venv.value = lambda obs: asked.append(obs) or obs.sum(axis=1)
    _, reward, done, infos = venv.step(np.zeros((3, 1)))
    assert reward.tolist() == [1 + 0.5 * 21, 1, 1]
    assert done.tolist() == [True, True, False]
    assert [obs.shape for obs in asked] == [(3, 3)]
    assert not any(info.get(CUT) for info in infos)


def test_a_rollout_is_worth_the_same_as_with_sbx_alone():
    rewards = []
    for wrap in (build.wrap, lambda label, *rest: bridge.wrap(*rest)):
        env = TrackedEnv(Slider(4, limit=5), on_step=lambda n: None, overdue=lambda: False)
        env.reset(3)
        agent = small("sbx_ppo", gamma=0.9)
        model = build.model("sbx_ppo", agent, wrap("sbx_ppo", env, agent, print), seed=1)
        model.learn(32)
        rewards.append(model.rollout_buffer.rewards)
    assert rewards[0].max() != pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(rewards[0], rewards[1], rtol=1e-5)


ON_POLICY = {
    "n_steps": 10,
    "batch_size": 40,
    "learning_rate": 0.005,
    "gae_lambda": 1.0,
    "normalize_observation": False,
    "max_grad_norm": 100.0,
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
    "sbx_ppo": (4000, ON_POLICY),
    "sbx_dqn": (3000, {**TARGET, "target_update_interval": 8}),
    "sbx_ddpg": (3000, TARGET),
    "sbx_td3": (3000, TARGET),
    "sbx_sac": (3000, {**TARGET, "ent_coef": 0.001}),
    "sbx_tqc": (3000, {**TARGET, "ent_coef": 0.001}),
    "sbx_droq": (3000, {**TARGET, "ent_coef": 0.001, "gradient_steps": 4, "policy_delay": 4}),
    "sbx_crossq": (5000, {**OFF_POLICY, "ent_coef": 0.001}),
    "sbx_simba": (3000, {**TARGET, "ent_coef": 0.001}),
}


@pytest.mark.parametrize(
    "label",
    [pytest.param(each, marks=() if each == "sbx_dqn" else pytest.mark.slow) for each in CLOCKS],
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
    values = worth(actor._policy, bridge.observe(actor._venv, env._obs(env.x, env.age)))
    assert values.min() > 8.0
    assert values.max() < 12.0


def worth(policy, obs):
    """Return the values (N,) that a policy's critics give to observations."""
    if hasattr(policy, "vf_state"):
        return np.asarray(policy.vf.apply(policy.vf_state.params, obs))
    if not hasattr(policy, "actor_state"):
        return np.asarray(policy.qf.apply(policy.qf_state.params, obs)).max(axis=1)
    state = policy.qf1_state if hasattr(policy, "qf1_state") else policy.qf_state
    weights = (
        {"params": state.params, "batch_stats": state.batch_stats}
        if hasattr(state, "batch_stats")
        else state.params
    )
    actions = policy._predict(obs, deterministic=True)
    judged = policy.qf.apply(weights, obs, actions, rngs={"dropout": jax.random.PRNGKey(0)})
    judged = np.asarray(judged)
    return judged.mean(axis=-1) if judged.ndim == 2 else judged.mean(axis=(0, 2))
