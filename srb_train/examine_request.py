"""What an examining child is asked for: one frozen value that goes to it as a JSON file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from srb_train.runs import files

FACTS, RATES, CHECK = "facts", "rates", "check"


@dataclass(frozen=True, kw_only=True)
class ExamineRequest:
    """Which task to look at, what for, and where to write the answer."""

    what: str
    """"facts", "rates" or "check"."""
    env: str
    env_params: Mapping[str, Any] = field(default_factory=dict)
    copies: Sequence[int] = ()
    seconds: float = 1.0
    """How long to measure at each number of copies."""
    frame: str | None = None
    """Where to save a picture."""
    output: str

    def write(self, path: Path) -> None:
        """Write the request for a child."""
        files.write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` wrote."""
        return cls(**files.read_json(path))
