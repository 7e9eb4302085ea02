"""The networks, as skrl's mixins want them: a policy of each kind, values, critics.

Every policy also has `mode(inputs)`: the actions (N, A) it thinks best, and what it remembers.
Networks that learn by policy gradients begin orthogonal, as Andrychowicz et al. 2021
(arXiv:2006.05990) recommend, with a last layer so small that all first actions are alike.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from gymnasium import spaces
from skrl.models.torch import CategoricalMixin, DeterministicMixin, GaussianMixin, Model
from torch import nn
from torch.distributions import Normal

from srb_train.algos.skrl.bridge import Rows, bounds
from srb_train.errors import UnsupportedError

ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}
Inputs = Mapping[str, Any]
Plan = Mapping[str, Any]
"""Settings of one network: `layers`, `activation`, and what its kind adds."""
Output = tuple[torch.Tensor, dict[str, Any]]

_SMALL = 0.01


def perceptron(inputs: int, plan: Plan, outputs: int | None = None) -> nn.Sequential:
    """Return linear layers with activations between them; the last one is bare if it is sized."""
    widths = [inputs, *plan["layers"]]
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        parts += [nn.Linear(before, after), ACTIVATIONS[plan["activation"]]()]
    if outputs is not None:
        parts.append(nn.Linear(widths[-1], outputs))
    return nn.Sequential(*parts)


def orthogonal(net: nn.Module, gain: float = math.sqrt(2)) -> None:
    """Begin with orthogonal weights and no bias."""
    for layer in net.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)


class Trunk(nn.Module):
    """From observations to features; with a `hidden_size` through a GRU that remembers."""

    def __init__(self, inputs: int, plan: Plan, length: int) -> None:
        """Take the size of an observation and, for a GRU, the steps of a training sequence."""
        super().__init__()
        hidden = plan.get("hidden_size")
        self.gru = nn.GRU(inputs, hidden, plan["num_layers"], batch_first=True) if hidden else None
        self.length = length
        self.layers = perceptron(hidden or inputs, plan)
        self.width = [hidden or inputs, *plan["layers"]][-1]
        orthogonal(self.layers)

    def memory(self, num_envs: int) -> dict[str, Any]:
        """Return what skrl asks of a model: the sizes of its memories."""
        if self.gru is None:
            return {}
        sizes = [(self.gru.num_layers, num_envs, self.gru.hidden_size)]
        return {"rnn": {"sequence_length": self.length, "sizes": sizes}}

    def forward(self, inputs: Inputs) -> Output:
        """Return features (N, width) and the memories after this step.

        Where `terminated` is among the inputs, rows are whole sequences, one after the other.
        """
        obs = inputs["observations"]
        if self.gru is None:
            return self.layers(obs), {}
        if "terminated" in inputs:
            done = inputs["terminated"] | inputs["truncated"]
            out, hidden = self._replay(obs, inputs["rnn"][0], done)
        else:
            out, hidden = self.gru(obs.unsqueeze(1), inputs["rnn"][0])
        return self.layers(out.flatten(0, 1)), {"rnn": [hidden]}

    def _replay(
        self, obs: torch.Tensor, hidden: torch.Tensor, done: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Run sequences (B*L, D) again; a row that ended on the way goes on without memory."""
        assert self.gru is not None
        steps = obs.view(-1, self.length, obs.shape[-1])
        ended = done.view(-1, self.length)
        memory = hidden[:, :: self.length].contiguous()
        cuts = (ended[:, :-1].any(dim=0).nonzero().flatten() + 1).tolist()
        outs = []
        for start, stop in zip([0, *cuts], [*cuts, self.length], strict=True):
            out, memory = self.gru(steps[:, start:stop], memory)
            outs.append(out)
            memory = memory * ~ended[:, stop - 1, None]
        return torch.cat(outs, dim=1), memory


