"""An interactive shell on a finished run: `python -m srb_train.console RUN [ptpython|bpython]`.

It holds `run` (the record and metrics), `env` (a fresh one), `policy` (the newest checkpoint's)
and `spec`.
"""

import code
import importlib
import sys
from contextlib import closing
from pathlib import Path

from srb_train import apart, playback, sighted
from srb_train.errors import IntegrityError, MissingDependency, SrbError
from srb_train.runs.store import Run

SHELLS = ("ptpython", "bpython")


def main(run_folder: str, shell: str | None = None) -> int:
    """Open the shell; returns the process's exit code."""
    try:
        _open(Run(Path(run_folder)), shell)
    except SrbError as error:
        print(f"[{error.category}] {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _open(run: Run, shell: str | None) -> None:
    checkpoint = run.checkpoints().latest()
    if checkpoint is None:
        raise IntegrityError(f"{run.path}: there is no checkpoint to look at")
    spec = run.spec()
    made = apart.make_env(spec.env, 1, spec.env_params, spec.simulator)
    with closing(sighted.for_acting(made)) as env:
        policy = playback.load(checkpoint, spec, env)
        names = {"run": run, "spec": spec, "env": env, "policy": policy}
        banner = f"srb: {run.path}, step {checkpoint.step:,}; names: {', '.join(names)}"
        _interact(shell, names, banner)


def _interact(shell: str | None, names: dict[str, object], banner: str) -> None:
    if shell is None:
        code.interact(banner=banner, local=names, exitmsg="")
        return
    try:
        embed = importlib.import_module(f"{shell}.repl" if shell == "ptpython" else shell).embed
    except ModuleNotFoundError as error:
        raise MissingDependency(f"--repl {shell}: pip install {shell}") from error
    print(banner)
    if shell == "ptpython":
        embed(globals(), names)
    else:
        embed(locals_=names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
