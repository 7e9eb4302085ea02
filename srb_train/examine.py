"""The child process that looks at a task: `python -m srb_train.examine REQUEST`.

It tells what a task is, how fast it steps, or whether it keeps the contract, and writes what it
found as JSON.
"""

import sys
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from srb_train import apart, soundness
from srb_train.contracts import BatchedEnv
from srb_train.errors import SrbError, UnsupportedError
from srb_train.examine_request import CHECK, RATES, ExamineRequest
from srb_train.runs import files

SPAN = 0.1
"""Seconds of one window of a measurement, whose median is told."""
WORST = ("ok", "warn", "fail")


def main(request_file: str) -> int:
    """Carry out one request; returns the process's exit code."""
    try:
        request = ExamineRequest.read(Path(request_file))
        files.write_json(Path(request.output), _answer(request))
    except SrbError as error:
        print(f"[{error.category}] {error}", file=sys.stderr, flush=True)
        return error.exit_code
    return 0


def _answer(request: ExamineRequest) -> dict[str, Any]:
    if request.what == RATES:
        return {"env": request.env, "rates": [_rate(request, n) for n in request.copies]}
    if request.what == CHECK:
        found = soundness.sound(lambda copies: _make(request, copies))
        worst = max((one.state for one in found), key=WORST.index)
        return {"env": request.env, "state": worst, "findings": [asdict(one) for one in found]}
    with closing(_make(request, 1)) as env:
        return {"env": request.env, **facts(env), "frame": _frame(env, request.frame)}


def _make(request: ExamineRequest, copies: int) -> BatchedEnv:
    return apart.make_env(request.env, copies, request.env_params)


def facts(env: BatchedEnv) -> dict[str, Any]:
    """Return what an environment says of itself."""
    task = getattr(env, "task", env)
    return {
        "is": (sys.modules[type(task).__module__].__doc__ or "").strip() or None,
        "observation_space": str(env.observation_space),
        "observations": _doc(type(task), "observation_space"),
        "action_space": str(env.action_space),
        "actions": _doc(type(task), "action_space"),
        "max_episode_steps": env.max_episode_steps,
        "step_seconds": getattr(task, "control_dt", None),
        "array": env.array,
        "device": env.device,
        "resumable": env.state_dict() is not None,
        "render_fps": env.render_fps,
    }


def _doc(kind: type, name: str) -> str | None:
    """Return what the code says of a property, on one line."""
    text = getattr(getattr(kind, name, None), "__doc__", None)
    return " ".join(text.split()) if text else None


def _frame(env: BatchedEnv, path: str | None) -> str | None:
    if path is None:
        return None
    env.reset(soundness.SEED)
    picture = env.render()
    if picture is None:
        raise UnsupportedError("--frame: this task draws no pictures; leave it out")
    Image.fromarray(np.asarray(picture)).save(path)
    return path


def _rate(request: ExamineRequest, copies: int) -> dict[str, Any]:
    """Return transitions a second of random actions, and what drawing these alone costs."""
    with closing(_make(request, copies)) as env:
        env.reset(soundness.SEED)
        drawn = [soundness.actions(env, number) for number in range(16)]
        for action in drawn:
            env.step(action)
        stepping = _windows(lambda number: env.step(drawn[number % 16]), request.seconds)
        policy = _windows(lambda number: soundness.actions(env, number), request.seconds / 4)
    return {
        "copies": copies,
        "steps_per_second": copies / stepping,
        "seconds_per_step": stepping,
        "random_policy_seconds": policy,
    }


def _windows(call: Any, seconds: float) -> float:
    """Return the median over short windows of the seconds that one call takes."""
    medians: list[float] = []
    number = 0
    until = time.perf_counter() + seconds
    while not medians or time.perf_counter() < until:
        begun, calls = time.perf_counter(), 0
        while time.perf_counter() - begun < min(SPAN, seconds):
            call(number)
            number, calls = number + 1, calls + 1
        medians.append((time.perf_counter() - begun) / calls)
    return float(np.median(medians))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
