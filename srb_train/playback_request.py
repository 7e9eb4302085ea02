"""What a playing child is asked for: one frozen value that goes to it as a JSON file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from srb_train.runs import files

ZERO, RANDOM, CHECKPOINT = "zero", "rand", "checkpoint"


@dataclass(frozen=True, kw_only=True)
class View:
    """How a person wants to watch."""

    where: str | None
    """"window", "browser" or "file"; None for what the surroundings allow."""
    episodes: int | None
    """None for as many as the person stays for."""
    speed: float
    """Multiple of real time."""
    port: int
    """Of the browser's page."""
    film: str | None = None
    """The file; only of "file"."""


@dataclass(frozen=True, kw_only=True)
class PlayRequest:
    """What to play and where to write it; goes to the child as a JSON file."""

    who: str
    """"zero", "rand" or "checkpoint"."""
    env: str
    env_params: Mapping[str, Any] = field(default_factory=dict)
    num_envs: int
    episodes: int
    seed: int
    threads: int = 1
    checkpoint: str | None = None
    spec: Mapping[str, Any] | None = None
    """The spec of the run that the checkpoint belongs to."""
    video: str | None = None
    view: View | None = None
    """How to show it to a person, instead of counting `episodes` as fast as possible."""
    output: str

    def write(self, path: Path) -> None:
        """Write the request for a child."""
        files.write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote."""
        data = files.read_json(path)
        view = data.pop("view")
        return cls(**data, view=View(**view) if view else None)
