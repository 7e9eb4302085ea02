"""The types of configuration values by name, and the conversions that are harmless between them.

An integral float goes for an integer (`1e6`) and an integer for a float; a truth value is neither.
Numbers are finite and integers fit 64 bits, so that every record can hold them.
"""

import math
from collections.abc import Mapping
from typing import Any

SCALARS = ("bool", "int", "float", "str", "null")


def kind_of(value: Any) -> str:
    """Name the type of a plain value."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "mapping"
    return type(value).__name__


def fit(value: Any, kinds: tuple[str, ...], default: Any) -> Any:
    """Convert a value to one of the kinds; `ValueError` holds the reason when none fits."""
    kind = kind_of(value)
    if kind == "list" and "list" in kinds:
        return _fit_list(value, default)
    if kind in ("int", "float"):
        return _fit_number(value, kinds)
    if kind == "str" and "float" in kinds and "bool" not in kinds:
        return _number_in(value, kinds)
    if kind == "mapping" and "mapping" in kinds:
        return {name: fit(item, (*SCALARS, "list"), []) for name, item in value.items()}
    if kind not in kinds:
        raise ValueError("cannot be null" if value is None else f"is {kind}")
    return value


def _fit_list(value: list[Any], default: Any) -> list[Any]:
    example = default[0] if isinstance(default, list) and default else None
    kinds = SCALARS if example is None else (kind_of(example),)
    try:
        return [fit(item, kinds, example) for item in value]
    except ValueError as reason:
        raise ValueError(f"has an element that {reason}, not {' or '.join(kinds)}") from None


def _fit_number(value: int | float, kinds: tuple[str, ...]) -> int | float:
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("does not fit 64 bits")
    if not math.isfinite(value):
        raise ValueError("is not finite")
    if isinstance(value, float) and "float" not in kinds and "int" in kinds:
        if not value.is_integer():
            raise ValueError("is not a whole number")
        return _fit_number(int(value), kinds)
    if isinstance(value, int) and "int" not in kinds and "float" in kinds:
        return float(value)
    if kind_of(value) not in kinds:
        raise ValueError(f"is {kind_of(value)}")
    return value


def _number_in(value: str, kinds: tuple[str, ...]) -> str | float:
    """Read `"1e-4"` in quotes as the number it is, where a key takes numbers and text."""
    if "str" not in kinds:
        raise ValueError("is str")
    try:
        number = float(value)
    except ValueError:
        return value
    return _fit_number(number, kinds)
