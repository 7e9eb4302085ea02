"""Checkpoints: folders that appear whole, prove what they hold, and are never half believed.

A checkpoint is written into a hidden folder of `ckpt/`, hashed file by file into manifest.json,
forced onto the disk, and published by one rename to `ckpt/<step>`. A killed process leaves at most
a hidden folder, which the next commit removes. Order is by the step as a number, never by name or
by file time, so copies keep their meaning.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from srb_train import redact
from srb_train.errors import IntegrityError, TrainingFailed, UsageError
from srb_train.runs import disk, files, layout, status

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
Found = TypeVar("Found")
Write = Callable[[Path], Mapping[str, Any] | None]

FACTS: Mapping[str, Any] = {
    "grade": None,
    "components": {"restored": [], "reset": [], "unavailable": []},
    "score": None,
    "family": None,
    "label": None,
    "env": None,
    "versions": {},
    "parent_step": None,
    "wall": None,
}
"""What a manifest always says besides its files, with the value it has while nothing is known."""

_UNFINISHED = re.compile(r"\.\d+-(\d+)-[0-9a-f]{8}")
_ASIDE = re.compile(r"\.(\d+)-replaced-[0-9a-f]{8}")


@dataclass(frozen=True)
class Checkpoint:
    """One folder with a manifest that says everything about the files beside it."""

    path: Path
    manifest: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the manifest of a folder; `IntegrityError` where it is missing or damaged."""
        manifest = files.read_json(path / MANIFEST)
        reason = _unsound(manifest)
        if reason:
            raise IntegrityError(f"{path / MANIFEST} is damaged: {reason}")
        return cls(path, manifest)

    @classmethod
    def at_path(cls, path: Path) -> Self:
        """Find the checkpoint that a path means: its folder, whatever its name, or a file in it."""
        if not os.path.exists(path):
            raise UsageError(f"{path}: there is no such checkpoint")
        place = Path(os.path.abspath(path))
        for folder in (place, *place.parents):
            if os.path.isfile(folder / MANIFEST):
                found = cls.read(folder)
                if found._holds(place):
                    return found
                break
        raise UsageError(
            f"{path} is not a checkpoint: those are folders with a {MANIFEST}, "
            f"such as RUN/{layout.CHECKPOINTS}/1000"
        )

    def _holds(self, place: Path) -> bool:
        name = place.relative_to(self.path).as_posix()
        known = (MANIFEST, *self.manifest["files"])
        return name == "." or any(file == name or file.startswith(f"{name}/") for file in known)

    @property
    def step(self) -> int:
        """Environment transitions that went into it."""
        return int(self.manifest["step"])

    @property
    def score(self) -> float | None:
        """How good the policy was in training, more is better; None where it was not measured."""
        score = self.manifest["score"]
        return None if score is None else float(score)

    @property
    def size(self) -> int:
        """Bytes of all files but the manifest."""
        return sum(int(entry["size"]) for entry in self.manifest["files"].values())

    def check(self) -> None:
        """Compare the names and sizes of all files with the manifest; quick, reads no content."""
        present = dict(_sizes(self.path))
        present.pop(MANIFEST, None)
        for name, entry in self.manifest["files"].items():
            size = present.pop(name, None)
            if size is None:
                raise IntegrityError(f"{self.path / name} is missing")
            if size != entry["size"]:
                raise IntegrityError(
                    f"{self.path / name} has {size:,} bytes; the manifest says {entry['size']:,}"
                )
        for name in present:
            raise IntegrityError(f"{self.path / name} is not in the manifest")

    def open(self) -> Path:
        """Return the folder after every file proved to be the one that was written."""
        self.check()
        for name, entry in self.manifest["files"].items():
            if _digest(self.path / name) != entry["sha256"]:
                raise IntegrityError(f"{self.path / name} was altered after it was written")
        return self.path


