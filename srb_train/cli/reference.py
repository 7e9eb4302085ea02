"""Write docs/cli.md from the commands themselves: `python -m srb_train.cli.reference`.

The parts that no command can tell (exit codes, fields of the JSON output) stand here beside what
tells them.
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

from srb_train import errors
from srb_train.cli import app
from srb_train.errors import SrbError

HEAD = """\
# The command line

Written by `python -m srb_train.cli.reference > docs/cli.md`; a test compares it with the commands.

- Options and settings (`key=value`) stand anywhere on the line. The first `=` divides a setting, so
  a value may hold more of them; quote it for the shell and, where it holds `=`, commas, colons,
  braces or brackets, once more for YAML: `'env.note="a=b, c"'`.
- `--hide_ui` and `--hide-ui` are one option, and so it is with every long option.
- A failure is a few lines on stderr, `error [category] message`; `--debug`, anywhere on the line,
  adds the traceback. What was asked for goes to stdout; with `--json` that is one JSON value.
- `srb --install-completion` teaches the shell to complete commands, options, labels and tasks.
- The live display is drawn on terminals only, in ASCII where the encoding has no bars, and without
  colours where `NO_COLOR` is set. `--hide_ui` gives plain lines everywhere.
"""

STEPS = "environment transitions over all copies"

ROW = {
    "run": "place of the run below the log root",
    "path": "folder of the run",
    "status": "`reserved`, `waiting` (for another run), `starting`, `running`, `stopping`, or how "
    "it ended: `completed`, `stopped`, `failed`, `lost`",
    "reason": "why it is said to be so",
    "algorithm": "label",
    "task": "task",
    "seed": "seed of every generator",
    "step": STEPS,
    "budget": f"{STEPS} to reach",
    "phase": "what the worker does now; null when none works",
    "rate": "transitions a second; null when none works",
    "beat_age": "seconds since the last sign of life; null when it has ended",
    "return": "mean return of the episodes that ended last",
    "success": "share of them that succeeded, 0 to 1; null for tasks without success",
    "created_at": "UTC, ISO 8601",
    "started_at": "UTC, ISO 8601; null before",
    "ended_at": "UTC, ISO 8601; null before",
}

DETAILS = {
    "elapsed_seconds": "seconds of all segments together",
    "eta_seconds": "seconds to go at the present rate; null when none works",
    "metrics": "tag -> `{step, value}`, the last of every metric",
    "return_trend": "the newest mean returns, oldest first: `{step, value}`",
    "checkpoints": "see `srb run checkpoints`",
    "warnings": "what was passed over, and why",
    "commands": "`evaluate` and `continue`: lines to paste; null without a checkpoint",
    "others": "as in run.json: `schema_version`, `implementation`, `device`, `num_envs`, `host`, "
    "`pid`, `signal`, `exit_code`, `failure`, `overrides`, `command`, `after` (the run that it "
    "waits or has waited for: `{run, path, weights, ended_at}`), `resumed_from`, `resume_grade`, "
    "`segments`, `srb_commit`, `srb_dirty`, `gpu`",
}

CHECKPOINT = {
    "step": STEPS,
    "path": "its folder",
    "score": "mean return when it was written; null if no episode had ended",
    "grade": "what going on from it gives: `exact`, `continued` or `weights`",
    "bytes": "size of its files",
    "created_at": "UTC, ISO 8601",
    "latest": "whether it has the highest step",
    "best": "whether it has the highest score",
}

LABEL = {
    "label": "what `--algo` takes",
    "title": "its name in words",
    "family": "the framework behind it",
    "installed": "whether that is installed",
    "missing": "modules that are not",
    "install": "the command that installs them; null when nothing is missing",
    "actions": "of `continuous`, `discrete`",
    "observations": "of `vector`, `dict`, `image`",
    "on_policy": "whether it learns from the newest rollout only",
    "recurrent": "whether its policy has a memory",
    "privileged": "whether its critic sees more than its actor, see docs/observations.md",
    "resume": "what going on gives: `exact` (bit for bit), `continued` or `weights`",
    "resume_note": "why it gives less than `exact`; null where it does not",
    "demonstrations": "whether it learns from demonstrations",
    "onnx": "whether its policy exports to ONNX",
    "devices": "what `--device` may name",
    "distributed": "whether it trains on several devices",
}

TASK = {
    "task": "what `--env` takes",
    "backend": "who runs it",
    "title": "its name in words",
    "installed": "whether the backend is installed",
    "missing": "modules that are not",
    "install": "the command that installs them; null when nothing is missing",
    "resumable": "whether its state can be stored, which `exact` needs",
    "simulator_options": "simulator-only options that it takes",
}

EVALUATION = {
    "algo": "label, or `zero`, or `rand`",
    "env": "task",
    "run": "the checkpoint's run; only of a checkpoint",
    "checkpoint": "its folder; only of a checkpoint",
    "step": f"{STEPS}, trained; only of a checkpoint",
    "episodes_requested": "how many episodes were asked for",
    "episodes_completed": "how many were counted: every copy plays an equal share",
    "complete": "whether these are the same",
    "stop_reason": "`completed`, `step_budget` or `stopped`",
    "num_envs": "copies of the task",
    "seed": "seed of the first copy; the others count up",
    "steps": "steps that every copy made",
    "max_steps": "steps that it would have made at most",
    "episode_sampling": "`per_env_quota`",
    "mean_return": "null if a return is not finite",
    "std_return": "standard deviation of the sample",
    "return_interval": "where the mean lies (95 %, Student's t)",
    "min_return": "the lowest",
    "max_return": "the highest",
    "non_finite_returns": "how many returns were not finite",
    "mean_length": "steps of an episode",
    "std_length": "standard deviation of the sample",
    "success_rate": "0 to 1; null for tasks without success",
    "success_interval": "where the rate lies (95 %, Wilson)",
    "successes": "episodes",
    "failures": "episodes",
    "intervals": "how the intervals were made",
    "episodes": "of each: `row`, `return`, `length`, `end`, `success`",
    "path": "the file that holds all this",
    "video": "the film; only with `--video`",
}

STARTED = {
    "run": "place of the run below the log root",
    "path": "folder of the run",
    "ready": "whether its worker has made the first step",
    "done": "whether the budget was reached before, so that nothing was started",
    "status": "as in a row of `srb run list`",
    "pid": "process number of the worker; null before it has begun",
    "step": f"{STEPS} that training goes on from",
    "budget": f"{STEPS} to reach",
    "seed": "seed of every generator",
    "message": "why it could not begin, for whom it waits, or remarks on the plan; else null",
}

STOPPED = {
    "run": "place of the run below the log root",
    "path": "folder of the run",
    "stopped": "whether nothing of it lives any more",
    "began": "whether it had a worker; one that waited for another run had none",
    "forced": "whether it had to be killed",
    "status": "as in a row of `srb run list`",
    "step": f"{STEPS} that are saved",
    "exit_code": "of the worker",
    "signal": "what ended it",
}

REACHED = {
    "run, path, status, reason, step, budget, rate, return, success": "as in `srb run list`",
    "reached": "whether the goal is reached; never true from missing data",
    "ended": "whether nothing more is to come of the run",
    "eta_seconds": "seconds to go at the present rate; null when none works",
    "timed_out": "whether the wait took too long; only of `wait`",
    "target_step, target_return": "the goal; only of that goal",
    "tags": "tags with a value; only with `--first-metric`",
    "checkpoints, new_checkpoints": "steps of all, and of those not named by `--known`; only "
    "with `--new-checkpoint`",
}

LOCATED = {
    "run, path": "which run",
    "models": "files that the framework itself loads, newest first: `{path, step, bytes}`",
    "total_models": "how many there are",
    "checkpoints": "newest first, see `srb run checkpoints`",
    "total_checkpoints": "how many there are",
}

ORPHANS = {
    "logdir": "log root that was looked at",
    "orphans": "`{run, path, pid, bytes, children, killed}`: workers without a supervisor, their "
    "memory, the processes that they started",
    "closed": "runs whose record got its last word now; only with `--kill`",
}

SHOWN_TASK = {
    "env": "the task",
    "is": "what its code says of it; null where it says nothing",
    "observation_space, action_space": "the Gymnasium spaces of one copy",
    "observations, actions": "what they mean; null where the code does not say",
    "max_episode_steps": "steps until an episode is cut; null where it is not",
    "step_seconds": "simulated seconds of one step; null where unknown",
    "array, device": "what it steps, and where",
    "resumable": "whether its state can be stored, which `exact` needs",
    "render_fps": "pictures a second that are real time",
    "frame": "the picture that was saved; null without `--frame`",
    "settings": "its preset with what was typed",
}

RATE = {
    "copies": "that step together",
    "steps_per_second": "transitions over all copies",
    "seconds_per_step": "of all copies together, median of short windows",
    "random_policy_seconds": "of drawing random actions for all copies",
}

FINDING = {
    "name": "what was looked at",
    "state": "`ok`, `warn` or `fail`",
    "value": "what was seen",
    "advice": "the way out; null where the state is `ok`",
}

SHAPES: dict[str, tuple[str, dict[str, str]]] = {
    "srb ls": ("`{algos: [label], envs: [task]}`, of which a label is", LABEL),
    "srb ls envs": ("A task is", TASK),
    "srb agent eval": ("Also of `srb agent zero` and `rand`, and in eval.json", EVALUATION),
    "srb run list": ("`{logdir, runs: [row], warnings: [text]}`, newest first; a row is", ROW),
    "srb run show": ("A row of `srb run list`, and", DETAILS),
    "srb run checkpoints": ("`{run, path, checkpoints, warnings}`; a checkpoint is", CHECKPOINT),
    "srb run metrics": (
        "`{path, metrics: {tag: [point]}, warnings: [text]}`; a point is",
        {
            "step": STEPS,
            "wall_time": "seconds since 1970; null where unknown",
            "value": "the number; null where it is not finite",
            "nonfinite": "`nan`, `inf` or `-inf`; only there where the value is null for it",
        },
    ),
    "srb run compare": (
        "Runs are named as in `srb run list`",
        {
            "runs": "run -> row of `srb run list`",
            "tag": "the metric",
            "steps": "steps that every run has reached",
            "values": "run -> its newest value at or before each of `steps`",
            "summaries": "run -> `{points, final_step, final, low, high}` of its whole series",
            "missing": "runs that have no such metric",
            "differences": "dotted setting -> run -> value, for settings that are not the same",
            "curves": "metric -> `{steps, values, missing}`: the whole runs on one grid of steps; "
            "null before a run's first value and beyond its last",
            "files": "`{png, html}`: what was written; null where nothing was",
        },
    ),
    "srb run start": ("Also of `srb run resume` and `srb agent train --detach`", STARTED),
    "srb run stop": ("How it was stopped", STOPPED),
    "srb run check": ("Also of `srb run wait`", REACHED),
    "srb run logs": (
        "Its newest lines",
        {"run, path, status": "which run, its log, how it is", "lines": "oldest first"},
    ),
    "srb run export": ("What is there to take along", LOCATED),
    "srb run cleanup": ("What nobody looks after", ORPHANS),
    "srb run config get": (
        "Also of `update`",
        {"path": "the file", "config": "what it holds now, secrets masked"},
    ),
    "srb env show": ("A task", SHOWN_TASK),
    "srb env bench": ("`{env, rates: [rate]}`; a rate is", RATE),
    "srb env check": ("`{env, state, findings: [finding]}`, see `srb doctor`", {}),
    "srb doctor": ("`{state, findings: [finding]}` with the worst state; a finding is", FINDING),
}


def reference() -> str:
    """Return the whole page."""
    root = typer.main.get_command(app)
    return "\n".join([HEAD, *_exit_codes(), *_commands(root, "srb", None), *_shapes()])


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes\n"
    yield from _table(("code", "category", "meaning"))
    yield "| 0 | | it was done; a budget that is already reached is one of these |"
    for kind in _kinds(SrbError):
        code = "128 + n" if kind is errors.Interrupted else str(kind.exit_code)
        yield f"| {code} | `{kind.category}` | {_first_line(kind)} |"
    yield "| 1 | | `srb doctor` found what training cannot do without |"
    yield "| 1 | | `srb run check` or `wait`: not reached; `stop` or `resume`: not done |"
    yield "| 1 | | `srb env check`: the task breaks the contract |"
    yield "| 1 | | `--after`: the other run ended without being completed; nothing was started |"
    yield "| 124 | | `srb run wait`: not reached in time |"
    yield "| 129 | | SIGHUP (n = 1): the terminal went away |"
    yield "| 130 | | SIGINT (n = 2): Ctrl-C; a training has saved its state |"
    yield "| 137 | | SIGKILL (n = 9): the worker was killed; `srb run show` says what is left |"
    yield "| 143 | | SIGTERM (n = 15): a training has saved its state |\n"
    yield "A training that was stopped leaves by the code of the first signal, after it has saved."
    yield "The second signal makes it leave at once, the third kills it.\n"


def _kinds(kind: type[SrbError]) -> Iterator[type[SrbError]]:
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from _kinds(child)


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]


def _commands(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield f"## `{context.command_path}`\n"
    yield re.sub(r"Example: (.*)", r"    \1", _paragraphs(command.help or "")) + "\n"
    records = [
        record for record in (one.get_help_record(context) for one in command.params) if record
    ]
    if records:
        yield from _table(("option", "meaning"))
        yield from (f"| `{_cell(left)}` | {_cell(right)} |" for left, right in records)
        yield ""
    for child in getattr(command, "commands", {}).values():
        yield from _commands(child, child.name, context)


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _table(head: tuple[str, ...]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"


def _shapes() -> Iterator[str]:
    yield "## What `--json` prints\n"
    yield "Fields are added within a version of the product, never renamed or removed.\n"
    for command, (shape, fields) in SHAPES.items():
        yield f"### `{command} --json`\n"
        yield f"{shape}\n"
        if fields:
            yield from _table(("field", "meaning"))
            yield from (f"| `{name}` | {meaning} |" for name, meaning in fields.items())
            yield ""


if __name__ == "__main__":
    sys.stdout.write(reference())
