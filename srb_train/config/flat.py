"""Trees of plain values as dotted keys, and back."""

from collections.abc import Iterator, Mapping
from typing import Any


def flatten(
    tree: Mapping[str, Any], unions: Mapping[str, tuple[str, ...]], above: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value); a key that takes a mapping is not entered."""
    for name, value in tree.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and value and "mapping" not in unions.get(key, ()):
            yield from flatten(value, unions, f"{key}.")
        else:
            yield key, value


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys back into a tree; an open mapping keeps what lies below it."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *parents, name = key.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        if value != {} or name not in place:
            place[name] = dict(value) if isinstance(value, Mapping) else value
    return tree
