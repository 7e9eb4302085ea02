"""Where a run's models are: complete checkpoints, the files of each, and what was packaged."""

from pathlib import Path
from typing import Any

from srb_train import registry
from srb_train.errors import UsageError
from srb_train.operations import runs
from srb_train.runs import layout
from srb_train.runs.store import RunStore

EXPORTED = "exported"


def export(name: str, logdir: Path | None = None, *, last_n: int | None = 5) -> dict[str, Any]:
    """Locate models and checkpoints, newest first; nothing is copied or changed.

    A model is a file that the framework itself, or ONNX, can load.
    """
    run = RunStore(logdir or layout.default_root()).find(name)
    record = run.record()
    found = runs.checkpoints(str(run.path), logdir)["checkpoints"][::-1]
    native = registry.families().get(record["implementation"])
    suffixes = (*(native.weights if native else ()), ".onnx")
    folders = [(Path(row["path"]), row["step"]) for row in found]
    folders += [(run.path / EXPORTED, None)]
    models = [
        {"path": str(path), "step": step, "bytes": path.stat().st_size}
        for folder, step in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in suffixes and path.is_file()
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
