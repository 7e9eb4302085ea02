"""`srb env`: look at tasks, measure and check them, begin a new one."""

from pathlib import Path
from typing import Annotated

import typer

from srb_train import operations
from srb_train.cli import options, render, tasks
from srb_train.cli.requests import help_when_alone
from srb_train.operations.settings import typed_settings

app = typer.Typer(
    help="Show, measure, check and begin tasks.",
    callback=help_when_alone,
    invoke_without_command=True,
)

Task = Annotated[str, typer.Argument(metavar="TASK", help="A task, as --env takes it.")]
Frame = Annotated[
    Path | None,
    typer.Option("--frame", path_type=Path, metavar="FILE", help="Save a picture (.png)."),
]
Copies = Annotated[
    list[int] | None,
    typer.Option("--copies", min=1, metavar="N", help="Copies that step together; repeatable."),
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0.05, metavar="S", help="Time for each number of copies.")
]
Folder = Annotated[
    Path, typer.Option("--folder", path_type=Path, metavar="FOLDER", help="Where it is written.")
]


@app.command()
def show(
    env: Task,
    settings: options.Settings = None,
    frame: Frame = None,
    as_json: options.AsJson = False,
) -> int:
    """Tell what a task is: observations, actions, limits, settings; save a picture.

    Example: srb env show landing --frame landing.png
    """
    found = operations.show_env(env, typed_settings(settings or ()), frame=frame)
    return render.show(tasks.shown(found), found, as_json)


@app.command()
def bench(
    env: Task,
    settings: options.Settings = None,
    copies: Copies = None,
    seconds: Seconds = 1.0,
    as_json: options.AsJson = False,
) -> int:
    """Measure how fast a task steps on one core, beside what random actions cost.

    Example: srb env bench landing --copies 1 --copies 512
    """
    found = operations.bench_env(
        env, typed_settings(settings or ()), copies=copies or operations.COPIES, seconds=seconds
    )
    return render.show(tasks.rates(found), found, as_json)


@app.command()
def check(env: Task, settings: options.Settings = None, as_json: options.AsJson = False) -> int:
    """Check that a task keeps the contract of training; leaves by 1 if it does not.

    Example: srb env check gymnasium/Pendulum-v1
    """
    found = operations.check_env(env, typed_settings(settings or ()))
    render.show(render.findings(found), found, as_json)
    return 1 if found["state"] == "fail" else 0


@app.command()
def new(name: Annotated[str, typer.Argument(metavar="NAME")], folder: Folder = Path()) -> int:
    """Write a task to start from, and its test.

    Example: srb env new hover_low --folder my_tasks
    """
    found = operations.new_env(name, folder)
    return render.show(tasks.begun(found))
