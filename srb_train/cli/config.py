"""`srb config`: what a run would be made of."""

import typer

from srb_train import operations
from srb_train.cli import options, render
from srb_train.cli.requests import filled, help_when_alone
from srb_train.operations import TrainRequest

app = typer.Typer(
    help="Look at the composed configuration.",
    callback=help_when_alone,
    invoke_without_command=True,
)


@app.command()
def show(
    context: typer.Context,
    *,
    algo: options.Algo,
    env: options.Env,
    settings: options.Settings = None,
    seed: options.Seed = None,
    device: options.Device = None,
    config_dir: options.ConfigDir = None,
) -> int:
    """Print the configuration of a run, with where each value came from.

    Example: srb config show --algo sb3_ppo --env landing agent.gamma=0.98
    """
    return render.show(operations.show_config(filled(TrainRequest, context)))
