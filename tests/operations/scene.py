"""Run folders as training leaves them, made by the same code that training uses."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from srb_train.runs import files, layout, lifecycle
from srb_train.runs.heartbeat import Heartbeat
from srb_train.runs.metrics import RETURN, SUCCESS, MetricsWriter
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec

REPOSITORY = Path(__file__).parents[2]


def spec(**more: Any) -> RunSpec:
    """Return what a small run was asked for."""
    asked = {
        "algo": "toy_cem",
        "env": "landing",
        "steps": 4000,
        "num_envs": 8,
        "seed": 7,
        "checkpoint_every": 1000,
        "log_every": 500,
        "agent_params": {"gamma": 0.99, "net": {"layers": [32, 32]}},
    }
    return RunSpec(**{**asked, **more})


def make_run(root: Path, **more: Any) -> Run:
    """Reserve a run that nothing has worked on yet."""
    return RunStore(root).create(spec(**more), {}, {}, {})


def begin(run: Run) -> None:
    """Let this very process be the run's worker, which makes the run live."""
    order = {"spec": run.spec().as_dict(), "changes": {}, "overrides": ["run.steps=4000"]}
    command = ["srb", "agent", "train", "--algo", "toy_cem", "--env", "landing"]
    lifecycle.begin(run, {**order, "command": command}, from_step=0, grade="exact")


def beat(run: Run, step: int, **values: float) -> None:
    """Give one sign of life with a return and a success rate."""
    heartbeat = Heartbeat(run.path / layout.HEARTBEAT, budget=run.spec().steps)
    tags = {"return": RETURN, "success": SUCCESS}
    heartbeat.update(step, {tags[name]: value for name, value in values.items()}, "training")
    heartbeat.beat()


def measure(run: Run, *points: tuple[int, float, float]) -> None:
    """Append points of (step, return, success) to the run's metrics."""
    writer = MetricsWriter(run.metrics_path)
    for step, value, success in points:
        writer.write(step, {RETURN: value, SUCCESS: success})
    writer.close()


def save(run: Run, step: int, score: float | None = None) -> Path:
    """Publish a checkpoint with one small file."""

    def write(folder: Path) -> None:
        files.write_text(folder / "policy.txt", f"a policy of step {step}")

    facts = {"score": score, "grade": "exact", "label": run.spec().algo, "env": run.spec().env}
    return run.checkpoints(keep=99).commit(step, write, facts).path


def finished_run(root: Path, **more: Any) -> Run:
    """Make a run that has trained to its end: two checkpoints, the older one the better."""
    run = make_run(root, **more)
    begin(run)
    measure(run, (1000, -5.0, 0.0), (2000, 20.0, 0.9), (4000, 12.5, 0.75))
    save(run, 2000, score=20.0)
    save(run, 4000, score=12.5)
    lifecycle.finish(run, "completed", exit_code=0, step=4000)
    return run


def lost_run(root: Path) -> Run:
    """Make a run whose worker went away without a last word, after 1,500 steps."""
    run = make_run(root)
    program = "import sys; from tests.operations import scene; scene.live_shortly(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, run.path], cwd=REPOSITORY, check=True)
    run.update(supervisor_pid=None)
    return run


def live_shortly(path: str) -> None:
    """Be the worker of a run and leave without a word."""
    run = Run(Path(path))
    begin(run)
    beat(run, 1500, **{"return": 3.0})


def fail(run: Run, message: str) -> None:
    """End the live run with a failure."""
    failure = {"category": "workflow_failure", "message": message}
    lifecycle.finish(run, "failed", exit_code=1, step=700, failure=failure)