class Checkpoints:
    """The checkpoints of one run; only one process at a time may commit to them."""

    def __init__(self, folder: Path, keep: int = 3) -> None:
        """Look at `folder`, which need not exist yet; commits keep `keep` newest and the best."""
        if keep < 1:
            raise UsageError(f"run.keep_checkpoints={keep}: at least 1 must be kept")
        self.folder = folder
        self.keep = keep
        self.warnings: list[str] = []
        """What the last look passed over, and why."""

    def commit(self, step: int, write: Write, facts: Mapping[str, Any]) -> Checkpoint:
        """Publish what `write` puts into an empty folder; older checkpoints stay until it stands.

        `facts`, and whatever mapping `write` returns, go into the manifest. If anything fails,
        nothing of the attempt stays and every older checkpoint is as it was; a disk that is full
        or refuses becomes a `TrainingFailed` with the way out.
        """
        if step < 0:
            raise UsageError(f"step={step}: a checkpoint cannot lie before the start")
        hidden = self.folder / f".{step}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            self._recover()
            hidden.mkdir(parents=True)
            manifest = {**FACTS, **facts, **(write(hidden) or {})}
            _seal(hidden, step, manifest)
            self._publish(hidden, step)
        except (OSError, RuntimeError) as error:
            if disk.is_trouble(error, self.folder):
                raise TrainingFailed(self._refusal(step, hidden, error)) from error
            raise
        finally:
            shutil.rmtree(hidden, ignore_errors=True)
        published = Checkpoint.read(self.folder / str(step))
        self._retain(published)
        return published

    def _publish(self, hidden: Path, step: int) -> None:
        """Give a sealed folder its name.

        A folder that has the name already first steps aside under a hidden name, under which
        readers and the next commit still find it, so that between the two renames, or if the
        process dies there, the old checkpoint of this step is the valid one.
        """
        path = self.folder / str(step)
        aside = self.folder / f".{step}-replaced-{secrets.token_hex(4)}"
        if path.exists():
            path.rename(aside)
        try:
            hidden.rename(path)
            files.sync_folder(self.folder)
        finally:
            self._settle(aside, path)

    def _settle(self, aside: Path, path: Path) -> None:
        """Remove what stepped aside, or put it back if nothing took its place."""
        if path.exists():
            shutil.rmtree(aside, ignore_errors=True)
        elif aside.exists():
            aside.rename(path)

    def _recover(self) -> None:
        """Finish or undo what killed commits left behind."""
        for entry in _hidden(self.folder):
            aside = _ASIDE.fullmatch(entry.name)
            unfinished = _UNFINISHED.fullmatch(entry.name)
            if aside:
                self._settle(entry, self.folder / aside[1])
            elif unfinished and _is_abandoned(int(unfinished[1])):
                shutil.rmtree(entry, ignore_errors=True)

    def _retain(self, newest: Checkpoint) -> None:
        complete = self.all()
        kept = {newest.step, *(found.step for found in complete[-self.keep :])}
        best = _best_first(complete)[:1]
        kept.update(found.step for found in best)
        for found in complete:
            if found.step not in kept:
                self._drop(found)

    def _drop(self, old: Checkpoint) -> None:
        """Remove a checkpoint; first it loses its name, for a half removed one must not show."""
        hidden = self.folder / f".{old.step}-{os.getpid()}-{secrets.token_hex(4)}"
        old.path.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)

    def _refusal(self, step: int, hidden: Path, error: BaseException) -> str:
        written = sum(size for _, size in _sizes(hidden))
        shutil.rmtree(hidden, ignore_errors=True)
        free = disk.free_bytes(self.folder)
        stands = [found.step for found in self.all()][-1:]
        return (
            f"the checkpoint of step {step:,} cannot be written to {self.folder}: "
            f"{disk.reason(error)} after {written:,} bytes; {free:,} bytes are free now; "
            f"{f'step {stands[0]:,} is the newest complete one' if stands else 'there is none yet'}"
            f"; free some space, keep fewer (run.keep_checkpoints is {self.keep}), "
            "or choose another --logdir"
        )

    def all(self) -> list[Checkpoint]:
        """Return the complete checkpoints in the order of their steps; see `warnings`."""
        return self._settled(self._all)

    def _all(self) -> list[Checkpoint]:
        self.warnings = []
        found = [self._complete(path) for path in self._candidates()]
        return sorted((one for one in found if one is not None), key=lambda one: one.step)

    def _candidates(self) -> Iterator[Path]:
        """Yield every folder with a step for a name, and those that stepped aside for nobody."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.name.isdecimal() and path.is_dir():
                    yield path
        for path in _hidden(self.folder):
            aside = _ASIDE.fullmatch(path.name)
            if aside and not (self.folder / aside[1]).exists():
                yield path

    def _complete(self, path: Path) -> Checkpoint | None:
        try:
            found = Checkpoint.read(path)
            found.check()
        except IntegrityError as error:
            self.warnings.append(f"checkpoint {path.name} is passed over: {error}")
            return None
        name = path.name.removeprefix(".").partition("-")[0]
        if str(found.step) != name:
            self.warnings.append(
                f"checkpoint {path.name} is passed over: its manifest says step {found.step}"
            )
            return None
        return found

    def latest(self) -> Checkpoint | None:
        """Return the newest that proves whole, content included; see `warnings` for newer ones."""
        return self._settled(lambda: self._first_sound(self.all()[::-1]))

    def _settled(self, look: Callable[[], Found]) -> Found:
        """Look again as long as nothing is found while a commit changes what there is."""
        while True:
            before = set(self._candidates())
            found = look()
            if found or set(self._candidates()) == before:
                return found

    def best(self) -> Checkpoint | None:
        """Return the one with the highest score, the later of equals; None if none has a score."""
        return self._first_sound(_best_first(self.all()))

    def _first_sound(self, wanted: list[Checkpoint]) -> Checkpoint | None:
        for found in wanted:
            try:
                found.open()
            except IntegrityError as error:
                self.warnings.append(f"checkpoint {found.step} is passed over: {error}")
            else:
                return found
        return None

    def at(self, step: int) -> Checkpoint:
        """Return the complete checkpoint of a step; `UsageError` lists those that exist."""
        complete = self.all()
        for found in complete:
            if found.step == step:
                return found
        steps = ", ".join(str(found.step) for found in complete) or "none"
        said = f"{self.folder} has no complete step {step}; it has: {steps}"
        raise UsageError("; ".join([said, *self.warnings]))


def _seal(folder: Path, step: int, facts: Mapping[str, Any]) -> None:
    """Write the manifest over everything that lies in the folder, and force all onto the disk."""
    entries = {
        name: {"sha256": files.digest(folder / name), "size": size} for name, size in _sizes(folder)
    }
    score = facts["score"]
    manifest = {
        **redact.tree(dict(facts), redact.known(os.environ)),
        "score": None if score is None else files.finite(score),
        "schema_version": SCHEMA_VERSION,
        "step": step,
        "created_at": layout.timestamp(),
        "files": entries,
    }
    files.write_json(folder / MANIFEST, manifest)
    files.sync_tree(folder)


def _sizes(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the relative name and size of every file, at any depth; links are `IntegrityError`."""
    for parent, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(parent, name)
            if path.is_symlink():
                raise IntegrityError(f"{path} is a link; a checkpoint holds its files itself")
        for name in names:
            path = Path(parent, name)
            yield path.relative_to(folder).as_posix(), _size(path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise IntegrityError(f"{path} is gone: {error.strerror}") from error


def _digest(path: Path) -> str:
    try:
        return files.digest(path)
    except OSError as error:
        raise IntegrityError(f"{path} cannot be read: {error.strerror}") from error


def _unsound(manifest: Any) -> str | None:
    """Return what is wrong with the data of a manifest."""
    match manifest:
        case {
            "schema_version": 1,
            "step": int() as step,
            "files": dict() as entries,
            "score": int() | float() | None,
        } if step >= 0:
            for name, entry in entries.items():
                match entry:
                    case {"sha256": str(), "size": int()}:
                        continue
                return f"the entry of {name}"
            return None
        case {"schema_version": version} if version != SCHEMA_VERSION:
            return f"schema version {version}; this program reads {SCHEMA_VERSION}"
    return "it lacks a step, files or a score"


def _best_first(complete: list[Checkpoint]) -> list[Checkpoint]:
    scored = [(found.score, found.step, found) for found in complete if found.score is not None]
    return [found for _, _, found in sorted(scored, key=lambda one: one[:2], reverse=True)]


def _hidden(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*")) if folder.is_dir() else []


def _is_abandoned(pid: int) -> bool:
    """Tell whether nobody writes a hidden folder of this process any more.

    A leftover with our own number is of an earlier life (containers start at the same numbers).
    """
    return pid == os.getpid() or status.process_started(pid) is None
