"""The child process that acts: `python -m srb_train.playback REQUEST` evaluates a checkpoint,
plays zero or random actions, or shows either to a person, and writes what it saw.
"""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from srb_train import apart, evaluate, generators, registry, sighted, video
from srb_train.contracts import BatchedEnv, Policy
from srb_train.errors import IntegrityError, Interrupted, SrbError
from srb_train.playback_request import RANDOM, ZERO, PlayRequest, View
from srb_train.runs import files
from srb_train.runs.checkpoint import Checkpoint
from srb_train.spec import RunSpec
from srb_train.stop import Stop
from srb_train.viewers import FILE
from srb_train.viewers.opening import opened
from srb_train.viewers.session import Session, Wish


def main(request_file: str) -> int:
    """Play one request; returns the process's exit code."""
    stop = Stop()
    stop.install()
    try:
        request = PlayRequest.read(Path(request_file))
        output = Path(request.output)
        if request.view is not None:
            files.write_json(output, _shown(request, request.view, stop))
            return Interrupted(stop.reason, "").exit_code if stop.reason else 0
        files.write_json(output, _play(request, stop))
    except SrbError as error:
        print(f"[{error.category}] {error}", file=sys.stderr, flush=True)
        return error.exit_code
    return 0


def _shown(request: PlayRequest, view: View, stop: Stop) -> dict[str, Any]:
    """Show a policy to a person until enough was seen; returns what an evaluation would say.

    A session that is stopped tells what was seen until then.
    """
    parent = os.getppid()

    def stopped() -> bool:
        # Whoever asked for it may be killed, and a page in the browser would outlive everybody.
        return stop.requested or os.getppid() != parent

    who = request.spec["algo"] if request.spec else request.who
    with closing(_make_env(request, request.num_envs)) as env:
        policy = _policy(request, env)
        wish = Wish(episodes=view.episodes, seed=request.seed)
        with opened(view, f"{who} on {request.env}", env.render_fps) as viewer:
            seen = Session(policy, env, viewer, wish).run(stopped)
    film = viewer.place if viewer.kind == FILE else None
    return {**seen.as_dict(), "viewer": viewer.kind, "video": film}


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
    simulator = (request.spec or {}).get("simulator", {})
    return sighted.for_acting(apart.make_env(request.env, num_envs, request.env_params, simulator))


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
