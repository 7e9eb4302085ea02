"""A training in one YAML file: what to train on what, and the settings over the presets.

The keys are `algo`, `task`, and the sections `run`, `env` and `agent`; each may be left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srb_train import config, spelling
from srb_train.config import SECTIONS
from srb_train.errors import UnsupportedError, UsageError

_KEYS = ("algo", "task", *SECTIONS)
_ML_AGENTS = "behaviors"
_KEY = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, kw_only=True)
class TrainingFile:
    """What a file says; None where it says nothing."""

    algo: str | None = None
    env: str | None = None
    overrides: tuple[str, ...] = ()
    """Its sections as settings, as they would be typed."""


def read_training_file(path: Path) -> TrainingFile:
    """Read a training from a YAML file; what it may not hold is a `UsageError` that names it."""
    tree = config.read_file(path)
    if _ML_AGENTS in tree:
        raise UnsupportedError(
            f"{path} is a configuration of ML-Agents, and no family here reads it; "
            f"write one with {', '.join(_KEYS)}"
        )
    for key in tree:
        if key not in _KEYS:
            raise UsageError(f"{path}: {key} is not one of {', '.join(_KEYS)}{_near(key)}")
    return TrainingFile(
        algo=_text(path, tree, "algo"),
        env=_text(path, tree, "task"),
        overrides=tuple(
            setting for section in SECTIONS for setting in _settings(path, tree, section)
        ),
    )


def _near(key: str) -> str:
    return spelling.nearest(key, _KEYS)


def _text(path: Path, tree: Mapping[str, Any], key: str) -> str | None:
    value = tree.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{path}: {key}={value!r:.60} must be a name")
    return value


def _settings(path: Path, tree: Mapping[str, Any], section: str) -> Iterator[str]:
    values = tree.get(section) or {}
    if not isinstance(values, Mapping):
        hint = "; the task's name goes to `task`" if section == "env" else ""
        raise UsageError(f"{path}: {section}={values!r:.60} must hold keys with values{hint}")
    yield from typed(values, f"{path}: {section}", section)


def typed(tree: Mapping[str, Any], where: str, above: str) -> Iterator[str]:
    """Yield the settings of a tree as they would be typed: `agent.gamma=0.98`."""
    for key, value in tree.items():
        if not _KEY.fullmatch(key):
            raise UsageError(f"{where}.{key!r:.60} is no key")
        if isinstance(value, Mapping) and value:
            yield from typed(value, f"{where}.{key}", f"{above}.{key}")
        else:
            yield f"{above}.{key}={_word(value)}"


def _word(value: Any) -> str:
    """Write a value so that the reader of typed settings reads the same."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{','.join(map(_word, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{key}:{_word(inner)}' for key, inner in value.items())}}}"
    return repr(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    # A backslash matters to the reader only before a quote.
    escaped = re.sub(r"(\\*)'", lambda found: found[1] * 2 + "\\'", text)
    ending = re.search(r"\\*$", escaped)
    return f"'{escaped}{ending[0] if ending else ''}'"
