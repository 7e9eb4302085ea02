"""The networks: what they compute is what their papers and skrl's agents take it for."""

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Normal, TransformedDistribution, kl_divergence
from torch.distributions.transforms import AffineTransform, TanhTransform

from srb_train.algos.skrl import bridge, build, episodes, models
from srb_train.errors import UnsupportedError
from tests.algos.skrl.scene import Slider, changed

CPU = torch.device("cpu")


def rows(label="skrl_sac", num_envs=3, **shape):
    return bridge.Rows(Slider(num_envs, **shape), label, CPU)


def networks(label, seen, **changes):
    torch.manual_seed(0)
    return build.networks(label, changed(label, **changes)["models"], seen)


def test_the_density_of_a_squashed_action_is_that_of_the_transformed_gaussian():
    seen = rows(action="lopsided")
    policy = networks("skrl_sac", seen)["policy"]
    inputs = {"observations": torch.randn(50, 3)}
    actions, outputs = policy.act(inputs)
    mean, extra = policy.compute(inputs)
    unit = TransformedDistribution(Normal(mean, extra["log_std"].exp()), TanhTransform())
    expected = unit.log_prob(policy.range.shrink(actions)).sum(dim=1, keepdim=True)
    torch.testing.assert_close(outputs["log_prob"], expected, rtol=1e-3, atol=1e-3)
    whole = TransformedDistribution(
        unit, AffineTransform(policy.range.middle, policy.range.reach)
    ).log_prob(actions)
    shift = policy.range.reach.log().sum()
    torch.testing.assert_close(
        whole.sum(dim=1, keepdim=True) + shift, expected, rtol=1e-3, atol=1e-3
    )
    low, high = torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 2.5])
    assert ((actions >= low) & (actions <= high)).all()


def test_the_density_stays_finite_where_the_action_is_at_its_bound():
    seen = rows()
    policy = networks("skrl_sac", seen)["policy"]
    with torch.no_grad():
        policy.net[-1].bias[:2] = 60.0
    _, outputs = policy.act({"observations": torch.zeros(4, 3)})
    assert torch.isfinite(outputs["log_prob"]).all()


@pytest.mark.parametrize("label", ["skrl_sac", "skrl_td3", "skrl_dqn"])
def test_random_actions_are_new_ones_each_time_and_follow_the_process_generator(label):
    discrete = label == "skrl_dqn"
    seen = rows(label, action="discrete" if discrete else "lopsided")
    name = "q_network" if discrete else "policy"
    model = networks(label, seen)[name]
    inputs = {"observations": torch.zeros(200, 3)}
    state = torch.get_rng_state()
    first, second = (model.random_act(inputs)[0] for _ in range(2))
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(model.random_act(inputs)[0], first)
    if discrete:
        assert set(first.flatten().tolist()) == {0, 1, 2}
    else:
        low, high = torch.tensor([-1.0, 2.0]), torch.tensor([3.0, 2.5])
        assert ((first >= low) & (first <= high)).all()
        torch.testing.assert_close(first.mean(0), (low + high) / 2, rtol=0, atol=0.3)


@pytest.mark.parametrize("label", ["skrl_sac", "skrl_td3", "skrl_ddpg"])
def test_squashing_needs_finite_bounds(label):
    with pytest.raises(UnsupportedError, match="finite bounds"):
        networks(label, rows(label, action="endless"))


def test_a_sequence_replayed_gives_what_its_steps_gave_whenever_episodes_end():
    seen = rows("skrl_ppo_rnn", num_envs=4)
    trunk = networks("skrl_ppo_rnn", seen, **{"models.sequence_length": 8})["value"].trunk
    obs = torch.randn(8, 4, 3)
    done = torch.rand(8, 4) < 0.3
    done[3] = False
    memory = start = torch.randn(1, 4, 64)
    steps = []
    for t in range(8):
        features, extra = trunk({"observations": obs[t], "rnn": [memory]})
        steps.append(features)
        memory = extra["rnn"][0] * ~done[t][:, None]
    by_row = {
        "observations": obs.transpose(0, 1).reshape(32, 3),
        "terminated": done.T.reshape(32, 1),
        "truncated": torch.zeros(32, 1, dtype=torch.bool),
        # skrl hands over the memory before each step; only that of the first one counts.
        "rnn": [
            torch.stack([start[0], *[torch.full_like(start[0], 9.0)] * 7], 1).reshape(1, 32, 64)
        ],
    }
    replayed, extra = trunk(by_row)
    expected = torch.stack(steps, dim=1).reshape(32, -1)
    torch.testing.assert_close(replayed, expected)
    torch.testing.assert_close(extra["rnn"][0], memory)


def test_the_divergence_that_stands_for_a_choice_has_its_fisher_matrix():
    logits = torch.randn(5, 4, dtype=torch.float64)
    moved = logits + 1e-3 * torch.randn(5, 4, dtype=torch.float64)
    p, q = (2.0 * torch.softmax(each, dim=1).sqrt() for each in (logits, moved))
    ours = 0.5 * (p - q).square().sum(dim=1)
    exact = kl_divergence(Categorical(logits=logits), Categorical(logits=moved))
    torch.testing.assert_close(ours, exact, rtol=5e-3, atol=0)


def test_a_robust_policy_is_shaken_only_where_skrl_says_so():
    policy = networks("skrl_rpo", rows("skrl_rpo"))["policy"]
    inputs = {"observations": torch.zeros(100, 3)}
    calm, _ = policy.compute(inputs)
    shaken, _ = policy.compute({**inputs, "alpha": 0.5})
    moved = (shaken - calm).abs()
    assert 0.4 < moved.max() <= 0.5
    assert torch.equal(policy.mode(inputs)[0], calm)


def test_episodes_of_all_rows_are_told_apart_when_they_are_read_row_by_row():
    memory = episodes.RowByRow(memory_size=3, num_envs=2, device="cpu")
    memory.create_tensor(name="rewards", size=1, dtype=torch.float32)
    for t in range(3):
        memory.add_samples(rewards=torch.tensor([[t], [10.0 + t]]))
    (read, absent) = memory.sample_all(["rewards", "states"])[0]
    assert read.flatten().tolist() == [0, 1, 2, 10, 11, 12]
    assert absent is None


def test_first_actions_of_a_gradient_policy_hardly_depend_on_what_is_seen():
    policy = networks("skrl_ppo", rows("skrl_ppo"))["policy"]
    means = policy.mode({"observations": torch.randn(100, 3)})[0]
    assert means.abs().max() < 0.1
    assert (
        np.prod(models.perceptron(3, {"layers": [], "activation": "relu"}, 2)[0].weight.shape) == 6
    )
