"""How numbers look on a terminal: durations, rates, counts, and a history as a row of bars."""

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.-=+*%#"
_UNKNOWN = "-"


def duration(seconds: float | None) -> str:
    """Return `42 s`, `3:07` or `2:05:09`; `-` where it is unknown."""
    if seconds is None:
        return _UNKNOWN
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number(value: float | None) -> str:
    """Return a measured value with about four significant digits."""
    if value is None:
        return _UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def count(value: int | None) -> str:
    """Return a count with its thousands apart."""
    return _UNKNOWN if value is None else f"{value:,}"


def rate(value: float | None) -> str:
    """Return a speed in transitions a second."""
    return _UNKNOWN if value is None else f"{value:,.0f} steps/s"


def size(value: int) -> str:
    """Return a number of bytes in decimal units."""
    amount = float(value)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} GB"


def gauge(share: float, width: int, *, ascii_only: bool = False) -> str:
    """Draw a share, 0 to 1, as `width` characters."""
    done, rest = ("#", ".") if ascii_only else ("█", "░")
    full = int(share * width)
    return done * full + rest * (width - full)


def bars(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """Draw a history as at most `width` characters, lowest to highest; empty for no values.

    Each character stands for the mean of its share of the values.
    """
    shades = _ASCII_BARS if ascii_only else _BARS
    columns = min(width, len(values))
    means = []
    for column in range(columns):
        share = values[column * len(values) // columns : (column + 1) * len(values) // columns]
        means.append(sum(share) / len(share))
    low, high = min(means, default=0.0), max(means, default=0.0)
    if high == low:
        return shades[len(shades) // 2] * columns
    top = len(shades) - 1
    return "".join(shades[round((mean - low) / (high - low) * top)] for mean in means)
