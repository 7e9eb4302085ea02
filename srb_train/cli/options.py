"""The options of the commands, each named once; several commands share many of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from srb_train import operations
from srb_train.cli.line import SHELLS

_SIMULATOR = "Simulators only: "


def _whole_number(text: str) -> int:
    """Read a count such as `5000`, `5_000` or `5e3`."""
    try:
        number = int(text) if text.replace("_", "").isdigit() else float(text)
    except ValueError:
        raise typer.BadParameter("not a whole number") from None
    if not number > 0 or number != number // 1:
        raise typer.BadParameter("not a whole number above zero")
    return int(number)


def _labels(incomplete: str) -> list[str]:
    return _beginning(incomplete, [row["label"] for row in operations.algos()])


def _tasks(incomplete: str) -> list[str]:
    return _beginning(incomplete, [row["task"] for row in operations.envs()])


def _beginning(incomplete: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


_ALGO = typer.Option(
    "--algo", metavar="LABEL", help="Algorithm (`srb ls algos`).", autocompletion=_labels
)
_ENV = typer.Option(
    "--env", "--task", "-e", metavar="TASK", help="Task (`srb ls envs`).", autocompletion=_tasks
)

Algo = Annotated[str, _ALGO]
AnyAlgo = Annotated[str | None, _ALGO]
Env = Annotated[str, _ENV]
AnyEnv = Annotated[str | None, _ENV]
Settings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        help="Settings over the presets, anywhere on the line: env.num_envs=512 agent.gamma=0.98",
        show_default=False,
    ),
]
ConfigDir = Annotated[
    Path | None,
    typer.Option(
        "--config-dir", path_type=Path, metavar="FOLDER", help="Your own presets, laid over ours."
    ),
]
Logdir = Annotated[
    Path | None,
    typer.Option(
        "--logdir", "--logs", path_type=Path, metavar="FOLDER", help="Root folder of all runs."
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, metavar="N", help="Seed of every generator.")
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="cpu, cuda or cuda:N.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PATH",
        help="Checkpoint of a run, or the framework's own model file; relative to where you are.",
    ),
]
Video = Annotated[bool, typer.Option("--video", help="Record one episode.")]
Films = Annotated[
    bool,
    typer.Option("--video", help="Film an episode of new checkpoints, beside the training."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
After = Annotated[
    str | None,
    typer.Option(
        "--after",
        metavar="RUN",
        help="Begin when this run is completed; with --model RUN, from its newest weights.",
    ),
]

Continue = Annotated[
    bool,
    typer.Option(
        "--continue_training", "--continue", help="Go on in the newest run of this label and task."
    ),
]
Additional = Annotated[
    int | None,
    typer.Option(
        "--additional",
        "--additional-steps",
        parser=_whole_number,
        metavar="N",
        help="Transitions on top of the checkpoint, in place of the total run.steps.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything, print the plan, train nothing.")
]
Smoke = Annotated[
    bool, typer.Option("--smoke", help="Shrink the run to seconds, to see that it works.")
]
Perf = Annotated[bool, typer.Option("--perf", help="Measure step rates and report them.")]
Repl = Annotated[
    str | None,
    typer.Option(
        "--repl",
        metavar=f"[{'|'.join(SHELLS)}]",
        help="Open a shell on the run when training has ended.",
    ),
]
HideUi = Annotated[bool, typer.Option("--hide_ui", help="Plain lines, no live display.")]

Headless = Annotated[bool, typer.Option("--headless", help=f"{_SIMULATOR}no viewer.")]
Livestream = Annotated[
    int | None,
    typer.Option("--livestream", min=-1, max=2, metavar="MODE", help=f"{_SIMULATOR}stream it."),
]
RenderingMode = Annotated[
    Literal["performance", "balanced", "quality", "xr"] | None,
    typer.Option("--rendering_mode", help=f"{_SIMULATOR}quality of the picture."),
]
Xr = Annotated[bool, typer.Option("--xr", help=f"{_SIMULATOR}extended reality.")]
EnableCameras = Annotated[
    bool, typer.Option("--enable_cameras", help=f"{_SIMULATOR}allow camera sensors.")
]
KitArgs = Annotated[
    str | None,
    typer.Option("--kit_args", metavar="TEXT", help=f"{_SIMULATOR}arguments passed on to Kit."),
]

RunName = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="A run; its newest checkpoint is used.")
]
Episodes = Annotated[
    int, typer.Option("--episodes", min=1, metavar="N", help="Episodes over all copies.")
]
NumEnvs = Annotated[
    int | None, typer.Option("--num_envs", min=1, metavar="N", help="Copies of the task.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", path_type=Path, metavar="FILE", help="Where the result is written."),
]

Shows = Annotated[
    int | None,
    typer.Option(
        "--episodes",
        min=1,
        metavar="N",
        help="Episodes over all copies, then it ends; a film has one, others go on until closed.",
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--num_envs", min=1, metavar="N", help="Copies, side by side in a grid."),
]
Untrained = Annotated[
    Literal["zero", "random"] | None,
    typer.Option("--policy", help="Zero or random actions in the place of a run."),
]
Viewer = Annotated[
    Literal["window", "browser", "file"] | None,
    typer.Option(
        "--viewer", help="Where to watch; without it a window, or the browser where none opens."
    ),
]
FilmOut = Annotated[
    Path | None,
    typer.Option(
        "--out", path_type=Path, metavar="FILE", help="A film (.mp4 or .gif) instead of a viewer."
    ),
]
Speed = Annotated[
    float, typer.Option("--speed", min=0.05, max=20, metavar="X", help="Multiple of real time.")
]
Port = Annotated[
    int,
    typer.Option("--port", min=1, max=65535, metavar="N", help="Of the page in the browser."),
]

Name = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's name, the end of it, or its folder.")
]
Names = Annotated[list[str], typer.Argument(metavar="RUN...", help="Two or more runs.")]
Status = Annotated[
    operations.State | None,
    typer.Option("--status", help="Only runs of this status."),
]
LastN = Annotated[
    int | None, typer.Option("--last-n", min=-1, metavar="N", help="Only the newest N; -1 is all.")
]
Detach = Annotated[
    bool, typer.Option("--detach", help="Train in the background; `srb run` looks after it.")
]
DetachedJson = Annotated[
    bool, typer.Option("--json", help="With --detach: print JSON instead of text.")
]
Ready = Annotated[
    float,
    typer.Option("--ready", min=0, metavar="SECONDS", help="How long to wait for its beginning."),
]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0, metavar="SECONDS", help="Then it is killed.")
]
Patience = Annotated[
    float | None,
    typer.Option("--timeout", min=0, metavar="SECONDS", help="Give up after this; exit 124."),
]
Poll = Annotated[
    float, typer.Option("--poll", min=0.05, metavar="SECONDS", help="Time between two looks.")
]
Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Go on with new lines until the run has ended.")
]
StepGoal = Annotated[
    int | None,
    typer.Option("--step", parser=_whole_number, metavar="N", help="That it has done N steps."),
]
ReturnGoal = Annotated[
    float | None, typer.Option("--return", metavar="X", help="That its mean return is X or more.")
]
DoneGoal = Annotated[bool, typer.Option("--done", help="That it is completed.")]
MetricGoal = Annotated[
    bool, typer.Option("--first-metric", help="That it has written a first scalar.")
]
CheckpointGoal = Annotated[
    bool, typer.Option("--new-checkpoint", help="That it has a checkpoint besides --known.")
]
Known = Annotated[
    list[int] | None,
    typer.Option("--known", metavar="STEP", help="A checkpoint that is no news; repeatable."),
]
Kill = Annotated[bool, typer.Option("--kill", help="End them; without it they are only listed.")]
File = Annotated[Path, typer.Argument(path_type=Path, metavar="FILE", help="A YAML file.")]


def limit(last_n: int | None) -> int | None:
    """Return how many to show; None for all, which is also what -1 means."""
    if last_n == 0:
        raise typer.BadParameter("at least 1, or -1 for all", param_hint="--last-n")
    return None if last_n == -1 else last_n


Tags = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TAG]...",
        help="Only these tags, or patterns like 'episode/*'.",
        show_default=False,
    ),
]
ComparedTag = Annotated[
    str, typer.Option("--metric", "--tag", metavar="TAG", help="What to compare.")
]
Png = Annotated[
    Path | None,
    typer.Option("--png", path_type=Path, metavar="FILE", help="Draw the curves into a picture."),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", path_type=Path, metavar="FILE", help="Write a page with the curves."),
]
Every = Annotated[
    float, typer.Option("--every", min=0.2, metavar="SECONDS", help="Time between two looks.")
]
Points = Annotated[
    int, typer.Option("--points", min=1, max=1000, metavar="N", help="Steps to compare at.")
]
