"""Who acts: a checkpoint, or zero or random actions, as an order for a child that plays."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from srb_train import config, playback_request, redact, registry, supervisor
from srb_train.errors import IntegrityError, SrbError, UsageError
from srb_train.operations.requests import EvalRequest, ViewRequest
from srb_train.playback_request import PlayRequest
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import MANIFEST, Checkpoint
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec

Request = EvalRequest | ViewRequest

DEFAULT_ENVS = 32
EVAL_SEED = 10_000
"""Far from the seeds that people train with, so that start states are new."""


class ChildFailed(SrbError):
    """The child has said what was wrong; only its exit code is left to pass on."""

    def __init__(self, code: int, what: str) -> None:
        """Leave by the child's exit code; `what` did not come about."""
        super().__init__(f"{what}; the reason stands above")
        self.exit_code = code


def of_checkpoint(checkpoint: Checkpoint, request: Request, output: Path) -> PlayRequest:
    """Return the order to let a checkpoint act in the task of its run, settings of it changed."""
    spec = RunSpec.from_dict(files.read_json(checkpoint.path / layout.SPEC))
    spec = replace(spec, device=request.device or spec.device)
    family, _, _ = registry.family_of(spec.algo)
    backend, _ = registry.backend_of(spec.env)
    registry.require(family)
    settings = config.override(
        {"env": {**spec.env_params, "num_envs": _copies(request, spec.num_envs)}},
        request.overrides,
    )
    registry.require_backend(backend, settings.env)
    env = dict(settings.env)
    return PlayRequest(
        who=playback_request.CHECKPOINT,
        env=spec.env,
        num_envs=env.pop("num_envs"),
        env_params=env,
        episodes=request.episodes or 1,
        seed=EVAL_SEED if request.seed is None else request.seed,
        threads=spec.threads,
        checkpoint=str(checkpoint.path),
        spec=spec.as_dict(),
        output=str(output),
    )


def told_of(order: PlayRequest, run: Run | None, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what a result says of the checkpoint that acted."""
    return {
        "algo": (order.spec or {})["algo"],
        "env": order.env,
        "run": run.name if run else None,
        "checkpoint": str(checkpoint.path),
        "step": checkpoint.step,
    }


def of_actions(kind: str, request: Request, output: Path) -> PlayRequest:
    """Return the order to let `kind`, zero or random actions, act in the task that is named."""
    if request.env is None:
        raise UsageError("--env is missing: which task should be played?")
    backend, _ = registry.backend_of(request.env)
    settings = config.compose_env(
        config.Selected.of(request.env, backend.prefix),
        request.overrides,
        config_dir=request.config_dir,
    )
    registry.require_backend(backend, settings.env)
    env = dict(settings.env)
    return PlayRequest(
        who=kind,
        env=request.env,
        num_envs=_copies(request, env.pop("num_envs")),
        env_params=env,
        episodes=request.episodes or 1,
        seed=EVAL_SEED if request.seed is None else request.seed,
        output=str(output),
    )


def carry_out(order: PlayRequest, environ: Mapping[str, str]) -> int:
    """Hand an order to a child and see it to its end; returns its exit code."""
    Path(order.output).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="srb-") as scratch:
        path = Path(scratch) / "request.json"
        order.write(path)
        return supervisor.attend(
            ["srb_train.playback", str(path)],
            supervisor.worker_environment(order.threads, environ),
            redact.known(environ) | redact.referenced(order.env_params, environ),
        )


def checkpoint_of(request: Request) -> tuple[Run | None, Checkpoint]:
    """Find the checkpoint that a request names, and its run where it lies in one."""
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


def _copies(request: Request, preset: int) -> int:
    """Return how many copies act: as many as were asked for, else not more than make sense."""
    return request.num_envs or min(preset, DEFAULT_ENVS, request.episodes or 1)
