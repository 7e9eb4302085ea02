"""Evaluate a checkpoint, or look at what zero or random actions do, in a child process."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from srb_train.operations import acting
from srb_train.operations.requests import EvalRequest
from srb_train.playback_request import PlayRequest
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import Checkpoint
from srb_train.runs.store import Run


def evaluate(request: EvalRequest, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Evaluate the checkpoint that the request names and write eval.json; returns its content."""
    run, checkpoint = acting.checkpoint_of(request)
    folder = _folder(request, run, checkpoint)
    output = request.out.absolute() if request.out else folder / "eval.json"
    order = acting.of_checkpoint(checkpoint, request, output)
    if request.video:
        order = replace(order, video=str(folder / "video.mp4"))
    return _played(order, acting.told_of(order, run, checkpoint), environ)


def roll(
    kind: str, request: EvalRequest, environ: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Let zero or random actions play a task and return what an evaluation would say."""
    with tempfile.TemporaryDirectory(prefix="srb-") as scratch:
        output = request.out.absolute() if request.out else Path(scratch) / "eval.json"
        order = acting.of_actions(kind, request, output)
        if request.video:
            folder = output.parent if request.out else Path.cwd()
            order = replace(order, video=str(folder / f"{kind}.mp4"))
        result = _played(order, {"algo": kind, "env": order.env}, environ)
        return result if request.out else {**result, "path": None}


def _played(
    order: PlayRequest, facts: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    """Have an order carried out and return the result with `facts` and its path added."""
    code = acting.carry_out(order, environ)
    if code:
        raise acting.ChildFailed(code, "the evaluation did not finish")
    output = Path(order.output)
    result = {**facts, **files.read_json(output)}
    files.write_json(output, result)
    return {**result, "path": str(output)}


def _folder(request: EvalRequest, run: Run | None, checkpoint: Checkpoint) -> Path:
    """Return where results go: beside --out, in the run's eval folder, or where we stand."""
    if request.out is not None:
        return request.out.absolute().parent
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    home = run.path if run else Path.cwd()
    return home / layout.EVAL / f"{checkpoint.step}-{stamp}"
