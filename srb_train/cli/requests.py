"""From parsed options to the requests that operations take: options are named as their fields."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import typer

from srb_train.operations import EvalRequest, Goal, TrainRequest, ViewRequest
from srb_train.operations.settings import typed_settings

Request = TypeVar("Request", TrainRequest, EvalRequest, ViewRequest)

SIMULATOR = ("headless", "livestream", "rendering_mode", "xr", "enable_cameras", "kit_args")


def filled(kind: type[Request], context: typer.Context, **more: Any) -> Request:
    """Return a request with every option of the command that is one of its fields."""
    typed = context.params
    named = {field.name: typed[field.name] for field in fields(kind) if field.name in typed}
    return kind(**named, overrides=typed_settings(typed["settings"] or ()), **more)


def simulator_options(context: typer.Context) -> dict[str, Any]:
    """Return the simulator-only options that were given, by their names."""
    typed = {name: context.params[name] for name in SIMULATOR}
    return {
        name: value for name, value in typed.items() if value is not None and value is not False
    }


def goal(
    step: int | None,
    mean_return: float | None,
    done: bool,
    first_metric: bool,
    known: Sequence[int] | None,
) -> Goal:
    """Return what is asked of a run."""
    return Goal(
        step=step,
        mean_return=mean_return,
        done=done,
        first_metric=first_metric,
        known_checkpoints=known,
    )


def help_when_alone(context: typer.Context) -> None:
    """Print the help of a group of commands when none of them was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
