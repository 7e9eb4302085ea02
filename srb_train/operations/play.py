"""Show a policy to a person: in a window, in the browser, or as a film."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from srb_train.errors import UsageError
from srb_train.operations import acting
from srb_train.operations.requests import ViewRequest
from srb_train.playback_request import RANDOM, ZERO, PlayRequest, View
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import Checkpoint
from srb_train.runs.store import Run
from srb_train.viewers import BROWSER, FILE, choice

POLICIES = {"zero": ZERO, "random": RANDOM}
"""What acts without having learned, by the name that `--policy` takes."""
MOST_ROWS = 36
"""Rows of a grid that are still told apart on a screen."""
FILMS = (".mp4", ".gif")
_SIGNALLED = 128


def play(request: ViewRequest, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Show what the request names; returns what was seen, as an evaluation says it.

    `exit_code` is 128 + n where signal n ended it; the result tells what was seen until then.
    """
    with tempfile.TemporaryDirectory(prefix="srb-") as scratch:
        order, facts, film = _cast(request, Path(scratch) / "seen.json")
        where = _viewer(request, environ)
        if order.num_envs > MOST_ROWS:
            raise UsageError(
                f"--num_envs {order.num_envs}: a picture has room for {MOST_ROWS} at most"
            )
        view = View(
            where=where,
            # A film without an end would fill the disk.
            episodes=request.episodes or (order.num_envs if where == FILE else None),
            speed=request.speed,
            port=request.port,
            film=str(film) if where == FILE else None,
        )
        code = acting.carry_out(replace(order, view=view), environ)
        seen = Path(order.output)
        if code and not (code > _SIGNALLED and seen.exists()):
            raise acting.ChildFailed(code, "nothing more was shown")
        return {**facts, **files.read_json(seen), "path": None, "exit_code": code}


def _viewer(request: ViewRequest, environ: Mapping[str, str]) -> str | None:
    """Return the viewer that was asked for, None for a free choice; mistakes are found here."""
    if request.out is not None:
        if request.viewer not in (None, FILE):
            raise UsageError(f"--out is a film: leave it out, or --viewer {request.viewer}")
        if request.out.suffix not in FILMS:
            raise UsageError(f"--out {request.out}: a film ends in {' or '.join(FILMS)}")
        return FILE
    if choice.first(request.viewer, environ, sys.platform) == BROWSER:
        choice.require_browser(request.port)
    return request.viewer


def _cast(request: ViewRequest, output: Path) -> tuple[PlayRequest, dict[str, Any], Path]:
    """Return the order of whoever acts, what is said of it, and where a film of it would go."""
    if request.policy is None:
        run, checkpoint = acting.checkpoint_of(request)
        order = acting.of_checkpoint(checkpoint, _one_row(request), output)
        facts = acting.told_of(order, run, checkpoint)
        return order, facts, (request.out or _film(run, checkpoint)).absolute()
    named = [f"--{name}" for name in ("algo", "model", "run") if getattr(request, name) is not None]
    if named:
        raise UsageError(f"--policy {request.policy} and {named[0]} exclude each other")
    kind = POLICIES[request.policy]
    order = acting.of_actions(kind, _one_row(request), output)
    film = request.out or Path(f"play-{kind}.mp4")
    return order, {"algo": kind, "env": order.env}, film.absolute()


def _one_row(request: ViewRequest) -> ViewRequest:
    """Show one row where nothing was said, however many the task's preset steps together."""
    return replace(request, num_envs=request.num_envs or 1)


def _film(run: Run | None, checkpoint: Checkpoint) -> Path:
    """Return where a film goes: among the videos of its run, else where we stand."""
    name = f"play-{checkpoint.step}.mp4"
    return run.path / layout.VIDEOS / name if run else Path(name)
