"""What someone may have meant by a word that is not known, as messages say it."""

import difflib
from collections.abc import Iterable

from srb_train.errors import UsageError


def nearest(word: object, known: Iterable[str], *, most: int = 1, cutoff: float = 0.5) -> str:
    """Return ` (nearest: a, b)` for a misspelt word, or nothing when no name is close."""
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower(), names, n=most, cutoff=cutoff)
    return f" (nearest: {', '.join(names[name] for name in close)})" if close else ""


def not_one_of(key: str, value: object, known: Iterable[str]) -> UsageError:
    """Return the error of a setting that none of the known words is; it names the nearest."""
    words = list(known)
    near = nearest(value, words, cutoff=0.4)
    return UsageError(f"{key}={value!r} is not one of {', '.join(words)}{near}")
