"""Read and change a user's own YAML file, for every door."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from srb_train import config, redact
from srb_train.errors import UsageError


def get_config(path: Path) -> dict[str, Any]:
    """Return what a YAML file holds, secrets masked."""
    return {"path": str(path.absolute()), "config": _shown(config.read_file(path))}


def update_config(path: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Deep-merge `changes` into a YAML file; comments and order stay; the file appears whole."""
    if not changes:
        raise UsageError("nothing to change: name keys with values, as in agent.gamma=0.98")
    return {"path": str(path.absolute()), "config": _shown(config.update_file(path, changes))}


def typed_changes(words: Sequence[str]) -> dict[str, Any]:
    """Return `a.b=1` words as a tree; values are read as YAML."""
    tree: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not all(key.split(".")):
            raise UsageError(f"{word!r} sets no key: write it as agent.gamma=0.98")
        *above, last = key.split(".")
        place = tree
        for part in above:
            below = place.setdefault(part, {})
            if not isinstance(below, dict):
                raise UsageError(f"{word!r}: {part} has a value of its own on this line")
            place = below
        place[last] = config.typed_value(text)
    return tree


def _shown(tree: Mapping[str, Any]) -> dict[str, Any]:
    return dict(redact.tree(dict(tree), redact.known(os.environ)))
