"""Names that people give to runs: kept in the log root as name -> place of the run.

A name means the newest run that was started under it. The one before keeps its folder and its
place, so that nothing is lost when a name is used again.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from srb_train.errors import UsageError
from srb_train.operations import control
from srb_train.operations.requests import TrainRequest
from srb_train.runs import files, layout
from srb_train.runs.status import ALIVE
from srb_train.runs.store import Run, RunStore

NAMES = ".names.json"
LOCK = ".names.lock"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_STAMP = re.compile(r"\d{8}T\d{6}Z")


def names(logdir: Path) -> dict[str, str]:
    """Return every name with the place, below the log root, of the run that it means."""
    path = logdir / NAMES
    return dict(files.read_json(path)) if path.exists() else {}


def name_of(place: str, known: dict[str, str]) -> str | None:
    """Return the name that means the run at `place`; None where it has none."""
    return next((name for name, meant in reversed(known.items()) if meant == place), None)


def start_named(name: str, request: TrainRequest, *, seconds: float) -> dict[str, Any]:
    """Train in the background under a name; a run of that name that still lives is an error.

    Returns what `start` does, and `replaced`: the place of the run that had the name before.
    """
    _check(name)
    logdir = (request.logdir or layout.default_root()).absolute()
    with _held(logdir):
        known = names(logdir)
        before = known.get(name)
        if before is not None:
            _refuse_living(name, logdir / before)
        found = control.start(replace(request, logdir=logdir), seconds=seconds)
        # The last one stands at the end: of two names of one run the newer one is shown.
        known.pop(name, None)
        files.write_json(logdir / NAMES, {**known, name: found["run"]})
    return {**found, "replaced": before}


def _check(name: str) -> None:
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            f"{name!r:.150} cannot name a run: letters, digits, dots, dashes and underscores, at "
            "most 128, beginning with a letter or a digit"
        )
    if _STAMP.match(name):
        raise UsageError(f"{name} looks like the stamp of a run: choose another name")


@contextmanager
def _held(logdir: Path) -> Iterator[None]:
    """Be the only one who gives names; of two starts under one name, one is refused."""
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        with files.exclusive(logdir / LOCK):
            yield
    except OSError as error:
        raise UsageError(f"{logdir}: {error.strerror}; choose another --logdir") from error


def _refuse_living(name: str, path: Path) -> None:
    if not layout.is_run(path):
        return
    state = Run(path).status().state
    if state in ALIVE or state == "reserved":
        raise UsageError(f"{name} is {state}: stop it first, or choose another name")


def find_named(name: str, logdir: Path) -> Run:
    """Return the run that a name, a place or a part of a place means."""
    place = names(logdir).get(name, name)
    path = logdir / place
    around = [up for up in (path, *path.parents) if up.is_relative_to(logdir)]
    run = next((up for up in around if layout.is_run(up)), None)
    return RunStore(logdir).find(place) if run is None else Run(run)
