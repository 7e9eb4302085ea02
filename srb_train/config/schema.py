"""The preset as the schema: which keys exist, what types they take, and what to say otherwise.

A mapping that a preset leaves empty is open: it takes any key below it (`env.kwargs.gravity`).
Everything else is closed.
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srb_train import redact
from srb_train.config import yaml_text
from srb_train.config.flat import flatten
from srb_train.config.kinds import SCALARS, fit, kind_of
from srb_train.errors import UsageError

MISSING = "???"
TYPED = "command line"
EVERYWHERE: Mapping[str, Any] = {"env.python": None}
"""Keys that every composition takes and no preset lists."""
LONGEST_SHOWN = 80
_NULL_PRESETS = {
    "run.seed": ("int", "null"),
    "run.checkpoint_every": ("int", "null"),
    "run.log_every": ("int", "null"),
    "run.notify": ("str", "list", "null"),
    "env.max_episode_steps": ("int", "null"),
    "env.python": ("str", "null"),
    "env.action_limit": ("float", "null"),
}
_RANGES = {
    "run.steps": (1, None),
    "run.seed": (0, 2**32 - 1),
    "run.threads": (1, None),
    "run.checkpoint_every": (1, None),
    "run.keep_checkpoints": (1, None),
    "run.log_every": (1, None),
    "env.num_envs": (1, None),
    "env.max_episode_steps": (1, None),
}


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The preset values by dotted key, and the keys that take more types than these show."""

    defaults: Mapping[str, Any]
    origins: Mapping[str, str]
    unions: Mapping[str, tuple[str, ...]]

    def flatten(self, tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield (dotted key, value) of a layer, down to the keys that the schema has."""
        return flatten(tree, self.unions)

    def is_open(self, key: str) -> bool:
        """Tell whether a key lies below a mapping that the preset leaves empty."""
        parts = key.split(".")
        above = (".".join(parts[:end]) for end in range(1, len(parts)))
        return any(self.defaults.get(parent) == {} for parent in above)

    def kinds(self, key: str) -> tuple[str, ...]:
        """Return the names of the types that a key takes."""
        default = self.defaults[key]
        more = self.unions.get(key, _NULL_PRESETS.get(key, ()))
        if default is None:
            return tuple(dict.fromkeys(("null", *more))) if more else SCALARS
        return tuple(dict.fromkeys((kind_of(default), *more)))

    def admit(self, key: str, value: Any, source: str) -> Any:
        """Return the value in the type that the key has; raises `UsageError` when it has no fit."""
        if self.is_open(key):
            return _plain(key, value, source)
        if key not in self.defaults:
            raise UsageError(f"{setting(key, value, source)}: {self._no_such(key)}")
        try:
            return fit(value, self.kinds(key), self.defaults[key])
        except ValueError as reason:
            said = f"{setting(key, value, source)} {reason}"
            raise UsageError(f"{said}; {self._takes(key)}") from None

    def _takes(self, key: str) -> str:
        origin = self.origins.get(key, "the schema")
        return f"it takes {self._names(key)} (preset {self._default(key)}, from {origin})"

    def _names(self, key: str) -> str:
        return " or ".join(self.kinds(key))

    def _default(self, key: str) -> str:
        return shown(key, self.defaults[key])

    def _no_such(self, key: str) -> str:
        for known in self.defaults:
            if key.startswith(f"{known}."):
                return f"set {known} as a whole; {self._takes(known)}"
        inside = [known for known in self.defaults if known.startswith(f"{key}.")]
        if inside:
            return f"it is a section; its keys are {_some(inside)}"
        near = nearest(key, self.defaults)
        if near:
            facts = f"{self._names(near)}, preset {self._default(near)}"
            return f"no such key; nearest is {near} ({facts})"
        return f"no such key; there are {_some(_siblings(key, self.defaults))}"


def setting(key: str, value: Any, source: str) -> str:
    """Write `key=value` for a message, with its file unless it was typed."""
    where = "" if source == TYPED else f"{source}: "
    return f"{where}{key}={shown(key, value)}"


def shown(key: str, value: Any) -> str:
    """Write a value for a message: short, and without what a secret-named key holds."""
    if redact.is_secret_key(key) and isinstance(value, str):
        return redact.MASK
    text = redact.text(repr(value) if isinstance(value, str) else yaml_text.flow(value))
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def nearest(key: str, known: Mapping[str, Any]) -> str:
    """Find the key that a misspelt one most likely means, or nothing."""
    section, _, name = key.rpartition(".")
    beside = {each.rpartition(".")[2]: each for each in known if each.startswith(f"{section}.")}
    anywhere = {each.rpartition(".")[2]: each for each in reversed(list(known))}
    for names, cutoff in ((beside, 0.6), (anywhere, 0.75)):
        close = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
        if close:
            return names[close[0]]
    return next(iter(difflib.get_close_matches(key, known, n=1, cutoff=0.75)), "")


def check_ranges(flat: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Refuse counts that no run can have."""
    for key, (least, most) in _RANGES.items():
        value = flat.get(key)
        if isinstance(value, int) and not least <= value <= (value if most is None else most):
            limits = f"at least {least}" if most is None else f"from {least} to {most}"
            raise UsageError(f"{setting(key, value, origins[key])}: it must be {limits}")


def check_interpreter(flat: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Refuse an interpreter for the task that cannot be started from wherever a run goes on."""
    value = flat.get("env.python")
    if value is None:
        return
    path = Path(value).expanduser()
    said = setting("env.python", value, origins["env.python"])
    if not path.is_absolute():
        raise UsageError(f"{said}: give the whole path, such as {path.absolute()}")
    if not (path.is_file() and os.access(path, os.X_OK)):
        what = "is no program that can be started" if path.exists() else "is not there"
        raise UsageError(f"{said} {what}; it takes an interpreter, such as ~/sim/bin/python")


def _plain(key: str, value: Any, source: str) -> Any:
    """Check a value below an open mapping: scalars and lists of them."""
    if not all(part.isidentifier() for part in key.split(".")):
        raise UsageError(f"{setting(key, value, source)}: a key is letters, digits and _")
    try:
        return fit(value, (*SCALARS, "list", "mapping"), [])
    except ValueError as reason:
        raise UsageError(f"{setting(key, value, source)} {reason}") from None


def _siblings(key: str, known: Mapping[str, Any]) -> list[str]:
    """Return the keys of the deepest section of `key` that exists."""
    while key:
        key = key.rpartition(".")[0]
        found = [each for each in known if key and each.startswith(f"{key}.")]
        if found:
            return found
    return [f"{section}.*" for section in dict.fromkeys(each.split(".")[0] for each in known)]


def _some(keys: list[str], most: int = 12) -> str:
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return ", ".join(keys[:most]) + more
