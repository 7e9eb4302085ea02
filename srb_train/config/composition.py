"""The half that needs Hydra: the layers in their order, and the overrides that were typed."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from srb_train import spelling
from srb_train.config import SECTIONS, Composed, Selected, config_root, presets, shipped
from srb_train.config.flat import flatten
from srb_train.config.layers import Layers, read
from srb_train.config.schema import MISSING, TYPED, setting
from srb_train.errors import UsageError

Unions = Mapping[str, tuple[str, ...]]

CHOSEN = "--env"
STORED = "the stored run"
_CHOSEN_BY = {"env": "--env", "agent": "--algo", "env.id": "--env"}


class _Files(NamedTuple):
    """The files that a user's tree may hold, and the trees whose presets they change."""

    sections: Mapping[str, str | None]
    """Path in the tree -> the section that its keys belong to; None where it holds whole ones."""
    presets: Sequence[Path]


def compose(
    algo: str,
    env: Selected,
    overrides: Sequence[str],
    *,
    config_dir: Path | None,
    unions: Unions,
    guest: Path | None = None,
) -> Composed:
    """Compose the presets, then lay the user's files and typed overrides over them."""
    trees = [tree for tree in (guest, config_dir) if tree is not None]
    layers = _presets({"env": env.preset, "agent": algo}, trees, _below_agent(unions))
    tuned = _tuned(env, algo)
    _lay_file(layers, config_root() / tuned, f"{shipped.SHIPPED}/{tuned}")
    if guest is not None:
        _lay_file(layers, guest / tuned, f"{guest}/{tuned}")
    files = {
        "train.yaml": None,
        f"env/{env.preset}.yaml": "env",
        f"agent/{algo}.yaml": "agent",
        tuned: None,
    }
    known = [config_root(), *([guest] if guest else [])]
    return _user_over(layers, env, overrides, config_dir, _Files(files, known))


def compose_env(env: Selected, overrides: Sequence[str], *, config_dir: Path | None) -> Composed:
    """Compose the presets of a task alone, then the user's files and overrides over them."""
    layers = _presets({"env": env.preset}, [config_dir] if config_dir else [], {})
    files = {"train.yaml": None, f"env/{env.preset}.yaml": "env"}
    return _user_over(layers, env, overrides, config_dir, _Files(files, [config_root()]))


def override(
    base: Mapping[str, Mapping[str, Any]], overrides: Sequence[str], *, unions: Unions
) -> Composed:
    """Lay typed overrides over a stored composition and list what they change."""
    below_agent = _below_agent(unions)
    before = dict(flatten({name: base.get(name, {}) for name in SECTIONS}, below_agent))
    layers = Layers.over(before, dict.fromkeys(before, STORED), below_agent)
    composed = _typed_over(layers, overrides)
    after = layers.schema.flatten({name: getattr(composed, name) for name in SECTIONS})
    changes = {
        key: (before.get(key), value)
        for key, value in after
        if key not in before or before[key] != value
    }
    return dataclasses.replace(composed, changes=changes)


def _below_agent(unions: Unions) -> Unions:
    return {f"agent.{key}": kinds for key, kinds in unions.items()}


def _presets(choices: Mapping[str, str], trees: Sequence[Path], unions: Unions) -> Layers:
    """Compose the presets; what we do not ship comes from the first other tree that has it."""
    for given in trees:
        if not given.is_dir():
            raise UsageError(f"--config-dir {given} is not a directory")
    for group, name in choices.items():
        if name in presets(group):
            continue
        tree = next((each for each in trees if (each / group / f"{name}.yaml").is_file()), None)
        if tree is None:
            near = spelling.nearest(name, presets(group))
            raise UsageError(f"{group}={name}: no preset configs/{group}/{name}.yaml{near}")
        read(tree / group / f"{name}.yaml", f"{tree}/{group}/{name}.yaml")
    return shipped.compose(choices, trees, unions)


def _tuned(env: Selected, algo: str) -> str:
    if ".." in env.name.split("/"):
        raise UsageError(f"--env {env.name}: a name has no `..` in it")
    return f"tuned/{env.name}/{algo}.yaml"


def _user_over(
    layers: Layers,
    env: Selected,
    overrides: Sequence[str],
    config_dir: Path | None,
    files: _Files,
) -> Composed:
    """Lay what the user brings over the presets: files, the chosen id, typed overrides."""
    if config_dir is not None:
        _lay_user_files(layers, config_dir, files)
    if env.id is not None:
        _choose_id(layers, env.id)
    return _typed_over(layers, overrides)


def _lay_user_files(layers: Layers, config_dir: Path, files: _Files) -> None:
    """Lay the user's files in order, but those that served as presets; one must be there."""
    found = [path for path in files.sections if (config_dir / path).is_file()]
    if not found:
        raise UsageError(f"--config-dir {config_dir} has none of {', '.join(files.sections)}")
    for path in found:
        section = files.sections[path]
        if section is None or any((tree / path).is_file() for tree in files.presets):
            _lay_file(layers, config_dir / path, f"{config_dir}/{path}", section)


def _lay_file(layers: Layers, path: Path, name: str, section: str | None = None) -> None:
    """Lay one file over the layers, if it is there; without a section it holds whole ones."""
    if not path.is_file():
        return
    tree = read(path, name)
    if "defaults" in tree:
        raise UsageError(f"{name}: a file that changes presets has no `defaults`: take it out")
    layers.lay(tree if section is None else {section: tree}, name)


def _choose_id(layers: Layers, chosen: str) -> None:
    """Set `env.id`; a file that names another one is refused."""
    present = layers.values.get("env.id", MISSING)
    if present not in (MISSING, chosen):
        where = layers.origins["env.id"]
        raise UsageError(f"{setting('env.id', present, where)}, but --env chooses {chosen!r}")
    layers.put("env.id", chosen, CHOSEN)


def _typed_over(layers: Layers, overrides: Sequence[str]) -> Composed:
    for token in overrides:
        key, value = _parsed(token)
        layers.lay({key: value}, TYPED)
        if token.startswith("+"):
            raise UsageError(f"+{setting(key, value, TYPED)}: the key is there, write it without +")
    return layers.composed(overrides)


def _parsed(token: str) -> tuple[str, Any]:
    """Read `key=value` by Hydra's grammar; what a single run has no use for is refused."""
    key, _, text = token.lstrip("+~").partition("=")
    if token.startswith("~"):
        raise UsageError(f"~{key}: a key cannot be taken away; give it another value")
    if key in _CHOSEN_BY:
        raise UsageError(f"{setting(key, text, TYPED)}: this is chosen by {_CHOSEN_BY[key]}")
    # The grammar has no word for a home folder, and a shell leaves one behind = alone.
    if text.startswith("~/") and '"' not in text:
        token = f'{key}="{text}"'
    try:
        parsed = OverridesParser.create().parse_override(token)
    except HydraException as error:
        raise UsageError(
            f"{setting(key, text, TYPED)} cannot be read; text with = or a comma is quoted twice: "
            f"'{key}=\"a=b\"'"
        ) from error
    if parsed.is_sweep_override():
        raise UsageError(
            f"{setting(key, text, TYPED)} is several values and a run takes one; "
            f"a list is written {key}=[1,2]"
        )
    return key, parsed.value()
