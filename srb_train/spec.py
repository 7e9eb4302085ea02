"""What was asked of a run: one frozen value that goes to disk as spec.json and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from srb_train.errors import IntegrityError


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that decides how a run behaves; whoever holds it can repeat the run.

    `steps`, `checkpoint_every` and `log_every` count environment transitions over all copies.
    `steps` is a total: it means the same for a fresh run and for one that goes on.
    `resume_from` is a checkpoint folder (absolute, or relative to the run's folder) whose whole
    state is restored; `weights_from` is a framework's own file of which only the weights are.
    `notify` is a command that is told when the run ends.
    """

    algo: str
    env: str
    steps: int
    num_envs: int
    seed: int
    device: str = "cpu"
    threads: int = 1
    checkpoint_every: int
    keep_checkpoints: int = 3
    log_every: int
    nan_guard: bool = True
    save_replay: bool = True
    notify: str | Sequence[str] | None = None
    video: bool = False
    perf: bool = False
    resume_from: str | None = None
    weights_from: str | None = None
    env_params: Mapping[str, Any] = field(default_factory=dict)
    agent_params: Mapping[str, Any] = field(default_factory=dict)
    simulator: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `as_dict` gave; unknown or missing fields are an `IntegrityError`."""
        known = {item.name for item in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise IntegrityError(
                f"spec.json has fields this version does not know: {', '.join(unknown)}"
            )
        try:
            return cls(**data)
        except TypeError as error:
            raise IntegrityError(f"spec.json is incomplete: {error}") from error
