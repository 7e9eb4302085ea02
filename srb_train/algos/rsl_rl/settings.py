"""What can be checked and computed about this family's settings without importing it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from srb_train import spelling
from srb_train.algos.rsl_rl import teacher
from srb_train.errors import UsageError

RECURRENT = "rsl_rl_ppo_rnn"
DISTILLATION = "rsl_rl_distillation"
AUTO = "auto"
MINIBATCHES = 4
"""Into how many minibatches at most a rollout is cut where `num_mini_batches` is null."""
GRADIENT_LENGTH = 8
"""Steps at most between two gradient steps of a student where `gradient_length` is null."""

SETS = {
    "rsl_rl_ppo": ("actor", "critic"),
    RECURRENT: ("actor", "critic"),
    DISTILLATION: ("student", "teacher"),
}
"""What rsl_rl calls the networks of a label, and so the sets of their observations."""
MODELS = {
    "rsl_rl_ppo": (AUTO, "MLPModel", "CNNModel"),
    RECURRENT: ("RNNModel",),
    DISTILLATION: (AUTO, "MLPModel", "CNNModel"),
}
DISTRIBUTIONS = ("GaussianDistribution", "HeteroscedasticGaussianDistribution", "BetaDistribution")

UNIONS: Mapping[str, tuple[str, ...]] = {
    "algorithm.num_mini_batches": ("int",),
    "algorithm.gradient_length": ("int",),
    "teacher": ("str",),
    "teacher_model": ("mapping",),
    **{f"obs_groups.{name}": ("list",) for names in SETS.values() for name in names},
}

STRUCTURAL = frozenset(
    {
        "actor",
        "critic",
        "student",
        "teacher",
        "teacher_model",
        "obs_groups",
        "algorithm.optimizer",
    }
)

SMOKE: Mapping[str, Any] = {
    "num_steps_per_env": 16,
    "algorithm": {"num_learning_epochs": 2, "num_mini_batches": 2, "gradient_length": 8},
}
"""What makes a run of any label take seconds."""

_CHOICES: Mapping[str, Sequence[str]] = {
    "activation": (
        "elu",
        "selu",
        "relu",
        "crelu",
        "lrelu",
        "tanh",
        "sigmoid",
        "softplus",
        "gelu",
        "swish",
        "mish",
        "identity",
    ),
    "loss_type": ("mse", "huber"),
    "optimizer": ("adam", "adamw", "sgd", "rmsprop"),
    "rnn_type": ("lstm", "gru"),
    "schedule": ("adaptive", "fixed"),
    "std_type": ("scalar", "log"),
}
"""Names that rsl_rl knows, by the last part of the key."""
_AT_LEAST_ONE = (
    "num_steps_per_env",
    "num_learning_epochs",
    "num_mini_batches",
    "gradient_length",
    "rnn_hidden_dim",
    "rnn_num_layers",
)
_ABOVE_ZERO = ("desired_kl", "init_std", "max_grad_norm")
_FRACTIONS = ("gamma", "lam")
_FARTHEST = 10_000
"""How far around a value that does not fit one that does is looked for."""


def settle(label: str, agent: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Return `agent` with computed values filled in; a `UsageError` shows what does not fit."""
    own = {key: value for key, value in agent.items() if key != "teacher_model"}
    for key, value in _leaves(own):
        _check(label, key, value)
    algorithm = dict(agent["algorithm"])
    if label == DISTILLATION:
        algorithm["gradient_length"] = _gradient_length(agent)
        return {**agent, "algorithm": algorithm, **teacher.settle(agent)}
    algorithm["num_mini_batches"] = _minibatches(label, agent, num_envs)
    return {**agent, "algorithm": algorithm}


def rollout(label: str, agent: Mapping[str, Any], num_envs: int) -> int:
    """Return the transitions between two boundaries."""
    return int(agent["num_steps_per_env"]) * num_envs


def _leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value that is set, by dotted key."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{name}.")
        elif value is not None:
            yield f"{above}{name}", value


