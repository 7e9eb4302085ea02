"""`srb ls`: what can be trained, and on what."""

from typing import Annotated, Any, Literal

import typer

from srb_train import operations
from srb_train.cli import options, render

What = Annotated[Literal["all", "algos", "envs"], typer.Argument(help="What to list.")]


def ls(what: What = "all", as_json: options.AsJson = False) -> int:
    """List algorithm labels with what they can do, and tasks.

    Example: srb ls algos
    """
    found: dict[str, Any] = {}
    if what in ("all", "algos"):
        found["algos"] = operations.algos()
    if what in ("all", "envs"):
        found["envs"] = operations.envs()
    return render.show(render.catalog(found), found, as_json)
