"""Look at a task: what it is, how fast it steps, whether it is sound; or begin a new one."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from srb_train import config, redact, registry, supervisor
from srb_train.errors import SrbError, UsageError
from srb_train.examine_request import CHECK, FACTS, RATES, ExamineRequest
from srb_train.operations import skeleton
from srb_train.runs import files

COPIES = (1, 16, 512)


def show_env(
    env: str, overrides: Sequence[str] = (), *, frame: Path | None = None
) -> dict[str, Any]:
    """Return spaces, limits and settings of a task; saves a picture where one is asked for."""
    picture = str(frame.absolute()) if frame else None
    return {
        **_examined(FACTS, env, overrides, frame=picture),
        "settings": _settings(env, overrides),
    }


def bench_env(
    env: str,
    overrides: Sequence[str] = (),
    *,
    copies: Sequence[int] = COPIES,
    seconds: float = 1.0,
) -> dict[str, Any]:
    """Return transitions a second at several numbers of copies, on one thread."""
    return _examined(RATES, env, overrides, copies=tuple(copies), seconds=seconds)


def check_env(env: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return whether a task keeps the contract, check by check."""
    return _examined(CHECK, env, overrides)


def new_env(name: str, folder: Path) -> dict[str, Any]:
    """Write a task to start from, with its test; nothing that is there is written over."""
    if not name.isidentifier() or not name.islower():
        raise UsageError(f"{name!r}: a module's name, as in hover_low")
    texts = skeleton.texts(name)
    there = [str(folder / path) for path in texts if (folder / path).exists()]
    if there:
        raise UsageError(f"{', '.join(there)} is there already: choose another name or --folder")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        files.write_text(folder / path, text)
    return {"env": f"{name}:make", "files": [str(folder / path) for path in texts]}


def _settings(env: str, overrides: Sequence[str]) -> dict[str, Any]:
    backend, _ = registry.backend_of(env)
    selected = config.Selected.of(env, backend.prefix)
    return dict(config.compose_env(selected, overrides, config_dir=None).env)


def _examined(what: str, env: str, overrides: Sequence[str], **more: Any) -> dict[str, Any]:
    backend, _ = registry.backend_of(env)
    params = _settings(env, overrides)
    registry.require_backend(backend, params)
    params.pop("num_envs")
    environ = os.environ
    with tempfile.TemporaryDirectory(prefix="srb-") as scratch:
        output, order = Path(scratch) / "answer.json", Path(scratch) / "request.json"
        ExamineRequest(what=what, env=env, env_params=params, output=str(output), **more).write(
            order
        )
        code = supervisor.attend(
            ["srb_train.examine", str(order)],
            supervisor.worker_environment(supervisor.DEFAULT_THREADS, environ),
            redact.known(environ) | redact.referenced(params, environ),
        )
        if code:
            raise LookFailed(code)
        found: Mapping[str, Any] = files.read_json(output)
    return dict(found)


class LookFailed(SrbError):
    """The child has said what was wrong; only its exit code is left to pass on."""

    def __init__(self, code: int) -> None:
        """Leave by the child's exit code."""
        super().__init__("the task could not be looked at; the reason stands above")
        self.exit_code = code