class GaussianPolicy(GaussianMixin, Model):
    """Normal actions in the bounds' own units, with deviations that do not depend on what is seen.

    With `alpha` among the inputs the mean is shaken by U(-alpha, alpha): robust policy
    optimization (Rahman and Xue 2022, arXiv:2212.07536, algorithm 1).
    """

    def __init__(self, rows: Rows, plan: Plan, length: int = 1) -> None:
        """Build the network for the rows' spaces."""
        Model.__init__(self, **_spaces(rows))
        GaussianMixin.__init__(
            self, min_log_std=plan["min_log_std"], max_log_std=plan["max_log_std"]
        )
        self.num_envs = rows.num_envs
        self.trunk = Trunk(self.num_observations, plan, length)
        self.mean = nn.Linear(self.trunk.width, self.num_actions)
        orthogonal(self.mean, _SMALL)
        initial = torch.full((self.num_actions,), float(plan["initial_log_std"]))
        self.log_std_parameter = nn.Parameter(initial)

    def get_specification(self) -> dict[str, Any]:
        """Tell skrl about memories."""
        return self.trunk.memory(self.num_envs)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return mean actions and the logarithm of their deviation."""
        features, outputs = self.trunk(inputs)
        mean = self.mean(features)
        if inputs.get("alpha"):
            mean = mean + torch.empty_like(mean).uniform_(-inputs["alpha"], inputs["alpha"])
        return mean, {**outputs, "log_std": self.log_std_parameter}

    def mode(self, inputs: Inputs) -> Output:
        """Return the mean actions."""
        return self.compute(inputs)


class CategoricalPolicy(CategoricalMixin, Model):
    """A choice among n actions."""

    def __init__(self, rows: Rows, plan: Plan, length: int = 1) -> None:
        """Build the network for the rows' spaces."""
        Model.__init__(self, **_spaces(rows))
        CategoricalMixin.__init__(self)
        self.num_envs = rows.num_envs
        self.trunk = Trunk(self.num_observations, plan, length)
        self.logits = nn.Linear(self.trunk.width, self.num_actions)
        orthogonal(self.logits, _SMALL)

    def get_specification(self) -> dict[str, Any]:
        """Tell skrl about memories."""
        return self.trunk.memory(self.num_envs)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return logits, and the probabilities p as the unit Gaussian of mean 2 sqrt(p).

        skrl's trust region knows Gaussians only. The divergence of two such ones is
        2 sum (sqrt(p) - sqrt(q))^2, which has the Fisher matrix of the choice itself.
        """
        features, outputs = self.trunk(inputs)
        logits = self.logits(features)
        root = 2.0 * torch.exp(0.5 * torch.log_softmax(logits, dim=-1))
        return logits, {**outputs, "mean_actions": root, "log_std": torch.zeros_like(root)}

    def mode(self, inputs: Inputs) -> Output:
        """Return the likeliest choices."""
        features, outputs = self.trunk(inputs)
        return self.logits(features).argmax(dim=1, keepdim=True), outputs


class SquashedPolicy(Model):
    """tanh of a Gaussian, stretched over the bounds (Haarnoja et al. 2018, arXiv:1801.01290, C).

    Its density is that of the action in [-1, 1], so that a target entropy means the same for
    every range of actions.
    """

    def __init__(self, rows: Rows, plan: Plan) -> None:
        """Build the network for the rows' spaces."""
        super().__init__(**_spaces(rows))
        self.range = Range(rows)
        self.least, self.most = plan["min_log_std"], plan["max_log_std"]
        self.net = perceptron(self.num_observations, plan, 2 * self.num_actions)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return the mean and the log deviation before squashing."""
        mean, log_std = self.net(inputs["observations"]).chunk(2, dim=-1)
        return mean, {"log_std": torch.clamp(log_std, self.least, self.most)}

    def act(self, inputs: Inputs, *, role: str = "") -> Output:
        """Draw actions; `log_prob` (N, 1) has the correction for the squashing."""
        mean, outputs = self.compute(inputs, role)
        normal = Normal(mean, outputs["log_std"].exp())
        raw = normal.rsample()
        # log(1 - tanh(u)^2) without its overflow.
        squashing = 2.0 * (math.log(2.0) - raw - F.softplus(-2.0 * raw))
        outputs["log_prob"] = (normal.log_prob(raw) - squashing).sum(dim=-1, keepdim=True)
        return self.range.stretch(torch.tanh(raw)), outputs

    def random_act(self, inputs: Inputs, *, role: str = "") -> Output:
        """Draw uniform actions; skrl's own draws the same ones at every step."""
        return self.range.uniform(len(inputs["observations"])), {}

    def mode(self, inputs: Inputs) -> Output:
        """Return the action that the mean becomes."""
        mean, outputs = self.compute(inputs)
        return self.range.stretch(torch.tanh(mean)), outputs


class DeterministicPolicy(DeterministicMixin, Model):
    """tanh stretched over the bounds."""

    def __init__(self, rows: Rows, plan: Plan) -> None:
        """Build the network for the rows' spaces."""
        Model.__init__(self, **_spaces(rows))
        DeterministicMixin.__init__(self)
        self.range = Range(rows)
        self.net = perceptron(self.num_observations, plan, self.num_actions)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return actions."""
        return self.range.stretch(torch.tanh(self.net(inputs["observations"]))), {}

    def random_act(self, inputs: Inputs, *, role: str = "") -> Output:
        """Draw uniform actions; skrl's own draws the same ones at every step."""
        drawn = self.range.uniform(len(inputs["observations"]))
        return drawn, {}

    def mode(self, inputs: Inputs) -> Output:
        """Return actions."""
        return self.compute(inputs)


