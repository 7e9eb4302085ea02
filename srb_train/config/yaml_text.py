"""Plain trees as YAML text that strict and lenient readers read alike, with a note per value.

A YAML 1.1 reader takes `1e-05` for text and `no` for false, others do not: floats are written with
a point, and text that could be anything else stands in quotes.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"))
_NOTE_COLUMN = 44


def dump(tree: Mapping[str, Any], notes: Mapping[str, str] | None = None) -> str:
    """Write a tree of mappings, lists and scalars; `notes` holds a remark by dotted key."""
    if not tree:
        return "{}\n"
    return "\n".join(_lines(tree, "", 0, notes or {})) + "\n"


def _lines(
    tree: Mapping[str, Any], above: str, depth: int, notes: Mapping[str, str]
) -> Iterator[str]:
    for key, value in tree.items():
        path = f"{above}{key}"
        head = f"{'  ' * depth}{scalar(key)}:"
        if isinstance(value, Mapping) and value:
            yield head
            yield from _lines(value, f"{path}.", depth + 1, notes)
        else:
            yield _noted(f"{head} {flow(value)}", notes.get(path))


def _noted(line: str, note: str | None) -> str:
    return line if note is None else f"{line:<{_NOTE_COLUMN}} # {note}"


def flow(value: Any) -> str:
    """Write a value on one line: `[64, 64]`, `{pi: [8]}`, `0.001`."""
    if isinstance(value, Mapping):
        inside = (f"{scalar(key)}: {flow(item)}" for key, item in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(flow(item) for item in value)}]"
    return scalar(value)


def scalar(value: Any) -> str:
    """Write one scalar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    return _text(str(value))


def _float(value: float) -> str:
    """Write the shortest digits that read back exactly, always with a point."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else "-.inf" if value < 0 else ".inf"
    digits, exponent, power = repr(value).partition("e")
    return f"{digits if '.' in digits else digits + '.0'}{exponent}{power}"


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
