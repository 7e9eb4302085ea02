"""`srb run`: what is known about runs."""

import typer

from srb_train import operations
from srb_train.cli import options, render
from srb_train.cli.requests import help_when_alone

app = typer.Typer(
    help="List, show, measure and compare runs.",
    callback=help_when_alone,
    invoke_without_command=True,
)


@app.command("list")
def list_(
    algo: options.AnyAlgo = None,
    env: options.AnyEnv = None,
    status: options.Status = None,
    last_n: options.LastN = None,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """List runs, newest first.

    Example: srb run list --status completed --last-n 5
    """
    found = operations.list_runs(logdir, algo=algo, env=env, state=status, last_n=last_n)
    return render.show(render.runs(found), found, as_json)


@app.command()
def show(name: options.Name, logdir: options.Logdir = None, as_json: options.AsJson = False) -> int:
    """Tell everything about a run: what, where, how far, how good, and how to go on.

    Example: srb run show 20261130T101502Z
    """
    found = operations.show_run(name, logdir)
    return render.show(render.run(found), found, as_json)


@app.command()
def metrics(
    name: options.Name,
    tags: options.Tags = None,
    last_n: options.LastN = None,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Print what a run measured: the points of some tags, or an overview of all.

    Example: srb run metrics 20261130T101502Z 'episode/*' --last-n 10
    """
    found = operations.run_metrics(name, logdir, tags=tags or (), last_n=last_n)
    text = render.series(found) if tags else render.overview(found)
    return render.show(text, found, as_json)


@app.command()
def compare(
    names: options.Names,
    tag: options.ComparedTag = "episode/return",
    points: options.Points = 10,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Compare a metric of several runs at equal steps, and tell which settings differ.

    Example: srb run compare 20261130T101502Z 20261130T111502Z --tag episode/success_rate
    """
    found = operations.compare_runs(names, logdir, tag=tag, points=points)
    return render.show(render.comparison(found), found, as_json)


@app.command()
def checkpoints(
    name: options.Name, logdir: options.Logdir = None, as_json: options.AsJson = False
) -> int:
    """List the complete checkpoints of a run.

    Example: srb run checkpoints 20261130T101502Z
    """
    found = operations.checkpoints(name, logdir)
    return render.show(render.checkpoints(found), found, as_json)
