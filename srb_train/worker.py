"""The child process that trains one run: `python -m srb_train.worker LABEL TASK`.

Frameworks and simulators are imported here and where policies act, nowhere else. The worker
imports what its label and task need, then reads two lines from its standard input: the run's
folder and its order (see `srb_train.runs.lifecycle`). It keeps the run's lock while it lives,
obeys the order, and writes how its segment ended.
"""

import gc
import importlib.metadata
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from srb_train import generators, redact, registry
from srb_train.context import Context, Desk
from srb_train.contracts import BatchedEnv, Family, Label, MetricsSink
from srb_train.errors import Interrupted, SrbError, TrainingFailed
from srb_train.perf import StepRates
from srb_train.runs import files, layout, lifecycle
from srb_train.runs.checkpoint import Checkpoint, Checkpoints
from srb_train.runs.heartbeat import Heartbeat
from srb_train.runs.metrics import MetricsWriter
from srb_train.runs.store import Run
from srb_train.runs.tensorboard import EventWriter
from srb_train.spec import RunSpec
from srb_train.stop import Stop
from srb_train.tracked import NonFinite

DUMP = "nonfinite.npz"
PERF = "perf.json"


def main(algo: str, env: str) -> int:
    """Import, wait for an order, obey it; returns the process's exit code.

    The end of the standard input means that the supervisor is gone: before the order there is
    nothing to do, after it the training stops.
    """
    stop = Stop()
    stop.install()
    # What is about to come stays: to look through it again and again finds nothing.
    gc.disable()
    try:
        registry.machine(registry.family_of(algo)[0])
        backend, _ = registry.backend_of(env)
        # One that is not here runs in an interpreter of its own, or is refused by our parent.
        if not (backend.own_process or registry.missing(backend)):
            registry.backend_machine(backend)
    except SrbError as error:
        return _refuse(error)
    run, order = sys.stdin.readline().rstrip("\n"), sys.stdin.readline().rstrip("\n")
    if not order:
        return 0
    stop.watch(sys.stdin.fileno())
    return obey(run, order, stop)


def obey(run_folder: str, order_file: str, stop: Stop) -> int:
    """Train one segment to its end, whatever the end is; returns the process's exit code."""
    run = Run(Path(run_folder))
    try:
        with run.claim():
            return _train(run, files.read_json(Path(order_file)), stop)
    except SrbError as error:
        return _refuse(error)


def _train(run: Run, order: Mapping[str, Any], stop: Stop) -> int:
    spec = RunSpec.from_dict(order["spec"])
    resume = _resume_checkpoint(run, spec)
    grade = resume.manifest["grade"] if resume else None
    lifecycle.begin(run, order, resume.step if resume else 0, grade)
    try:
        _say(_headline(spec, resume))
        with Heartbeat(run.path / layout.HEARTBEAT, budget=spec.steps) as heartbeat:
            context = _context(run, spec, resume, stop, heartbeat)
            done = _loop(run, context)
    except SrbError as error:
        lifecycle.finish(run, "failed", exit_code=error.exit_code, failure=_failure(error, spec))
        return _refuse(error)
    except Exception as error:  # noqa: BLE001 - a crash of any kind must reach the record
        traceback.print_exc()
        crash = TrainingFailed(f"{type(error).__name__}: {error}")
        lifecycle.finish(run, "failed", exit_code=crash.exit_code, failure=_failure(crash, spec))
        return crash.exit_code
    if done or stop.reason is None:
        lifecycle.finish(run, "completed", exit_code=0, step=context.step)
        return 0
    return _stopped(run, stop.reason, context.step)


def _headline(spec: RunSpec, resume: Checkpoint | None) -> str:
    """Return the first line of the log: what is about to be done."""
    origin = f"from step {resume.step:,} ({resume.manifest['grade']})" if resume else "from scratch"
    return (
        f"{spec.algo} on {spec.env} {origin} to {spec.steps:,}: {spec.num_envs} copies, "
        f"seed {spec.seed}, {spec.device}, threads {spec.threads}"
    )


