"""From the arguments of a tool to what an operation is asked for.

Some words of the contract belong to tasks that an engine runs (`env_path`, `no_graphics`,
`time_scale`, `base_port`, `behavior_name`). They are passed on where a backend takes them; else
the refusal says what to do instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srb_train import operations
from srb_train.errors import UnsupportedError, UsageError
from srb_train.operations import TrainRequest
from srb_train.operations.reach import Reach
from srb_train.operations.settings import typed_settings
from srb_train.operations.training_file import TrainingFile, read_training_file

ENGINE = "unity"
"""The backend whose tasks are executables."""
_INSTEAD = {
    "no_graphics": "it draws nothing while it trains",
    "time_scale": "its clock runs as fast as the machine can",
    "base_port": "it opens no port",
}


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody wants trained; None where nothing was said."""

    config_path: str | None = None
    algo: str | None = None
    env: str | None = None
    overrides: Sequence[str] = ()
    num_envs: int | None = None
    device: str | None = None
    seed: int | None = None
    env_path: str | None = None
    after: str | None = None
    engine: dict[str, Any] = field(default_factory=dict)
    """`no_graphics`, `time_scale` and `base_port` as they were given."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where settings come from besides the arguments."""

    path: Path | None = None
    file: TrainingFile = field(default_factory=TrainingFile)
    presets: Path | None = None


def train_request(wish: Wish, reach: Reach, command: tuple[str, ...]) -> TrainRequest:
    """Return the request that a wish means; what is missing or cannot be is an error."""
    source = source_of(wish.config_path, reach)
    algo = wish.algo or source.file.algo
    env = _task(wish) or source.file.env
    if algo is None or env is None:
        missing = " and ".join(name for name, got in (("algo", algo), ("env", env)) if got is None)
        where = "" if source.path is None else f", and {source.path} names none"
        raise UsageError(
            f"say {missing}, such as algo='sb3_ppo' env='landing'{where}; the resources "
            "catalog://labels and catalog://tasks list them"
        )
    return TrainRequest(
        algo=algo,
        env=env,
        overrides=(*source.file.overrides, *settings(wish.overrides, wish.num_envs, None)),
        config_dir=source.presets,
        logdir=reach.logs,
        seed=None if wish.seed == -1 else wish.seed,
        device=wish.device,
        simulator=engine_options(wish.engine, env),
        after=None if wish.after is None else str(reach.run(wish.after).path),
        command=command,
    )


def source_of(config_path: str | None, reach: Reach) -> Source:
    """Read a training file, or take a folder of presets, below a config root."""
    if config_path is None:
        return Source()
    path = reach.config(config_path, folder=True)
    if path.is_dir():
        return Source(path=path, presets=path)
    return Source(path=path, file=read_training_file(path))


def settings(overrides: Sequence[str], num_envs: int | None, device: str | None) -> tuple[str, ...]:
    """Return settings as they would be typed, the arguments' own ones last."""
    more = [f"env.num_envs={num_envs}"] if num_envs is not None else []
    more += [f"run.device={device}"] if device is not None else []
    return (*typed_settings(overrides), *more)


def engine_options(given: dict[str, Any], env: str) -> dict[str, Any]:
    """Return the options that the backend of a task takes; any other one is refused."""
    asked = {name: value for name, value in given.items() if value not in (None, False)}
    taken = _backend_options(env) if asked else set()
    for name in asked:
        if name not in taken:
            raise UnsupportedError(
                f"{name}: no engine runs the task {env}, {_INSTEAD[name]}; leave {name} out"
            )
    return asked


def refuse_behavior(behavior_name: str | None) -> None:
    """Refuse to tell behaviours apart where a run trains one policy."""
    if behavior_name is not None:
        raise UnsupportedError(
            f"behavior_name={behavior_name!r:.60}: a run here trains one policy; leave it out, "
            "and name metrics with metric_keys"
        )


def _task(wish: Wish) -> str | None:
    if wish.env_path is None:
        return wish.env
    if wish.env is not None:
        raise UsageError("env and env_path name a task each: give one of them")
    if not any(row["backend"] == ENGINE for row in operations.envs()):
        raise UnsupportedError(
            f"env_path={wish.env_path!r:.100}: nothing here runs executables of an engine; pass "
            "env, such as 'landing' or 'gymnasium/CartPole-v1' (resource catalog://tasks)"
        )
    return f"{ENGINE}/{wish.env_path}"


def _backend_options(env: str) -> set[str]:
    for row in operations.envs():
        prefix, _, name = str(row["task"]).partition("/")
        if row["task"] == env or (name.startswith("<") and env.startswith(f"{prefix}/")):
            return set(row["simulator_options"])
    return set()
