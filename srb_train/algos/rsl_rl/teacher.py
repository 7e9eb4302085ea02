"""Where a teacher is and what network it has, read from its run without any framework."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srb_train.errors import SrbError, UsageError
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import Checkpoint, Checkpoints
from srb_train.spec import RunSpec

LABEL = "rsl_rl_ppo"
"""What a teacher was trained with."""


def settle(agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return `teacher`, as the path of one checkpoint, and `teacher_model`, its network.

    A run that goes on holds both already, and its own checkpoints hold the teacher's weights: it
    needs the teacher's folder no more.
    """
    path = agent["teacher"]
    if path is None:
        raise UsageError(
            f"a student needs a teacher: agent.teacher=<folder of a run of {LABEL} on the same "
            "task, or of one of its checkpoints>"
        )
    if agent["teacher_model"] is not None and not Path(path).exists():
        return {"teacher": path, "teacher_model": agent["teacher_model"]}
    try:
        found = _find(Path(path).expanduser().absolute())
        spec = RunSpec.from_dict(files.read_json(found.path / layout.SPEC))
    except SrbError as error:
        raise UsageError(f"agent.teacher={path}: {error}") from error
    if spec.algo != LABEL:
        raise UsageError(
            f"agent.teacher={path} was trained with {spec.algo}; a teacher is a run of {LABEL}"
        )
    model = {**spec.agent_params["actor"], "groups": spec.agent_params["obs_groups"]["actor"]}
    return {"teacher": str(found.path), "teacher_model": model}


def task(checkpoint: Path) -> str:
    """Return the name of the task that a checkpoint's policy was trained on."""
    return RunSpec.from_dict(files.read_json(checkpoint / layout.SPEC)).env


def _find(place: Path) -> Checkpoint:
    """Return the checkpoint that a path means, proved whole: of a run it is the newest."""
    if not place.exists():
        raise UsageError("there is no such folder")
    if not layout.is_run(place):
        found = Checkpoint.at_path(place)
        found.open()
        return found
    newest = Checkpoints(place / layout.CHECKPOINTS).latest()
    if newest is None:
        raise UsageError("this run has no complete checkpoint yet")
    return newest