def _stopped(run: Run, reason: str, step: int) -> int:
    number = "SIGHUP" if reason == "SUPERVISOR_LOST" else reason
    code = Interrupted(number, reason).exit_code
    lifecycle.finish(run, "stopped", exit_code=code, step=step, signal=reason)
    return code


def _context(
    run: Run, spec: RunSpec, resume: Checkpoint | None, stop: Stop, heartbeat: Heartbeat
) -> Context:
    family, label, _ = registry.family_of(spec.algo)
    registry.machine(family)
    generators.seed_all(spec.seed, spec.threads)
    desk = Desk(
        checkpoints=Checkpoints(run.path / layout.CHECKPOINTS, keep=spec.keep_checkpoints),
        heartbeat=heartbeat,
        stop=stop,
        sinks=_sinks(run, resume),
        facts=_checkpoint_facts(spec, family, label),
        met=lambda env: lifecycle.describe_env(run, spec.env_params, _env_facts(env)),
        rates=StepRates(spec.num_envs) if spec.perf else None,
        say=_say,
        begun=_collect_garbage,
    )
    weights = Path(spec.weights_from) if spec.weights_from else None
    return Context(spec, desk, resume=resume.open() if resume else None, weights=weights)


def _collect_garbage() -> None:
    """Look for garbage from now on, but not among all that came with the frameworks."""
    gc.freeze()
    gc.enable()


def _resume_checkpoint(run: Run, spec: RunSpec) -> Checkpoint | None:
    """Return the verified checkpoint; a relative path lies in the run's own folder."""
    if spec.resume_from is None:
        return None
    checkpoint = Checkpoint.at_path(run.path / spec.resume_from)
    checkpoint.open()
    return checkpoint


def _sinks(run: Run, resume: Checkpoint | None) -> list[MetricsSink]:
    """Open the run's sinks; after a resume they mark what is superseded."""
    step = resume.step if resume else None
    writer = MetricsWriter(run.path / layout.METRICS)
    if step is not None:
        writer.resume(step)
    return [writer, EventWriter(run.path, purge_step=step)]


def _checkpoint_facts(spec: RunSpec, family: Family, label: Label) -> dict[str, Any]:
    return {
        "grade": label.resume,
        "family": family.name,
        "label": spec.algo,
        "env": spec.env,
        "versions": {name: _version(name) for name in ("numpy", *family.packages)},
    }


def _env_facts(env: BatchedEnv) -> dict[str, Any]:
    return {
        "num_envs": env.num_envs,
        "max_episode_steps": env.max_episode_steps,
        "observation_space": str(env.observation_space),
        "action_space": str(env.action_space),
        "array": env.array,
        "device": env.device,
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _loop(run: Run, context: Context) -> bool:
    """Train; tells whether all that was asked for is done."""
    spec = context.spec
    family, _, _ = registry.family_of(spec.algo)
    try:
        registry.machine(family).train(context)
    except NonFinite as error:
        raise _dumped(run, context, error) from error
    context.close()
    if context.rates is not None:
        files.write_json(run.path / PERF, context.rates.as_dict())
        _say(context.rates.as_text())
    return context.step >= spec.steps


def _dumped(run: Run, context: Context, error: NonFinite) -> TrainingFailed:
    """Keep the arrays around a non-finite number beside the run's record."""
    path = run.path / DUMP
    np.savez(path, step=context.step, **error.facts)
    kept = context.last_committed
    return TrainingFailed(
        f"{error} at step {context.step:,}; dump in {path}; "
        f"last good checkpoint: {'none' if kept is None else f'step {kept:,}'}; "
        "run.nan_guard=false lets training go on"
    )


def _failure(error: SrbError, spec: RunSpec) -> Mapping[str, str]:
    """Return an error as the record keeps it: a task may say a secret that it was given."""
    given = redact.referenced(spec.env_params, os.environ)
    return {"category": error.category, "message": redact.text(str(error), given)}


def _refuse(error: SrbError) -> int:
    _say(f"[{error.category}] {error}")
    return error.exit_code


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