class Critic(DeterministicMixin, Model):
    """The worth of an action, which it sees in units of the bounds."""

    def __init__(self, rows: Rows, plan: Plan) -> None:
        """Build the network for the rows' spaces."""
        Model.__init__(self, **_spaces(rows))
        DeterministicMixin.__init__(self)
        self.range = Range(rows)
        self.net = perceptron(self.num_observations + self.num_actions, plan, 1)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return values (N, 1)."""
        actions = self.range.shrink(inputs["taken_actions"])
        return self.net(torch.cat([inputs["observations"], actions], dim=1)), {}


class QNetwork(DeterministicMixin, Model):
    """The worth of each of n actions."""

    def __init__(self, rows: Rows, plan: Plan) -> None:
        """Build the network for the rows' spaces."""
        Model.__init__(self, **_spaces(rows))
        DeterministicMixin.__init__(self)
        self.net = perceptron(self.num_observations, plan, self.num_actions)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return values (N, n)."""
        return self.net(inputs["observations"]), {}

    def random_act(self, inputs: Inputs, *, role: str = "") -> Output:
        """Draw uniform choices; skrl's own draws the same ones at every step."""
        shape = (len(inputs["observations"]), 1)
        return torch.randint(self.num_actions, shape, device=self.device), {}

    def mode(self, inputs: Inputs) -> Output:
        """Return the best choices."""
        values, outputs = self.compute(inputs)
        return values.argmax(dim=1, keepdim=True), outputs


class Value(DeterministicMixin, Model):
    """The worth of what is seen, by an actor and besides, where there is more, by a critic."""

    def __init__(self, rows: Rows, plan: Plan, length: int = 1) -> None:
        """Build the network for the rows' spaces."""
        Model.__init__(self, **_spaces(rows))
        DeterministicMixin.__init__(self)
        self.num_envs = rows.num_envs
        self.trunk = Trunk(self.num_observations + self.num_states, plan, length)
        self.value = nn.Linear(self.trunk.width, 1)
        orthogonal(self.value, 1.0)

    def get_specification(self) -> dict[str, Any]:
        """Tell skrl about memories."""
        return self.trunk.memory(self.num_envs)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return values (N, 1)."""
        if inputs.get("states") is not None:
            both = torch.cat([inputs["observations"], inputs["states"]], dim=1)
            inputs = {**inputs, "observations": both}
        features, outputs = self.trunk(inputs)
        return self.value(features), outputs


class Discriminator(DeterministicMixin, Model):
    """How much a pair of observations looks like the reference; its last layer is regularized."""

    def __init__(self, space: spaces.Box, plan: Plan, device: torch.device) -> None:
        """Build the network for pairs of observations, (2 D,)."""
        Model.__init__(self, observation_space=space, device=device)
        DeterministicMixin.__init__(self)
        self.net = perceptron(self.num_observations, plan, 1)

    def compute(self, inputs: Inputs, role: str = "") -> Output:
        """Return logits (N, 1)."""
        return self.net(inputs["observations"]), {}


class Range(nn.Module):
    """Between actions in [-1, 1] and those within finite bounds."""

    def __init__(self, rows: Rows) -> None:
        """Take the bounds of the rows' actions."""
        super().__init__()
        low, high = bounds(rows.action_space, rows.device)
        if not bool(torch.isfinite(high - low).all()):
            raise UnsupportedError(
                f"actions must have finite bounds, this task has {rows.action_space}: "
                "rescale its actions to [-1, 1] where the environment is defined"
            )
        self.register_buffer("middle", (high + low) / 2, persistent=False)
        self.register_buffer("reach", (high - low) / 2, persistent=False)

    def stretch(self, unit: torch.Tensor) -> torch.Tensor:
        """Return actions within the bounds."""
        return unit * self.reach + self.middle

    def shrink(self, actions: torch.Tensor) -> torch.Tensor:
        """Return actions in [-1, 1]."""
        return (actions - self.middle) / self.reach

    def uniform(self, count: int) -> torch.Tensor:
        """Draw actions (count, A)."""
        shape = (count, len(self.reach))
        return self.stretch(2.0 * torch.rand(shape, device=self.reach.device) - 1.0)


def _spaces(rows: Rows) -> dict[str, Any]:
    return {
        "observation_space": rows.observation_space,
        "state_space": rows.state_space,
        "action_space": rows.action_space,
        "device": rows.device,
    }
