"""Layers laid over the presets one by one, each value checked and its origin kept."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError  # type: ignore[import-untyped]

from srb_train import redact
from srb_train.config import SECTIONS, Composed
from srb_train.config.flat import nest
from srb_train.config.schema import (
    EVERYWHERE,
    MISSING,
    Schema,
    check_interpreter,
    check_ranges,
    setting,
)
from srb_train.errors import UsageError

_POINTER = re.compile(r"\$\{[\w.]+\}")


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Values by dotted key while layers are laid over each other, and who set each of them."""

    schema: Schema
    values: dict[str, Any]
    origins: dict[str, str]

    @classmethod
    def over(
        cls,
        values: Mapping[str, Any],
        origins: Mapping[str, str],
        unions: Mapping[str, tuple[str, ...]],
    ) -> Self:
        """Begin with the values, by dotted key, that are the schema for all that follows."""
        defaults = {**EVERYWHERE, **_resolved(values, origins)}
        schema = Schema(defaults=defaults, origins=origins, unions=unions)
        return cls(schema=schema, values=dict(values), origins=dict(origins))

    def lay(self, tree: Mapping[str, Any], source: str) -> None:
        """Check one layer and lay it over what is there."""
        for key, value in self.schema.flatten(tree):
            self.put(key, value, source)

    def put(self, key: str, value: Any, source: str) -> None:
        """Set one key; text with an interpolation is checked once it is resolved."""
        _refuse_resolvers(key, value, source)
        if not (_points(value) and key in self.schema.defaults):
            value = self.schema.admit(key, value, source)
        self.values[key] = value
        self.origins[key] = source

    def composed(self, overrides: Sequence[str]) -> Composed:
        """Resolve interpolations, make the checks that need the whole, and freeze it."""
        values = self._pointed()
        for key, value in values.items():
            if value == MISSING:
                raise UsageError(f"{key} has no value: {self.origins[key]} leaves it open")
        check_ranges(values, self.origins)
        check_interpreter(values, self.origins)
        tree = {section: {} for section in SECTIONS} | nest(values)
        for key in redact.secrets_in(tree, redact.known(os.environ)):
            raise UsageError(
                f"{key} holds a secret, which a run's record would keep: write {key}=env:NAME "
                "with the name of the environment variable that has it"
            )
        return Composed(**tree, overrides=list(overrides), origins=dict(self.origins))

    def _pointed(self) -> dict[str, Any]:
        """Put in the place of `${env.num_envs}` and its like what they point to."""
        resolved = _resolved(self.values, self.origins)
        return {
            key: self.schema.admit(key, value, self.origins[key])
            if _points(self.values[key])
            else value
            for key, value in resolved.items()
        }


def read(path: Path, name: str) -> dict[str, Any]:
    """Read one YAML file of plain values; numbers such as `1e-4` are numbers."""
    try:
        tree = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{name}{line} is not YAML: {error.problem}") from error
    except (YAMLError, OmegaConfBaseException, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name} cannot be read: {first_line(error)}") from error
    if not isinstance(tree, dict):
        raise UsageError(f"{name} must hold keys with values, not a list")
    return {str(key): value for key, value in tree.items()}


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _resolved(values: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
    resolved = dict(values)
    pointing = [key for key, value in values.items() if _points(value)]
    if not pointing:
        return resolved
    tree = OmegaConf.create(nest(values))
    for key in pointing:
        try:
            value = OmegaConf.select(tree, key)
        except OmegaConfBaseException as error:
            said = setting(key, values[key], origins[key])
            raise UsageError(f"{said} points nowhere: {first_line(error)}") from error
        resolved[key] = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    return resolved


def _points(value: Any) -> bool:
    """Tell whether a value holds an interpolation."""
    if isinstance(value, Mapping):
        return any(_points(item) for item in value.values())
    if isinstance(value, list):
        return any(_points(item) for item in value)
    return isinstance(value, str) and "${" in value


def _refuse_resolvers(key: str, value: Any, source: str) -> None:
    """Allow pointing at another key only: a resolver could copy the environment into a record."""
    if _points(value) and "${" in _POINTER.sub("", str(value)):
        raise UsageError(
            f"{setting(key, value, source)}: only other keys can be pointed at, as in "
            "${env.num_envs}; a secret is written env:NAME"
        )
