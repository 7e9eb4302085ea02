"""`srb agent`: train a policy, evaluate or watch one, or let zero or random actions play."""

from functools import partial

import typer

from srb_train import operations
from srb_train.cli import answers, display, line, options, render
from srb_train.cli.requests import filled, help_when_alone, simulator_options
from srb_train.errors import UsageError
from srb_train.operations import EvalRequest, TrainRequest, ViewRequest
from srb_train.operations.runs import describe

START = "start"
"""The name under which `srb run` has `train`: there it is always detached."""

app = typer.Typer(
    help="Train, evaluate, watch, or act without a policy.",
    callback=help_when_alone,
    invoke_without_command=True,
)


@app.command()
def train(
    context: typer.Context,
    *,
    algo: options.Algo,
    env: options.Env,
    settings: options.Settings = None,
    continue_training: options.Continue = False,
    model: options.Model = None,
    additional: options.Additional = None,
    after: options.After = None,
    seed: options.Seed = None,
    device: options.Device = None,
    logdir: options.Logdir = None,
    config_dir: options.ConfigDir = None,
    dry_run: options.DryRun = False,
    smoke: options.Smoke = False,
    video: options.Films = False,
    perf: options.Perf = False,
    repl: options.Repl = None,
    detach: options.Detach = False,
    ready: options.Ready = operations.READY_SECONDS,
    as_json: options.DetachedJson = False,
    hide_ui: options.HideUi = False,
    headless: options.Headless = False,
    livestream: options.Livestream = None,
    rendering_mode: options.RenderingMode = None,
    xr: options.Xr = False,
    enable_cameras: options.EnableCameras = False,
    kit_args: options.KitArgs = None,
) -> int:
    """Train a policy, or go on with a run.

    Example: srb agent train --algo sb3_ppo --env landing env.num_envs=512 run.steps=2e6
    """
    asked = filled(
        TrainRequest,
        context,
        simulator=simulator_options(context),
        command=("srb", *context.obj.typed),
    )
    if dry_run:
        return render.show(render.plan(operations.prepare(asked).describe()))
    if detach or context.info_name == START:
        return _detached(asked, repl, ready, as_json)
    if as_json:
        raise UsageError("--json answers for --detach; a run in the foreground shows itself")
    return _attended(asked, repl, hide_ui)


def _attended(asked: TrainRequest, repl: str | None, plain: bool) -> int:
    if asked.after is not None:
        operations.await_turn(asked, typer.echo)
    outcome = operations.train(asked, partial(display.opened, plain=plain))
    if outcome.plan.done:
        return render.show(render.plan(outcome.plan.describe()))
    render.ending(describe(outcome.run))
    if repl is not None:
        return operations.repl(outcome.run, None if repl == line.ANY_SHELL else repl)
    return outcome.exit_code


def _detached(asked: TrainRequest, repl: str | None, ready: float, as_json: bool) -> int:
    if repl is not None:
        raise UsageError("--repl opens a shell when training has ended: leave out --detach")
    found = operations.start(asked, seconds=ready)
    render.show(answers.started(found), found, as_json)
    return 1 if found["status"] in ("failed", "lost") else 0


@app.command("eval")
def evaluate(
    context: typer.Context,
    *,
    settings: options.Settings = None,
    algo: options.AnyAlgo = None,
    env: options.AnyEnv = None,
    model: options.Model = None,
    run: options.RunName = None,
    episodes: options.Episodes = 200,
    num_envs: options.NumEnvs = None,
    seed: options.Seed = None,
    device: options.Device = None,
    logdir: options.Logdir = None,
    config_dir: options.ConfigDir = None,
    video: options.Video = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
) -> int:
    """Evaluate a policy on fresh episodes and write eval.json.

    Example: srb agent eval --algo sb3_ppo --env landing --episodes 200
    """
    result = operations.evaluate(filled(EvalRequest, context))
    return render.show(render.evaluation(result), result, as_json)


@app.command()
def play(
    context: typer.Context,
    *,
    settings: options.Settings = None,
    algo: options.AnyAlgo = None,
    env: options.AnyEnv = None,
    model: options.Model = None,
    run: options.RunName = None,
    policy: options.Untrained = None,
    viewer: options.Viewer = None,
    out: options.FilmOut = None,
    episodes: options.Shows = None,
    num_envs: options.Rows = None,
    speed: options.Speed = 1.0,
    port: options.Port = 8080,
    seed: options.Seed = None,
    device: options.Device = None,
    logdir: options.Logdir = None,
    config_dir: options.ConfigDir = None,
    as_json: options.AsJson = False,
) -> int:
    """Watch a policy act: in a window, in the browser, or as a film.

    Example: srb agent play --algo sb3_ppo --env landing --out landing.mp4
    """
    found = operations.play(filled(ViewRequest, context))
    render.show(render.evaluation(found), found, as_json)
    return int(found["exit_code"])


@app.command()
def zero(
    context: typer.Context,
    *,
    env: options.Env,
    settings: options.Settings = None,
    episodes: options.Episodes = 20,
    num_envs: options.NumEnvs = None,
    seed: options.Seed = None,
    config_dir: options.ConfigDir = None,
    video: options.Video = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
) -> int:
    """Let zero actions play a task, to see what doing nothing earns."""
    result = operations.roll("zero", filled(EvalRequest, context))
    return render.show(render.evaluation(result), result, as_json)


@app.command("rand")
def random(
    context: typer.Context,
    *,
    env: options.Env,
    settings: options.Settings = None,
    episodes: options.Episodes = 20,
    num_envs: options.NumEnvs = None,
    seed: options.Seed = None,
    config_dir: options.ConfigDir = None,
    video: options.Video = False,
    out: options.Out = None,
    as_json: options.AsJson = False,
) -> int:
    """Let random actions play a task, the floor that a policy must beat."""
    result = operations.roll("rand", filled(EvalRequest, context))
    return render.show(render.evaluation(result), result, as_json)
