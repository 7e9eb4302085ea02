"""The child process that films a training run: `python -m srb_train.filming.child RUN`.

It picks the newest checkpoint when it is ready to load one, for the run goes on meanwhile, films
one episode, and drops the oldest clips. It ends when its standard input does.
"""

import os
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from srb_train import apart, playback, sighted, video
from srb_train.contracts import BatchedEnv, Policy
from srb_train.errors import IntegrityError, Interrupted, SrbError
from srb_train.filming import clip_name
from srb_train.runs import files, layout
from srb_train.runs.checkpoint import Checkpoint
from srb_train.runs.store import Run
from srb_train.spec import RunSpec
from srb_train.stop import Stop

PRIORITY = 10
"""How much this process stands back behind the learner, see nice(1)."""
TRIES = 5
"""Checkpoints that may vanish while they are loaded before the training is too fast to film."""
_CLIP = re.compile(r"step-(\d+)\.(?:mp4|gif)")


def main(run_folder: str) -> int:
    """Film the newest checkpoint of a run; says in one line where, or why not."""
    os.nice(PRIORITY)
    stop = Stop()
    stop.install()
    stop.watch(sys.stdin.fileno())
    try:
        print(film(Run(Path(run_folder)), stop), flush=True)
    except SrbError as error:
        print(f"[{error.category}] {error}", flush=True)
        return error.exit_code
    return 0


def film(run: Run, stop: Stop) -> Path:
    """Film one episode and return the file; `Interrupted` when stopped on the way."""
    spec = run.spec()
    folder = run.path / layout.VIDEOS
    folder.mkdir(exist_ok=True)
    files.sweep(folder)
    made = apart.make_env(spec.env, 1, spec.env_params, spec.simulator)
    with closing(sighted.for_acting(made)) as env:
        checkpoint, policy = _newest(run, spec, env)
        path = video.record(
            policy,
            env,
            folder / f"{clip_name(checkpoint.step)}.mp4",
            seed=spec.seed,
            stopped=lambda: stop.requested,
        )
    if path is None:
        raise Interrupted("SIGTERM", "given up: nobody waits for it any more")
    retain(folder, spec.keep_checkpoints)
    return path


def retain(folder: Path, keep: int) -> None:
    """Keep the clips of the `keep` highest steps; other files are not touched."""
    clips = [(_CLIP.fullmatch(path.name), path) for path in folder.iterdir()]
    steps = sorted((int(found[1]), path) for found, path in clips if found)
    for _, path in steps[:-keep]:
        path.unlink(missing_ok=True)


def _newest(run: Run, spec: RunSpec, env: BatchedEnv) -> tuple[Checkpoint, Policy]:
    """Load the newest checkpoint; one that makes room for newer ones meanwhile is passed over."""
    # A learner's accelerator is left to it, where the task does not live there itself.
    placed = replace(spec, device="cpu") if env.device == "cpu" else spec
    for _ in range(TRIES):
        checkpoint = run.checkpoints().latest()
        if checkpoint is None:
            raise IntegrityError(f"{run.path}: there is no complete checkpoint to film")
        try:
            return checkpoint, playback.load(checkpoint, placed, env)
        except (IntegrityError, FileNotFoundError):
            if checkpoint.path.exists():
                raise
    raise IntegrityError(f"{run.path}: checkpoints come and go faster than one can be loaded")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
