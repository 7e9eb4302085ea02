"""The command line: every command reads its options, calls one operation and prints.

`main` is the only place where a failure becomes a few lines on stderr and an exit code.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated

import typer
from click import ClickException

import srb_train
from srb_train import redact
from srb_train.cli import agent, config, env, line, render, run
from srb_train.cli.doctor import doctor
from srb_train.cli.line import Line
from srb_train.cli.ls import ls
from srb_train.cli.mcp import mcp
from srb_train.errors import SrbError, UsageError

NO_VARIABLE = " (env var: 'None')"
"""What Typer adds to a missing option that no environment variable could give."""

app = typer.Typer(
    name="srb",
    help="Train any RL algorithm of any framework on any task, and leave a run you can trust.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "token_normalize_func": line.same_spelling,
        "help_option_names": ["--help", "-h"],
    },
)
app.add_typer(agent.app, name="agent")
app.add_typer(run.app, name="run")
app.add_typer(env.app, name="env")
app.add_typer(config.app, name="config")
app.command()(ls)
app.command()(doctor)
app.command()(mcp)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"srb {srb_train.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks; stands anywhere on the line.")
    ] = False,
) -> None:
    """Print the help when no command was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(typed: Sequence[str] | None = None) -> int:
    """Run one command line, by default this process's; returns its exit code."""
    sys.excepthook = _show_traceback
    words = line.read(sys.argv[1:] if typed is None else typed)
    try:
        line.refuse_forwarding(words)
        return _call(words)
    except SrbError as error:
        return _fail(error, words)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(SrbError(f"{where}{error.strerror or error}"), words)


def _call(words: Line) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(list(words.words), prog_name="srb", standalone_mode=False, obj=words)
    except ClickException as error:
        path = getattr(getattr(error, "ctx", None), "command_path", "srb")
        said = " ".join(error.format_message().replace(NO_VARIABLE, "").split()).rstrip(".")
        raise UsageError(f"{said}; see `{path} --help`") from error
    return code or 0


def _fail(error: SrbError, words: Line) -> int:
    if words.debug:
        _show_traceback(type(error), error, error.__traceback__)
    render.failure(error.category, str(error))
    return error.exit_code


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback without secrets."""
    text = "".join(traceback.format_exception(kind, error, trace))
    typer.echo(redact.text(text, redact.known(os.environ)), err=True, nl=False)
