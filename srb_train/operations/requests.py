"""What the doors ask for: plain frozen values, the same from a shell, a script, an assistant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """A wish to train; `None` means that nothing was said."""

    algo: str
    env: str
    overrides: tuple[str, ...] = ()
    config_dir: Path | None = None
    logdir: Path | None = None
    seed: int | None = None
    device: str | None = None
    continue_training: bool = False
    model: str | None = None
    additional: int | None = None
    after: str | None = None
    """A run that must be completed before this one begins."""
    smoke: bool = False
    video: bool = False
    perf: bool = False
    simulator: Mapping[str, Any] = field(default_factory=dict)
    """Simulator-only options that were given, by their names without dashes."""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EvalRequest:
    """A wish to see a checkpoint, or zero or random actions, at work."""

    algo: str | None = None
    env: str | None = None
    model: str | None = None
    run: str | None = None
    logdir: Path | None = None
    episodes: int = 200
    seed: int | None = None
    num_envs: int | None = None
    device: str | None = None
    video: bool = False
    out: Path | None = None
    overrides: tuple[str, ...] = ()
    config_dir: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ViewRequest:
    """A wish to watch a checkpoint, or zero or random actions, in real time or as a film."""

    algo: str | None = None
    env: str | None = None
    model: str | None = None
    run: str | None = None
    policy: str | None = None
    """"zero" or "random", in the place of a checkpoint."""
    logdir: Path | None = None
    viewer: str | None = None
    """"window", "browser" or "file"; None for what the surroundings allow."""
    out: Path | None = None
    episodes: int | None = None
    num_envs: int | None = None
    speed: float = 1.0
    port: int = 8080
    seed: int | None = None
    device: str | None = None
    overrides: tuple[str, ...] = ()
    config_dir: Path | None = None
