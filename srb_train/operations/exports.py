"""Where a run's models are: its complete checkpoints, and the framework's own file in each."""

from pathlib import Path
from typing import Any

from srb_train import registry
from srb_train.errors import UsageError
from srb_train.operations import runs
from srb_train.runs import layout
from srb_train.runs.store import RunStore


def export(name: str, logdir: Path | None = None, *, last_n: int | None = 5) -> dict[str, Any]:
    """Locate models and checkpoints, newest first; nothing is copied or changed.

    A model is a file that the framework itself can load.
    """
    run = RunStore(logdir or layout.default_root()).find(name)
    record = run.record()
    found = runs.checkpoints(str(run.path), logdir)["checkpoints"][::-1]
    native = registry.families().get(record["implementation"])
    models = [
        {"path": str(path), "step": row["step"], "bytes": path.stat().st_size}
        for row in found
        for path in sorted(Path(row["path"]).iterdir())
        if native is not None and path.suffix in native.weights
    ]
    if last_n is not None and last_n < 1:
        raise UsageError(f"--last-n {last_n}: how many to show, at least 1, or -1 for all")
    return {
        "run": record["run_id"],
        "path": str(run.path),
        "models": models[:last_n],
        "total_models": len(models),
        "checkpoints": found[:last_n],
        "total_checkpoints": len(found),
    }
