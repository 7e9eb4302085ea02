"""The presets in the order that Hydra gives them, and which file each value comes from."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from hydra.version import VersionBase
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from srb_train.config import config_root
from srb_train.config.flat import flatten
from srb_train.config.layers import Layers, first_line, read
from srb_train.errors import UsageError

SHIPPED = "configs"
GROUPS = ("env", "agent")

_HYDRA_RESOLVERS = ("now", "hydra", "python_version")
_ONE_AT_A_TIME = Lock()


def compose(
    choices: Mapping[str, str],
    guests: Sequence[Path],
    unions: Mapping[str, tuple[str, ...]],
) -> Layers:
    """Compose `train.yaml` with the chosen presets: the schema of every later layer.

    Hydra says which files take part, in which order and where in the tree; laying one over the
    other by key keeps what it would not tell, the origin of each value. `guests` are trees that
    hold presets which the shipped one lacks.
    """
    typed = [f"{group}={choices[group]}" if group in choices else f"~{group}" for group in GROUPS]
    if guests:
        places = ",".join(_quoted(f"file://{tree.absolute()}") for tree in guests)
        typed.append(f"hydra.searchpath=[{places}]")
    try:
        with _hydra_to_itself(), initialize_config_dir(str(config_root()), version_base="1.3"):
            loader = GlobalHydra.instance().config_loader()
            files = loader.compute_defaults_list("train", typed, RunMode.RUN).defaults
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(f"the presets cannot be composed: {first_line(error)}") from error
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for file in files:
        if not file.config_path.startswith("hydra/"):
            tree, name = _read_preset(f"{file.config_path}.yaml", guests)
            layer = dict(flatten({file.package: tree} if file.package else tree, unions))
            values |= layer
            origins |= dict.fromkeys(layer, name)
    return Layers.over(values, origins, unions)


def _read_preset(path: str, guests: Sequence[Path]) -> tuple[dict[str, Any], str]:
    """Read a preset without its `defaults`; returns it with the name that messages use."""
    trees = {SHIPPED: config_root(), **{str(tree): tree for tree in guests}}
    tree = next((tree for tree in trees if (trees[tree] / path).is_file()), SHIPPED)
    place, name = trees[tree] / path, f"{tree}/{path}"
    return {key: value for key, value in read(place, name).items() if key != "defaults"}, name


@contextmanager
def _hydra_to_itself() -> Iterator[None]:
    """Lend Hydra's process-wide state to one composition, then put back what the host had."""
    with _ONE_AT_A_TIME:
        hydra, version = GlobalHydra.instance().hydra, VersionBase.instance().version_base
        added = [name for name in _HYDRA_RESOLVERS if not OmegaConf.has_resolver(name)]
        GlobalHydra.instance().clear()
        try:
            yield
        finally:
            GlobalHydra.instance().hydra = hydra
            VersionBase.instance().version_base = version
            for name in added:
                OmegaConf.clear_resolver(name)


def _quoted(text: str) -> str:
    """Quote text for Hydra's grammar, in which a quote inside is escaped."""
    escaped = text.replace("'", "\\'")
    return f"'{escaped}'"
