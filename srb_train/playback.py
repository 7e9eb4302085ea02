"""The child process that acts: `python -m srb_train.playback REQUEST` evaluates a checkpoint,
or plays zero or random actions, and writes what it saw.
"""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from srb_train import evaluate, generators, registry, video
from srb_train.contracts import BatchedEnv, Policy
from srb_train.errors import IntegrityError, Interrupted, SrbError
from srb_train.playback_request import RANDOM, ZERO, PlayRequest
from srb_train.runs import files
from srb_train.runs.checkpoint import Checkpoint
from srb_train.runs.store import Run
from srb_train.spec import RunSpec
from srb_train.stop import Stop


def main(request_file: str) -> int:
    """Play one request; returns the process's exit code."""
    stop = Stop()
    stop.install()
    try:
        request = PlayRequest.read(Path(request_file))
        files.write_json(Path(request.output), _play(request, stop))
    except SrbError as error:
        print(f"[{error.category}] {error}", file=sys.stderr, flush=True)
        return error.exit_code
    return 0


def film(run: Run, path: Path, stop: Stop) -> Path | None:
    """Record one episode of a run's newest checkpoint; returns None when stopped on the way."""
    checkpoint = run.checkpoints().latest()
    if checkpoint is None:
        raise IntegrityError(f"{run.path}: there is no checkpoint to make a video of")
    spec = run.spec()
    with closing(registry.make_env(spec.env, 1, spec.env_params)) as env:
        policy = load(checkpoint, spec, env)
        return video.record(policy, env, path, seed=spec.seed, stopped=lambda: stop.requested)


def _play(request: PlayRequest, stop: Stop) -> dict[str, Any]:
    with closing(_make_env(request, request.num_envs)) as env:
        result = evaluate.evaluate(
            _policy(request, env),
            env,
            request.episodes,
            request.seed,
            stopped=lambda: stop.requested,
        ).as_dict()
    if request.video is not None and not stop.requested:
        with closing(_make_env(request, 1)) as env:
            path = video.record(
                _policy(request, env),
                env,
                Path(request.video),
                seed=request.seed,
                stopped=lambda: stop.requested,
            )
        result["video"] = str(path)
    if stop.reason is not None:
        raise Interrupted(stop.reason, "stopped before everything asked for was done")
    return result


def _make_env(request: PlayRequest, num_envs: int) -> BatchedEnv:
    return registry.make_env(request.env, num_envs, request.env_params)


def _policy(request: PlayRequest, env: BatchedEnv) -> Policy:
    if request.who == ZERO:
        return evaluate.ZeroPolicy(env.action_space, env.num_envs)
    if request.who == RANDOM:
        return evaluate.RandomPolicy(env.action_space, env.num_envs, request.seed)
    if request.checkpoint is None or request.spec is None:
        raise IntegrityError("a request to play a checkpoint names no checkpoint")
    spec = RunSpec.from_dict(request.spec)
    return load(Checkpoint.at_path(Path(request.checkpoint)), spec, env)


def load(checkpoint: Checkpoint, spec: RunSpec, env: BatchedEnv) -> Policy:
    """Rebuild the policy of a verified checkpoint."""
    family, _, _ = registry.family_of(spec.algo)
    machine = registry.machine(family)
    generators.seed_all(spec.seed, spec.threads)
    return machine.load(checkpoint.open(), spec, env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
