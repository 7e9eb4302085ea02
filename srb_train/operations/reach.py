"""What may be read and written for somebody who is not at the keyboard: two kinds of roots.

Runs are those below the log root, configuration files those below the config roots. A path that
leads anywhere else, by `..`, from `/` or through a link, is refused before it is opened.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from srb_train.errors import UsageError
from srb_train.operations import names
from srb_train.runs import layout
from srb_train.runs.store import Run

LONGEST = 512
"""Characters of a run's name or of a path."""
MOST_BYTES = 256 * 1024
"""Size of a configuration file."""
_YAML = (".yaml", ".yml")
_SHOWN = 12
_LOOKED_AT = 2000


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The folders that are within reach."""

    logs: Path
    configs: tuple[Path, ...] = ()

    @classmethod
    def of(cls, logdir: Path | None, configs: Sequence[Path] = ()) -> Self:
        """Open a log root, by default the usual one, and config roots, which must be there."""
        for folder in configs:
            if not folder.is_dir():
                raise UsageError(f"--config-root {folder} is not a directory")
        return cls(
            logs=Path(os.path.abspath(logdir or layout.default_root())),
            configs=tuple(Path(os.path.abspath(folder)) for folder in configs),
        )

    def run(self, run_id: str) -> Run:
        """Return the run that a name, a place below the log root or a part of it means."""
        _refuse_strange("run_id", run_id)
        if not _leads_into(Path(os.path.abspath(self.logs / run_id)), self.logs):
            raise UsageError(f"run_id {run_id!r} lies outside of the log root {self.logs}")
        run = names.find_named(run_id, self.logs)
        _refuse_links(run.path, self.logs)
        return run

    def config(self, config_path: str, *, folder: bool = False) -> Path:
        """Return an existing YAML file (or with `folder` a folder) below a config root."""
        _refuse_strange("config_path", config_path)
        if not self.configs:
            raise UsageError(
                f"config_path {config_path}: no config root is open; start the server with "
                "--config-root FOLDER"
            )
        places = [Path(os.path.abspath(root / config_path)) for root in self.configs]
        inside = [path for path in places if any(_leads_into(path, up) for up in self.configs)]
        if not inside:
            raise UsageError(f"config_path {config_path} lies outside of {self._open()}")
        found = next((path for path in inside if os.path.exists(path)), None)
        if found is None:
            raise UsageError(f"config_path {config_path}: no such file; {self._available()}")
        return self._proved(found, folder)

    def refuse_outside(self, settings: Mapping[str, Any], above: str = "") -> None:
        """Refuse settings of which one names a file or a folder that is out of reach."""
        for key, value in settings.items():
            if isinstance(value, Mapping):
                self.refuse_outside(value, f"{above}{key}.")
                continue
            for text in value if isinstance(value, list | tuple) else (value,):
                if isinstance(text, str) and self._names_outside(text):
                    raise UsageError(
                        f"{above}{key}={text!r:.120} names a place outside of the roots; whoever "
                        "starts the server opens it with --config-root FOLDER"
                    )

    def _names_outside(self, text: str) -> bool:
        if not text.startswith(("/", "~")) and ".." not in text.replace("\\", "/").split("/"):
            return False
        place = Path(os.path.realpath(os.path.expanduser(text)))
        roots = (self.logs, *self.configs)
        return not any(_leads_into(place, root.resolve()) for root in roots)

    def _proved(self, found: Path, folder: bool) -> Path:
        """Follow links, and return where they end if that is a file we may read."""
        real = found.resolve()
        if not any(_leads_into(real, root.resolve()) for root in self.configs):
            raise UsageError(f"{found} is a link that leaves {self._open()}")
        if real.is_dir() and folder:
            return real
        if not real.is_file() or real.suffix not in _YAML:
            raise UsageError(f"{found} is no YAML file: its name must end in .yaml or .yml")
        if real.stat().st_size > MOST_BYTES:
            raise UsageError(f"{found} is larger than {MOST_BYTES:,} bytes")
        return real

    def _open(self) -> str:
        return ", ".join(map(str, self.configs))

    def _available(self) -> str:
        known = self.available()
        return f"there are: {', '.join(known[:_SHOWN])}" if known else "there is none"

    def available(self) -> list[str]:
        """Return the YAML files below the config roots, relative to theirs, links left out."""
        found: list[str] = []
        for root in self.configs:
            for folder, folders, files in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                paths = (Path(folder, name) for name in sorted(files) if name.endswith(_YAML))
                found += [str(path.relative_to(root)) for path in paths if not path.is_symlink()]
                if len(found) > _LOOKED_AT:
                    return found[:_LOOKED_AT]
        return found


def _refuse_strange(argument: str, text: str) -> None:
    """Refuse what no name or path of ours holds, before any file is looked for."""
    parts = text.replace("\\", "/").split("/")
    if not text or len(text) > LONGEST or not text.isprintable() or ".." in parts:
        raise UsageError(
            f"{argument} {text!r:.100}: 1 to {LONGEST} printable characters without `..`"
        )


def _leads_into(path: Path, root: Path) -> bool:
    return path.is_relative_to(root)


def _refuse_links(run: Path, root: Path) -> None:
    """Refuse a run whose folder, or a file right in it, is really somewhere else."""
    real = root.resolve()
    for path in (run, *(Path(entry.path) for entry in os.scandir(run) if entry.is_symlink())):
        if not _leads_into(path.resolve(), real):
            raise UsageError(f"{path} is a link that leaves the log root {root}")
