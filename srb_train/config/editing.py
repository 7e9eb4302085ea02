"""A person's own YAML file, read and changed without losing comments, order or quotes."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from srb_train.errors import UsageError
from srb_train.runs import files

_WIDTH = 4096
"""Characters a line may have before it would be folded."""


def read(path: Path) -> dict[str, Any]:
    """Return what a YAML file holds as plain data."""
    plain = _plain(_loaded(path))
    assert isinstance(plain, dict)
    return plain


def update(path: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `changes` over a file key by key and write it whole; returns what it holds now.

    A mapping goes into the mapping that is there; anything else takes the place of what was there.
    """
    tree = _loaded(path)
    _lay(tree, changes)
    files.write_text(path, _text(tree))
    return read(path)


def parse(text: str) -> Any:
    """Read one YAML value that was typed."""
    try:
        return _plain(YAML(typ="safe", pure=True).load(text))
    except YAMLError as error:
        raise UsageError(f"{text!r} is no YAML value: {_said(error)}") from error


def _loaded(path: Path) -> CommentedMap:
    if not path.is_file():
        raise UsageError(f"{path}: no such file{_beside(path)}")
    try:
        tree = _yaml().load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not YAML: {_said(error)}") from error
    if tree is None:
        return CommentedMap()
    if not isinstance(tree, CommentedMap):
        raise UsageError(f"{path} must hold keys with values")
    return tree


def _yaml() -> YAML:
    yaml = YAML(pure=True)
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _text(tree: CommentedMap) -> str:
    written = StringIO()
    _yaml().dump(tree, written)
    return written.getvalue()


def _lay(tree: CommentedMap, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        there = tree.get(key)
        if isinstance(value, Mapping) and isinstance(there, CommentedMap):
            _lay(there, value)
        else:
            tree[key] = value


def _plain(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {str(key): _plain(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_plain(value) for value in tree]
    if isinstance(tree, bool) or tree is None:
        return tree
    if isinstance(tree, int):
        return int(tree)
    return float(tree) if isinstance(tree, float) else str(tree)


def _beside(path: Path) -> str:
    known = sorted(each.name for each in path.parent.glob("*.y*ml")) if path.parent.exists() else []
    return f"; beside it: {', '.join(known[:8])}" if known else ""


def _said(error: Exception) -> str:
    if isinstance(error, MarkedYAMLError):
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"{error.problem}{line}"
    return str(error).splitlines()[0]
