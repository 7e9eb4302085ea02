"""From the keys of a preset to a task's frozen settings."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from srb_train import spelling
from srb_train.errors import UsageError

Settings = TypeVar("Settings")


def build(kind: type[Settings], given: Mapping[str, Any], section: str = "env") -> Settings:
    """Return a dataclass of `kind`; raise `UsageError` for a key that it does not have."""
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in given:
        if key not in known:
            near = spelling.nearest(key, known)
            there = f"there are {', '.join(sorted(known))}"
            raise UsageError(f"{section}.{key}: no such setting{near}; {there}")
    return kind(**given)
