"""What a secret looks like: the only package that knows, called wherever text leaves.

Two things make a secret: its name (`api_key`, `--token`, `Authorization`) or its shape (a URL with
a password, `Bearer ...`, a vendor's key). Every function is pure, gives the same when applied
again, and raises on no string. `also` names literal values that are masked wherever they stand.
"""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from srb_train.redact.names import MASK, is_secret_key, reference, words
from srb_train.redact.shapes import HINTS, LONE_BASE64, OPTION, RULES, is_scheme_value

__all__ = [
    "CYCLE",
    "MASK",
    "MAX_DEPTH",
    "TOO_DEEP",
    "arguments",
    "is_secret_key",
    "known",
    "reference",
    "secrets_in",
    "spellings",
    "text",
    "tree",
    "value",
]

CYCLE = "<cycle>"
TOO_DEEP = "<too deep>"
MAX_DEPTH = 64
SHORTEST_KNOWN_VALUE = 8
_PASSES = 8
_SCHEMES = words("apikey basic bearer digest negotiate token")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def known(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values of secret-named variables, whole and by line, short ones left out."""
    values = (value for name, value in environ.items() if is_secret_key(name))
    parts = (part.strip() for value in values for part in (value, *value.splitlines()))
    return frozenset(part for part in parts if len(part) >= SHORTEST_KNOWN_VALUE)


def text(line: str, also: Collection[str] = ()) -> str:
    """Return any text with its secrets masked; text without one comes back as it is.

    Colour codes are lost where a secret is found. The rules are applied until nothing changes, so
    that no mask hides a secret from the next look; a text that does not settle is masked whole.
    """
    literals = spellings(also)
    hinted = any(map(line.lower().__contains__, HINTS)) or LONE_BASE64.fullmatch(line)
    if not hinted and not any(literal in line for literal in literals):
        return line
    plain = _COLOR.sub("", line)
    before, after = plain, _masked_once(plain, literals)
    for _ in range(_PASSES):
        if after == before:
            return line if after == plain else after
        before, after = after, _masked_once(after, literals)
    return MASK


@lru_cache(maxsize=8)
def _literals(also: frozenset[str]) -> tuple[str, ...]:
    """Return the values as they stand in text, in URLs and in JSON; longest first."""
    spelled = {
        spelling
        for value in also
        for spelling in (value, quote(value, safe="", errors="replace"), json.dumps(value)[1:-1])
    }
    return tuple(sorted(spelled - {""}, key=lambda spelling: (-len(spelling), spelling)))


def spellings(also: Collection[str]) -> Sequence[str]:
    """Return literal values in all the spellings under which `text` finds them, longest first."""
    return _literals(frozenset(also)) if also else ()


def _masked_once(line: str, literals: Sequence[str]) -> str:
    for literal in literals:
        if literal in line:
            line = MASK.join(part.replace(literal, MASK) for part in line.split(MASK))
    for rule in RULES:
        line = rule(line)
    return line


_FLAG = re.compile(r"-[A-Za-z0-9_.\-/+~@\[\]]+")
_ASSIGNMENT = re.compile(r"(?P<key>[A-Za-z0-9_.\-/+~@\[\]]+)=(?P<value>.*)", re.DOTALL)
_OPEN_HEADER = re.compile(
    r"(?:^|[\s\"'=])(?P<name>[\w.\-\[\]]++):\s*(?P<scheme>[A-Za-z]+)?\Z", re.A
)
_OPEN_SCHEME = re.compile(r"(?:^|[\s\"'=:])(?P<scheme>basic|bearer)\Z", re.A | re.I)


def arguments(argv: Sequence[str], also: Collection[str] = ()) -> list[str]:
    """Return a command line, token by token, with its secrets masked; no token is lost.

    A token may be secret for what stands before it: a flag, a header's name, `Bearer`. The values
    of `--kit_args` are command lines themselves.
    """
    cleaned, role = [], "free"
    for token in (_COLOR.sub("", token) for token in argv):
        if role != "command" and OPTION.fullmatch(token.replace(MASK, "x")):
            role = "free"
        cleaned.append(_argument(token, role, also))
        role = _role_of_next(token, role)
    return cleaned


def _role_of_next(token: str, role: str) -> str:
    """Say what the token behind this one is: secret, header, basic, bearer, command or free."""
    if role in ("secret", "header"):
        if token.lower() in _SCHEMES:
            return "secret"
        return "header" if role == "header" and token.endswith(";") else "free"
    if _is_kit_flag(token) and role == "free":
        return "command"
    if _is_secret_flag(token):
        return "secret"
    header = _OPEN_HEADER.search(token)
    if header and is_secret_key(header["name"]):
        return "secret" if header["scheme"] else "header"
    scheme = _OPEN_SCHEME.search(token)
    return scheme["scheme"].lower() if scheme else "free"


def _is_secret_flag(token: str) -> bool:
    if not _FLAG.fullmatch(token) or token.startswith("--no-"):
        return False
    return token == "-p" or is_secret_key(token)


def _is_kit_flag(name: str) -> bool:
    return name.replace("-", "_") == "__kit_args"


def _argument(token: str, role: str, also: Collection[str]) -> str:
    if role == "command":
        return _command(token, also)
    if role == "header" and token.lower() in _SCHEMES:
        return token
    if role in ("secret", "header") or (role != "free" and is_scheme_value(role, token)):
        return token if reference(token) else MASK
    pair = _ASSIGNMENT.fullmatch(token)
    if not pair:
        return text(token, also)
    key, value = pair["key"], pair["value"]
    if _is_kit_flag(key):
        return f"{key}={_command(value, also)}"
    if (key == "-p" or is_secret_key(key)) and not reference(value):
        value = MASK
    return f"{text(key, also)}={text(value, also)}"


def _command(line: str, also: Collection[str]) -> str:
    """Return a command line held in one string, with its secrets masked and its quoting kept."""
    try:
        tokens = shlex.split(line)
    except ValueError:
        return " ".join(arguments(line.split(), also))
    cleaned = arguments(tokens, also)
    if cleaned == tokens:
        return text(line, also)
    return " ".join(_quoted(token) for token in cleaned)


def _quoted(token: str) -> str:
    bare = token.replace(MASK, "x")
    return token if shlex.quote(bare) == bare else shlex.quote(token)


def value(key: str | None, value: Any, also: Collection[str] = ()) -> Any:
    """Return one entry of a configuration; a secret-named one is masked unless null or bool."""
    return _entry(key, value, also, ())


def referenced(data: Any, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values of the environment variables that a spec refers to by `env:NAME`."""
    if isinstance(data, Mapping | list | tuple):
        items = data.values() if isinstance(data, Mapping) else data
        return frozenset[str]().union(*(referenced(item, environ) for item in items))
    name = reference(data)
    value = environ.get(name) if name else None
    return frozenset({value} if value else ())


def tree(data: Any, also: Collection[str] = ()) -> Any:
    """Return a copy of nested mappings, lists, tuples and sets without secrets.

    Lists of strings are read as command lines. A container inside itself and one deeper than
    `MAX_DEPTH` are replaced by a placeholder; other objects come back as they are.
    """
    return _entry(None, data, also, ())


def _entry(key: Any, data: Any, also: Collection[str], trail: tuple[int, ...]) -> Any:
    if isinstance(key, str) and is_secret_key(key):
        return MASK if _is_literal(data) else data
    if isinstance(data, bytes | bytearray):
        return text(data.decode("utf-8", "replace"), also)
    if isinstance(data, str):
        return text(data, also)
    if not isinstance(data, Mapping | list | tuple | Set):
        return data
    if id(data) in trail or len(trail) >= MAX_DEPTH:
        return CYCLE if id(data) in trail else TOO_DEEP
    return _container(data, also, (*trail, id(data)))


def _container(data: Any, also: Collection[str], trail: tuple[int, ...]) -> Any:
    if isinstance(data, Mapping):
        return {
            text(key, also) if isinstance(key, str) else key: _entry(key, item, also, trail)
            for key, item in data.items()
        }
    if isinstance(data, Set):
        return frozenset(_entry(None, item, also, trail) for item in data)
    if all(isinstance(item, str) for item in data):
        items = arguments(data, also)
    else:
        items = [_entry(None, item, also, trail) for item in data]
    return tuple(items) if isinstance(data, tuple) else items


def _is_literal(data: Any) -> bool:
    return not (data is None or isinstance(data, bool) or reference(data))


def secrets_in(data: Any, also: Collection[str] = ()) -> list[str]:
    """Return the dotted paths that hold a secret itself rather than nothing or `env:NAME`."""
    return list(_findings(data, (), also, ()))


def _findings(
    data: Any, path: tuple[str, ...], also: Collection[str], trail: tuple[int, ...]
) -> Iterator[str]:
    if id(data) in trail or len(trail) >= MAX_DEPTH:
        return
    trail = (*trail, id(data))
    if isinstance(data, Mapping):
        for key, item in data.items():
            here = (*path, str(key))
            if is_secret_key(str(key)):
                yield from [".".join(here)] * _holds_literal(item, trail)
            else:
                yield from _findings(item, here, also, trail)
    elif isinstance(data, list | tuple) and not all(isinstance(item, str) for item in data):
        for index, item in enumerate(data):
            yield from _findings(item, (*path, str(index)), also, trail)
    elif isinstance(data, str | list | tuple) and _entry(None, data, also, ()) != data:
        yield ".".join(path)


def _holds_literal(data: Any, trail: tuple[int, ...]) -> bool:
    if not isinstance(data, Mapping | list | tuple):
        return _is_literal(data)
    if id(data) in trail or len(trail) >= MAX_DEPTH:
        return False
    items = data.values() if isinstance(data, Mapping) else data
    return any(_holds_literal(item, (*trail, id(data))) for item in items)
