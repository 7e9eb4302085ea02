"""Which names are secret: the one predicate, and the words it and its neighbours go by."""

import re
from functools import lru_cache
from typing import Any

MASK = "<redacted>"


def words(listed: str) -> frozenset[str]:
    """Return the set of the words that a line lists."""
    return frozenset(listed.split())


_SECRET_WORDS = words(
    "accesskey apikey auth authorization bearer cookie cookies credential credentials dsn "
    "passphrase passwd password passwords pat privatekey secret secrets token"
)
_SECRET_ENDINGS = tuple(
    words("accesskey accesstoken apikey authtoken passphrase passwd password privatekey secretkey")
)
_KEY_OWNERS = words(
    "access account anthropic api auth aws azure client comet deploy encryption gcp github gitlab "
    "hf license master neptune ngc openai private secret service session shared signing ssh "
    "subscription wandb"
)
_MEASURES = words("budget count dim dims len length limit max min n num size")
_SEGMENT = re.compile(r"[0-9A-Za-z_-]+")
_WORD_BORDER = re.compile(r"[_-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_REMEMBERED = 128
_REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


def is_secret_key(name: str) -> bool:
    """Tell whether a value of this name is a secret: one of its segments names a secret."""
    return any(
        _remembered(segment) if len(segment) <= _LONGEST_REMEMBERED else _is_secret_segment(segment)
        for segment in _SEGMENT.findall(name)
    )


def _is_secret_segment(segment: str) -> bool:
    parts = (part.rstrip("0123456789").lower() for part in _WORD_BORDER.split(segment))
    words = [word for word in parts if word]
    found = _SECRET_WORDS.intersection(words)
    if found == {"token"} and _MEASURES.intersection(words):
        return False  # token_dim and its like are sizes of a network
    if found or "".join(words).endswith(_SECRET_ENDINGS):
        return True
    if len(words) > 1:
        return (words[-1] == "key" and words[-2] in _KEY_OWNERS) or words[-1] == "pwd"
    return segment.strip("-_").lower() == "key"


_remembered = lru_cache(maxsize=1024)(_is_secret_segment)


def reference(value: Any) -> str | None:
    """Return NAME when `value` is `env:NAME`, which says where a secret is without being it."""
    found = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else None
