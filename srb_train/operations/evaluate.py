"""Evaluate a checkpoint, or look at what zero or random actions do, in a child process."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from srb_train import config, playback_request, redact, registry, supervisor
from srb_train.errors import IntegrityError, SrbError, UsageError
from srb_train.operations.requests import EvalRequest
from srb_train.playback_request import PlayRequest
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import MANIFEST, Checkpoint
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec

DEFAULT_ENVS = 32
EVAL_SEED = 10_000
"""Far from the seeds that people train with, so that start states are new."""


def evaluate(request: EvalRequest, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Evaluate the checkpoint that the request names and write eval.json; returns its content."""
    run, checkpoint = _checkpoint(request)
    spec = RunSpec.from_dict(files.read_json(checkpoint.path / layout.SPEC))
    spec = replace(spec, device=request.device or spec.device)
    family, _, _ = registry.family_of(spec.algo)
    backend, _ = registry.backend_of(spec.env)
    registry.require(family)
    registry.require(backend)
    settings = config.override(
        {"env": {**spec.env_params, "num_envs": _copies(request, spec)}}, request.overrides
    )
    env = dict(settings.env)
    folder = _folder(request, run, checkpoint)
    play = PlayRequest(
        who=playback_request.CHECKPOINT,
        env=spec.env,
        num_envs=env.pop("num_envs"),
        env_params=env,
        episodes=request.episodes,
        seed=EVAL_SEED if request.seed is None else request.seed,
        threads=spec.threads,
        checkpoint=str(checkpoint.path),
        spec=spec.as_dict(),
        video=str(folder / "video.mp4") if request.video else None,
        output=str(request.out.absolute() if request.out else folder / "eval.json"),
    )
    facts = {
        "algo": spec.algo,
        "env": spec.env,
        "run": run.name if run else None,
        "checkpoint": str(checkpoint.path),
        "step": checkpoint.step,
    }
    return _play(play, facts, environ)


def roll(
    kind: str, request: EvalRequest, environ: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Let zero or random actions play a task and return what an evaluation would say."""
    if request.env is None:
        raise UsageError("--env is missing: which task should be played?")
    backend, _ = registry.backend_of(request.env)
    registry.require(backend)
    settings = config.compose_env(
        config.Selected.of(request.env, backend.prefix),
        request.overrides,
        config_dir=request.config_dir,
    )
    env = dict(settings.env)
    num_envs = env.pop("num_envs")
    with tempfile.TemporaryDirectory(prefix="srb-") as scratch:
        output = request.out.absolute() if request.out else Path(scratch) / "eval.json"
        folder = output.parent if request.out else Path.cwd()
        play = PlayRequest(
            who=kind,
            env=request.env,
            num_envs=request.num_envs or min(num_envs, DEFAULT_ENVS, request.episodes),
            env_params=env,
            episodes=request.episodes,
            seed=EVAL_SEED if request.seed is None else request.seed,
            video=str(folder / f"{kind}.mp4") if request.video else None,
            output=str(output),
        )
        result = _play(play, {"algo": kind, "env": request.env}, environ)
        return result if request.out else {**result, "path": None}


def _play(
    play: PlayRequest, facts: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    """Hand a request to a child and return its result with `facts` and its path added."""
    output = Path(play.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="srb-") as scratch:
        order = Path(scratch) / "request.json"
        play.write(order)
        code = supervisor.attend(
            ["srb_train.playback", str(order)],
            supervisor.worker_environment(play.threads, environ),
            redact.known(environ) | redact.referenced(play.env_params, environ),
        )
    if code:
        raise ChildFailed(code)
    result = {**facts, **files.read_json(output)}
    files.write_json(output, result)
    return {**result, "path": str(output)}


class ChildFailed(SrbError):
    """The child has said what was wrong; only its exit code is left to pass on."""

    def __init__(self, code: int) -> None:
        """Leave by the child's exit code."""
        super().__init__("the evaluation did not finish; the reason stands above")
        self.exit_code = code


def _checkpoint(request: EvalRequest) -> tuple[Run | None, Checkpoint]:
    if request.model is not None:
        return _at_path(Path(request.model).absolute())
    store = RunStore((request.logdir or layout.default_root()).absolute())
    if request.run is not None:
        run = store.find(request.run)
    elif request.algo is not None and request.env is not None:
        _, _, algo = registry.family_of(request.algo)
        registry.backend_of(request.env)
        found = store.latest(request.env, algo, resumable=True)
        if found is None:
            raise UsageError(
                f"no run with a checkpoint in {store.root / request.env / algo}; train first"
            )
        run = found
    else:
        raise UsageError("which policy? give --model CHECKPOINT, --run NAME, or --algo and --env")
    return run, _newest(run)


def _newest(run: Run) -> Checkpoint:
    checkpoints = run.checkpoints()
    newest = checkpoints.latest()
    if newest is None:
        said = "; ".join(checkpoints.warnings) or "none was written"
        raise IntegrityError(f"{run.path}: no complete checkpoint ({said})")
    return newest


def _at_path(path: Path) -> tuple[Run | None, Checkpoint]:
    """Accept a checkpoint folder, a file inside one, or a run folder."""
    if (path / layout.RUN).exists():
        run = Run(path)
        return run, _newest(run)
    if not ((path / MANIFEST).exists() or (path.parent / MANIFEST).exists()):
        raise IntegrityError(f"--model {path}: there is no checkpoint (a folder with {MANIFEST})")
    checkpoint = Checkpoint.at_path(path)
    checkpoint.open()
    home = checkpoint.path.parent.parent
    return (Run(home) if (home / layout.RUN).exists() else None), checkpoint


def _copies(request: EvalRequest, spec: RunSpec) -> int:
    return request.num_envs or min(spec.num_envs, DEFAULT_ENVS, request.episodes)


def _folder(request: EvalRequest, run: Run | None, checkpoint: Checkpoint) -> Path:
    """Return where results go: beside --out, in the run's eval folder, or where we stand."""
    if request.out is not None:
        return request.out.absolute().parent
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    home = run.path if run else Path.cwd()
    return home / layout.EVAL / f"{checkpoint.step}-{stamp}"
