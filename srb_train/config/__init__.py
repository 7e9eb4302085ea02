"""Presets, the user's files and typed overrides become one checked composition.

Order of the layers, each over the one before: `train.yaml`, `env/<preset>.yaml`,
`agent/<label>.yaml`, `tuned/<env>/<label>.yaml`, the same four of the user's `--config-dir`, then
what was typed. The first three are the schema: later layers may only set keys that these have, to
values of the same type. Nothing here imports Hydra before a composition is asked for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Self, cast

from srb_train.config import yaml_text

SECTIONS = ("run", "env", "agent")

_OVERRIDE = re.compile(r"(\+\+?|~)?[A-Za-z_]\w*(\.[\w-]+)*=|~[A-Za-z_]\w*(\.[\w-]+)+$")


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The environment that was chosen: its full name, its preset, and its id where it has one."""

    name: str
    """What `--env` was given: "landing", "gymnasium/Pendulum-v1"."""
    preset: str
    """The file under `configs/env`: "landing", "gymnasium"."""
    id: str | None = None
    """What goes to `env.id`; None for an embedded task."""

    @classmethod
    def of(cls, env: str, prefix: str = "") -> Self:
        """Split `<prefix>/<id>`; without a prefix the name is that of an embedded task."""
        if not prefix:
            return cls(name=env, preset=env)
        return cls(name=env, preset=prefix, id=env.removeprefix(f"{prefix}/"))


@dataclass(frozen=True, kw_only=True)
class Composed:
    """What a run will use, and where each value came from."""

    run: dict[str, Any]
    env: dict[str, Any]
    agent: dict[str, Any]
    overrides: list[str]
    """What was typed, in order."""
    origins: dict[str, str]
    """Dotted key -> "configs/agent/sb3_ppo.yaml", "<config-dir>/…", "--env", "command line"."""
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """What overrides changed in a stored composition: dotted key -> (old, new)."""

    def as_yaml(self, section: str) -> str:
        """Write one section ("run", "env", "agent") as YAML that any reader reads the same."""
        return yaml_text.dump(getattr(self, section))


def compose(
    algo: str,
    env: Selected,
    overrides: Sequence[str],
    *,
    config_dir: Path | None,
    unions: Mapping[str, tuple[str, ...]],
    guest: Path | None = None,
) -> Composed:
    """Compose a fresh run; anything that does not fit the presets is a `UsageError`.

    `unions` names the types that keys below `agent` take, for those that take more than their
    preset shows: {"learning_rate": ("float", "str"), "target_kl": ("float", "null")}. `guest` is
    the tree of presets of a family that lives elsewhere.
    """
    trees = {"config_dir": config_dir, "guest": guest}
    return cast(Composed, _composition().compose(algo, env, overrides, unions=unions, **trees))


def compose_env(env: Selected, overrides: Sequence[str], *, config_dir: Path | None) -> Composed:
    """Compose a task without an agent, for playing that trains nothing; `agent` stays empty."""
    return cast(Composed, _composition().compose_env(env, overrides, config_dir=config_dir))


def override(
    base: Mapping[str, Mapping[str, Any]],
    overrides: Sequence[str],
    *,
    unions: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Composed:
    """Apply typed overrides to a stored composition {"run", "env", "agent"}, checked against it."""
    return cast(Composed, _composition().override(base, overrides, unions=unions))


def presets(group: str) -> list[str]:
    """List the presets of a group ("agent", "env") by name."""
    return sorted(path.stem for path in (config_root() / group).glob("*.yaml"))


@cache
def config_root() -> Path:
    """Find the shipped tree: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def is_override(token: str) -> bool:
    """Tell a typed override from a path or a link that happens to hold `=`: by its left side."""
    return bool(_OVERRIDE.match(token))


def show(composed: Composed) -> str:
    """Write the whole composition as YAML, each value with the place that set it."""
    tree = {section: getattr(composed, section) for section in SECTIONS}
    return yaml_text.dump(tree, composed.origins)


def read_file(path: Path) -> dict[str, Any]:
    """Return what a YAML file of the user holds."""
    return cast(dict[str, Any], _editing().read(path))


def update_file(path: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay changes over a YAML file of the user; comments and order stay."""
    return cast(dict[str, Any], _editing().update(path, changes))


def typed_value(text: str) -> Any:
    """Read one YAML value that was typed."""
    return _editing().parse(text)


def _editing() -> ModuleType:
    """Import the half that needs a YAML library which keeps comments (lazy seam 1)."""
    from srb_train.config import editing

    return editing


def _composition() -> ModuleType:
    """Import the half that needs Hydra (lazy seam 1)."""
    from srb_train.config import composition

    return composition
