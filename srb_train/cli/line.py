"""The command line as a person types it, before it is parsed."""

from collections.abc import Sequence
from dataclasses import dataclass

from srb_train import redact
from srb_train.errors import UsageError

SHELLS = ("ptpython", "bpython")
ANY_SHELL = "any"
_DEBUG = "--debug"
_REPL = "--repl"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A command line as it was typed, and the words of it that the parser takes."""

    typed: tuple[str, ...]
    words: tuple[str, ...]
    debug: bool


def read(typed: Sequence[str]) -> Line:
    """Take out `--debug`, which stands anywhere, and give a bare `--repl` its value."""
    words = [_with_value(typed, place) for place in range(len(typed))]
    return Line(
        typed=tuple(typed),
        words=tuple(word for word in words if word != _DEBUG),
        debug=_DEBUG in typed,
    )


def _with_value(typed: Sequence[str], place: int) -> str:
    following = typed[place + 1] if place + 1 < len(typed) else ""
    bare = typed[place] == _REPL and following not in SHELLS
    return f"{_REPL}={ANY_SHELL}" if bare else typed[place]


def refuse_forwarding(line: Line) -> None:
    """Refuse words after `--`: no program behind this one would take them."""
    if "--" in line.typed:
        after = " ".join(redact.arguments(line.typed[line.typed.index("--") + 1 :]))
        raise UsageError(f"nothing can be forwarded with `--`: leave out `-- {after}`")


def same_spelling(name: str) -> str:
    """Make `hide-ui` and `hide_ui` one name."""
    return name.replace("-", "_")
