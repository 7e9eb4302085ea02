"""`srb run`: what is known about runs, and what can be done with them."""

import typer

from srb_train import operations
from srb_train.cli import agent, answers, compared, extras, options, render
from srb_train.cli.requests import goal, help_when_alone
from srb_train.operations import TIMED_OUT
from srb_train.operations.settings import typed_settings

app = typer.Typer(
    help="Start, stop, watch and compare runs.",
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
    found = operations.list_runs(
        logdir, algo=algo, env=env, state=status, last_n=options.limit(last_n)
    )
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
    found = operations.run_metrics(name, logdir, tags=tags or (), last_n=options.limit(last_n))
    text = render.series(found) if tags else render.overview(found)
    return render.show(text, found, as_json)


@app.command()
def compare(
    names: options.Names,
    *,
    tag: options.ComparedTag = "episode/return",
    points: options.Points = 10,
    png: options.Png = None,
    html: options.Html = None,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Compare a metric of several runs at equal steps, draw it, and tell which settings differ.

    Example: srb run compare 20261130T101502Z 20261130T111502Z --metric episode/success_rate
    """
    found = operations.compare_runs(names, logdir, tag=tag, points=points)
    drawn = operations.curves(names, logdir, tags=(tag, *operations.CANONICAL))
    files = compared.write(drawn, found, png, html)
    data = {**found, "curves": drawn["metrics"], "files": files}
    return render.show(compared.shown(found, drawn, files), data, as_json)


@app.command()
def top(logdir: options.Logdir = None, every: options.Every = 2.0) -> int:
    """Watch all runs on one screen: curves, rates, the machine; keys stop and follow.

    Example: srb run top
    """
    dashboard = extras.part("srb_train.cli.dashboard", "textual", "top")
    return int(dashboard.opened(logdir, every))


@app.command()
def checkpoints(
    name: options.Name, logdir: options.Logdir = None, as_json: options.AsJson = False
) -> int:
    """List the complete checkpoints of a run.

    Example: srb run checkpoints 20261130T101502Z
    """
    found = operations.checkpoints(name, logdir)
    return render.show(render.checkpoints(found), found, as_json)


app.command("start")(agent.train)


@app.command()
def resume(
    name: options.Name,
    settings: options.Settings = None,
    additional: options.Additional = None,
    ready: options.Ready = operations.READY_SECONDS,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Go on with a run in the background, from its newest checkpoint.

    Example: srb run resume 20261130T101502Z run.steps=4e6
    """
    found = operations.resume(
        name,
        logdir,
        overrides=typed_settings(settings or ()),
        additional=additional,
        seconds=ready,
    )
    render.show(answers.started(found), found, as_json)
    return 0 if found["ready"] or found["done"] else 1


@app.command()
def stop(
    name: options.Name,
    timeout: options.Timeout = operations.STOP_SECONDS,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Ask a run to save and stop; kill it when it takes too long.

    Example: srb run stop 20261130T101502Z --timeout 60
    """
    found = operations.stop(name, logdir, seconds=timeout)
    render.show(answers.stopped(found), found, as_json)
    return 0 if found["stopped"] else 1


@app.command()
def check(
    name: options.Name,
    *,
    step: options.StepGoal = None,
    mean_return: options.ReturnGoal = None,
    done: options.DoneGoal = False,
    first_metric: options.MetricGoal = False,
    new_checkpoint: options.CheckpointGoal = False,
    known: options.Known = None,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Look once whether a run has reached something; leaves by 0 if it has, by 1 if not.

    Example: srb run check 20261130T101502Z --return 20
    """
    asked = goal(step, mean_return, done, first_metric, known or () if new_checkpoint else None)
    found = operations.check(name, asked, logdir)
    render.show(answers.goal(found), found, as_json)
    return 0 if found["reached"] else 1


@app.command()
def wait(
    name: options.Name,
    *,
    step: options.StepGoal = None,
    mean_return: options.ReturnGoal = None,
    done: options.DoneGoal = False,
    first_metric: options.MetricGoal = False,
    new_checkpoint: options.CheckpointGoal = False,
    known: options.Known = None,
    timeout: options.Patience = None,
    poll: options.Poll = 1.0,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Wait until a run has reached something; leaves by 1 if it ended before, by 124 in time.

    Example: srb run wait 20261130T101502Z --done --timeout 3600
    """
    asked = goal(step, mean_return, done, first_metric, known or () if new_checkpoint else None)
    found = operations.wait(name, asked, logdir, seconds=timeout, poll=poll)
    render.show(answers.goal(found), found, as_json)
    return TIMED_OUT if found["timed_out"] else 1 - found["reached"]


@app.command()
def logs(
    name: options.Name,
    follow: options.Follow = False,
    last_n: options.LastN = 50,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Print the newest lines that a run has printed.

    Example: srb run logs 20261130T101502Z -f
    """
    count = options.limit(last_n)
    if follow and not as_json:
        for text in operations.follow(name, logdir, last_n=count):
            typer.echo(text)
        return 0
    found = operations.tail(name, logdir, last_n=count)
    return render.show("\n".join(found["lines"]), found, as_json)


@app.command()
def export(
    name: options.Name,
    last_n: options.LastN = 5,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """Locate the model files and checkpoints of a run.

    Example: srb run export 20261130T101502Z
    """
    found = operations.export(name, logdir, last_n=options.limit(last_n))
    return render.show(answers.exported(found), found, as_json)


@app.command()
def cleanup(
    kill: options.Kill = False,
    logdir: options.Logdir = None,
    as_json: options.AsJson = False,
) -> int:
    """List processes of runs that nobody looks after any more; end them with --kill.

    Example: srb run cleanup --kill
    """
    found = operations.cleanup(logdir, kill=kill)
    return render.show(answers.orphans(found), found, as_json)


files = typer.Typer(
    help="Read and change your own YAML files.",
    callback=help_when_alone,
    invoke_without_command=True,
)
app.add_typer(files, name="config")


@files.command()
def get(path: options.File, as_json: options.AsJson = False) -> int:
    """Print what a YAML file holds.

    Example: srb run config get mine/agent/sb3_ppo.yaml
    """
    found = operations.get_config(path)
    return render.show(answers.settings(found), found, as_json)


@files.command()
def update(
    path: options.File, settings: options.Settings = None, as_json: options.AsJson = False
) -> int:
    """Change keys of a YAML file; its comments and its order stay.

    Example: srb run config update mine/agent/sb3_ppo.yaml gamma=0.98
    """
    found = operations.update_config(path, operations.typed_changes(settings or ()))
    return render.show(answers.settings(found), found, as_json)