def _check(label: str, key: str, value: Any) -> None:
    """Refuse a value that rsl_rl would not take, or would take for something else."""
    section, _, name = key.rpartition(".")
    known = _CHOICES.get(name)
    if name == "class_name":
        # rsl_rl would import whatever this names, from anywhere.
        known = DISTRIBUTIONS if section.endswith("distribution_cfg") else MODELS[label]
    if known is not None and value not in known:
        raise spelling.not_one_of(f"agent.{key}", value, known)
    if name in _AT_LEAST_ONE and value < 1:
        raise UsageError(f"agent.{key}={value} must be at least 1")
    if name in _ABOVE_ZERO and value <= 0:
        raise UsageError(f"agent.{key}={value} must be above 0")
    if name in _FRACTIONS and not 0 <= value <= 1:
        raise UsageError(f"agent.{key}={value} must lie between 0 and 1")
    if isinstance(value, list):
        _check_list(key, value)


def _check_list(key: str, values: list[Any]) -> None:
    name = key.rpartition(".")[2]
    if not values:
        raise UsageError(f"agent.{key}=[] names nothing; null or a list with something in it")
    if name in ("hidden_dims", "output_channels", "kernel_size", "stride") and min(values) < 1:
        raise UsageError(f"agent.{key}={values}: each must be at least 1")
    if name == "std_range" and not (len(values) == 2 and 0 < values[0] < values[1]):
        raise UsageError(f"agent.{key}={values} must be two numbers above 0, the smaller first")


def _minibatches(label: str, agent: Mapping[str, Any], num_envs: int) -> int:
    """Return the number of minibatches; rsl_rl would drop what is left over without a word."""
    steps, wanted = agent["num_steps_per_env"], agent["algorithm"]["num_mini_batches"]

    def fits(parts: int, steps: int = steps, envs: int = num_envs) -> bool:
        # A minibatch of the recurrent label is whole rollouts of some environments, and rsl_rl
        # confuses the time steps of a minibatch that has only one of them.
        size = envs if label == RECURRENT else steps * envs
        return size % parts == 0 and size // parts >= 2

    if not fits(1):
        least = "env.num_envs" if label == RECURRENT else "agent.num_steps_per_env x env.num_envs"
        raise UsageError(f"{least}={num_envs} is too small: an update of {label} needs at least 2")
    if wanted is None:
        return next(parts for parts in range(MINIBATCHES, 0, -1) if fits(parts))
    if fits(wanted):
        return int(wanted)
    lines = [
        _uncut(label, steps, num_envs, wanted),
        "nearest values that fit, one of them suffices:",
        f"  agent.algorithm.num_mini_batches={_nearest(wanted, fits)}, or null to have it computed",
        f"  env.num_envs={_nearest(num_envs, lambda envs: fits(wanted, envs=envs))}",
    ]
    if label != RECURRENT:
        found = _nearest(steps, lambda each: fits(wanted, steps=each))
        lines.append(f"  agent.num_steps_per_env={found}")
    raise UsageError("\n".join(lines))


def _uncut(label: str, steps: int, num_envs: int, parts: int) -> str:
    """Say why a rollout cannot be cut into `parts` minibatches."""
    if label == RECURRENT:
        what, size = f"env.num_envs={num_envs:,}", num_envs
    else:
        size = steps * num_envs
        what = (
            f"agent.num_steps_per_env={steps:,} x env.num_envs={num_envs:,} = {size:,} transitions"
        )
    return (
        f"agent.algorithm.num_mini_batches={parts:,} does not cut a rollout into equal minibatches "
        f"of at least 2:\n  {what} = {parts:,} x {size // parts:,} + {size % parts:,}"
    )


def _gradient_length(agent: Mapping[str, Any]) -> int:
    """Return the steps between two gradient steps; rsl_rl would never learn from the remainder."""
    epochs, steps = agent["algorithm"]["num_learning_epochs"], agent["num_steps_per_env"]
    total, wanted = epochs * steps, agent["algorithm"]["gradient_length"]
    if wanted is None:
        return max(each for each in range(1, GRADIENT_LENGTH + 1) if total % each == 0)
    if total % wanted == 0:
        return int(wanted)
    raise UsageError(
        f"agent.algorithm.gradient_length={wanted} does not divide "
        f"agent.algorithm.num_learning_epochs={epochs} x agent.num_steps_per_env={steps} = "
        f"{total:,} steps; nearest that do: "
        f"{_nearest(wanted, lambda each: total % each == 0)}, or null to have it computed"
    )


def _nearest(wanted: int, fits: Callable[[int], bool]) -> str:
    """Return the values around `wanted` that fit as text."""
    below = next((each for each in range(wanted - 1, 0, -1) if fits(each)), None)
    above = next((each for each in range(wanted + 1, wanted + _FARTHEST) if fits(each)), None)
    return " or ".join(str(each) for each in (below, above) if each is not None)
