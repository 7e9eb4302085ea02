"""Where a training run starts from: nothing, a run that goes on, a checkpoint, or bare weights."""

from dataclasses import dataclass, replace
from pathlib import Path

from srb_train import spelling
from srb_train.contracts import Family
from srb_train.errors import IntegrityError, TrainingFailed, UsageError
from srb_train.operations.requests import TrainRequest
from srb_train.runs import chain, files, layout
from srb_train.runs.checkpoint import MANIFEST, Checkpoint
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class Start:
    """The starting point of a run and the rule that chose it."""

    rule: str
    run: Run | None = None
    """The run to go on in; None for a new folder."""
    checkpoint: Checkpoint | None = None
    spec: RunSpec | None = None
    """What the checkpoint's run was asked for."""
    weights: Path | None = None
    after: Run | None = None
    """The run that must be completed first."""
    inherits: bool = False
    """Whether it then begins with the weights of that run's newest checkpoint."""
    warnings: tuple[str, ...] = ()


def find(request: TrainRequest, algo: str, family: Family, store: RunStore) -> Start:
    """Find the starting point that the request names; raises when it is not there."""
    if request.continue_training and request.model is not None:
        raise UsageError("--continue_training and --model exclude each other: give one of them")
    if request.additional is not None and not (request.continue_training or request.model):
        raise UsageError("--additional adds to a run that goes on: give --continue or --model too")
    if request.after is not None:
        return _after(request, request.after, algo, family, store)
    if request.continue_training:
        return _newest_run(request.env, algo, store)
    if request.model is not None:
        return _model(request.model, algo, family, store)
    return Start(rule="a fresh run")


def _after(request: TrainRequest, name: str, algo: str, family: Family, store: RunStore) -> Start:
    """Return the start of a run that waits for another one; one that waits in vain is refused."""
    other = store.find(name)
    place = other.record()["run_id"]
    try:
        completed = chain.is_completed(other)
    except TrainingFailed as error:
        raise UsageError(f"--after {name}: {error}") from error
    if request.model is not None and _means(request.model, name, other):
        _refuse_inheriting(request, other, algo, family)
        rule = f"after {place}, with the weights of its newest checkpoint, from step 0"
        weights = chain.newest_weights(other, family.weights) if completed else None
        return Start(rule=rule, after=other, inherits=True, weights=weights)
    alone = find(replace(request, after=None), algo, family, store)
    if alone.run is not None:
        raise UsageError(
            f"--after waits with a new run, and this one goes on in {alone.run.path}: leave out "
            "--after, or let --model name the run itself to begin with its newest weights"
        )
    return replace(alone, rule=f"{alone.rule}, after {place}", after=other)


def _means(model: str, name: str, other: Run) -> bool:
    """Tell whether --model names the run that is waited for."""
    return model == name or Path(model).absolute() == other.path


def _refuse_inheriting(request: TrainRequest, other: Run, algo: str, family: Family) -> None:
    theirs = other.spec().algo
    if theirs != algo:
        raise UsageError(
            f"{other.path} is of {theirs}, whose weights fit no {algo}: pass --algo {theirs}"
        )
    if not family.weights:
        raise UsageError(
            f"--model {request.model}: {family.title} has no model file to take weights from; "
            "leave out --model, and the run begins fresh"
        )
    if request.additional is not None:
        raise UsageError("--additional adds to a run that goes on: say run.steps=N")


def _newest_run(env: str, algo: str, store: RunStore) -> Start:
    run = store.latest(env, algo, resumable=True)
    if run is None:
        raise UsageError(
            f"no run to continue in {store.root / env / algo}; train first or pass --model"
        )
    checkpoints = run.checkpoints()
    newest = checkpoints.latest()
    if newest is None:
        raise IntegrityError(
            f"{run.path}: no complete checkpoint; {'; '.join(checkpoints.warnings)}"
        )
    return Start(
        rule="newest run with a complete checkpoint, its highest step",
        run=run,
        checkpoint=newest,
        spec=run.spec(),
        warnings=(*store.warnings, *checkpoints.warnings),
    )


def _model(model: str, algo: str, family: Family, store: RunStore) -> Start:
    path = _existing(Path(model).absolute(), family)
    if _inside_checkpoint(path):
        return _from_checkpoint(Checkpoint.at_path(path), algo)
    if path.is_dir() and (path / layout.RUN).exists():
        raise UsageError(f"--model {path} is a run; name one of its checkpoints, or use --continue")
    if path.suffix in family.weights:
        return Start(rule="weights only, from step 0", weights=path)
    raise UsageError(
        f"--model {path} is neither a checkpoint folder nor a model file of {family.title}"
        f" ({', '.join(family.weights) or 'it has none to import'})"
    )


def _existing(path: Path, family: Family) -> Path:
    for candidate in (path, *(Path(f"{path}{suffix}") for suffix in family.weights)):
        if candidate.exists():
            return candidate
    raise UsageError(f"--model {path} does not exist (relative paths start at {Path.cwd()})")


def _inside_checkpoint(path: Path) -> bool:
    return (path / MANIFEST).exists() or (path.parent / MANIFEST).exists()


def _from_checkpoint(checkpoint: Checkpoint, algo: str) -> Start:
    """Go on in the checkpoint's own run when it is the newest there; else branch from it."""
    checkpoint.open()
    spec = RunSpec.from_dict(files.read_json(checkpoint.path / layout.SPEC))
    if spec.algo != algo:
        raise UsageError(
            f"{checkpoint.path} is of {spec.algo}, not of {algo}: pass --algo {spec.algo}"
        )
    home = checkpoint.path.parent
    is_home = home.name == layout.CHECKPOINTS and (home.parent / layout.RUN).exists()
    if is_home:
        run = Run(home.parent)
        newest = run.checkpoints().latest()
        if newest is not None and newest.path == checkpoint.path:
            return Start(
                rule="the newest checkpoint of its run: goes on in place",
                run=run,
                checkpoint=checkpoint,
                spec=run.spec(),
            )
    return Start(
        rule="an older or copied checkpoint: a new run branches from it",
        checkpoint=checkpoint,
        spec=spec,
    )


def same_task(start: Start, env: str) -> None:
    """Refuse to go on with another task than the checkpoint's."""
    if start.spec is not None and start.spec.env != env:
        raise UsageError(
            f"the checkpoint is of --env {start.spec.env}, not of {env}"
            f"{spelling.nearest(env, [start.spec.env])}"
        )
