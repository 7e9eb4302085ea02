"""Where things lie: the names inside a run's folder, and how a folder is reserved and found."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from srb_train.errors import UsageError

RUN = "run.json"
METADATA = "metadata.json"
SPEC = "spec.json"
PARAMS = "params"
METRICS = "metrics.jsonl"
LOG = "train.log"
HEARTBEAT = "heartbeat.json"
CHECKPOINTS = "ckpt"
EVAL = "eval"
VIDEOS = "videos"
RECORD_LOCK = ".run.lock"
CLAIM = ".claim"

_LAST_SUFFIX = 999
_DEEPEST = 10
"""Folders between the log root and a run: the parts of a task's name, and its label."""


def default_root() -> Path:
    """Return `<repository>/logs` in a checkout of this project, `<current folder>/logs` else."""
    repository = Path(__file__).resolve().parents[2]
    return (repository if (repository / ".git").exists() else Path.cwd()) / "logs"


def timestamp(now: datetime | None = None) -> str:
    """Return a moment in UTC as ISO 8601 with milliseconds; the text sorts as the time does."""
    return (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="milliseconds")


def group(root: Path, env: str, label: str) -> Path:
    """Return the folder of all runs of a label on a task; a hostile name is a `UsageError`."""
    parts = [*_parts("--env", env), *_parts("--algo", label)]
    if len(parts) > _DEEPEST:
        raise UsageError(f"--env {env}: more than {_DEEPEST} parts between slashes")
    return root.joinpath(*parts)


def _parts(option: str, name: str) -> list[str]:
    parts = name.split("/")
    for part in parts:
        if not part or part.startswith(".") or not _is_file_name(part):
            raise UsageError(
                f"{option} {name!r} cannot name a folder: parts between slashes must be printable, "
                "not empty, not longer than 200 bytes, and not begin with a dot"
            )
    return parts


def _is_file_name(part: str) -> bool:
    return part.isprintable() and len(part.encode("utf-8", "replace")) <= 200


def reserve(root: Path, env: str, label: str, now: datetime | None = None) -> Path:
    """Make a new folder `<root>/<env>/<label>/<UTC stamp>[-NNN]` that nobody else has.

    The exclusive `mkdir` decides between any number of processes and hosts.
    """
    folder = group(root, env, label)
    outer = next((up for up in _between(folder, root) if is_run(up)), None)
    if outer is not None:
        raise UsageError(f"--env {env}: {outer} is a run; a run cannot hold other runs")
    stamp = f"{(now or datetime.now(UTC)).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _first_free(folder, stamp)
    except OSError as error:
        raise UsageError(
            f"no run can be made in {folder}: {error.strerror}; choose another --logdir"
        ) from error


def _between(folder: Path, root: Path) -> list[Path]:
    return [folder, *(up for up in folder.parents if up.is_relative_to(root))]


def _first_free(folder: Path, stamp: str) -> Path:
    for number in range(_LAST_SUFFIX + 1):
        path = folder / (f"{stamp}-{number:03}" if number else stamp)
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise UsageError(f"{folder} holds {_LAST_SUFFIX + 1} runs of the second {stamp}; wait a second")


def is_run(folder: str | Path) -> bool:
    """Tell whether a folder holds a run.json that we may know of."""
    return os.path.isfile(f"{folder}/{RUN}")


def find_run_folders(root: Path) -> Iterator[Path]:
    """Yield every folder under `root` that holds a run.json; strangers and links are passed by."""
    pending = [(os.fspath(root), 0)]
    while pending:
        folder, depth = pending.pop()
        if depth and is_run(folder):
            yield Path(folder)
        elif depth <= _DEEPEST:
            pending.extend((inner, depth + 1) for inner in subfolders(folder))


def subfolders(folder: str | Path) -> list[str]:
    """Return the visible folders in a folder; links are not followed, so no walk can go round."""
    try:
        with os.scandir(folder) as entries:
            return [
                entry.path
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []  # gone meanwhile, no folder, or not ours to read
