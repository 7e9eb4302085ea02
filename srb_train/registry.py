"""The desk: which rooms exist, what their plates say, and the one place that imports machines."""

import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from srb_train import algos, envs, redact, spelling
from srb_train.contracts import Backend, BatchedEnv, Family, Label, Machine
from srb_train.errors import MissingDependency, UsageError

DISTRIBUTION = "srb-train"
OWN = "own"
"""The backend of tasks that are named by where they are: `<module>:<object>`."""
PYTHON = "python"
"""The setting of every task that names the interpreter it runs in; absent where it is ours."""


def _plates(package: Any, group: str) -> Iterator[Any]:
    """Yield the PLATE of every room in a package, then those of guests (entry points)."""
    for room in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        if room.ispkg:
            yield importlib.import_module(f"{package.__name__}.{room.name}").PLATE
    for guest in importlib.metadata.entry_points(group=group):
        yield guest.load()


@cache
def families() -> Mapping[str, Family]:
    """Return every family's plate by its name."""
    return {plate.name: plate for plate in _plates(algos, "srb_train.algos")}


@cache
def backends() -> Mapping[str, Backend]:
    """Return every environment backend's plate by its name."""
    return {plate.name: plate for plate in _plates(envs, "srb_train.envs")}


def labels() -> dict[str, tuple[Family, Label]]:
    """Return every algorithm label with its family and what it can do."""
    return {
        name: (family, label)
        for family in families().values()
        for name, label in family.labels.items()
    }


def family_of(algo: str) -> tuple[Family, Label, str]:
    """Find the family, the label's facts and its canonical spelling; case does not matter."""
    known = labels()
    name = algo.lower().replace("-", "_")
    if name not in known:
        raise UsageError(
            f"--algo {algo}: no such label{spelling.nearest(name, known, most=3)}; "
            "`srb ls algos` lists them"
        )
    return *known[name], name


def tasks() -> dict[str, Backend]:
    """Return the embedded task names and the prefixes of outside backends."""
    found: dict[str, Backend] = {}
    for backend in backends().values():
        found.update(dict.fromkeys(backend.names, backend))
        if backend.prefix:
            how = "<module>:<object>" if backend.name == OWN else f"{backend.prefix}/<id>"
            found[how] = backend
    return found


def backend_of(env: str) -> tuple[Backend, str]:
    """Find who runs a task: `landing`, `<backend>/<id>` or `<module>:<object>`.

    Returns the plate and the bare name.
    """
    prefix, _, name = env.partition("/")
    if not name and ":" in env:
        return backends()[OWN], env
    for backend in backends().values():
        if env in backend.names:
            return backend, env
        if prefix and name and backend.prefix == prefix:
            return backend, name
    raise UsageError(
        f"--env {env}: no such task{spelling.nearest(env, tasks(), most=3)}; "
        "`srb ls envs` lists them, gymnasium/<id> takes any installed Gymnasium environment, "
        "<module>:<object> your own"
    )


def resolved(key: str, value: Any) -> Any:
    """Return a setting with the `env:NAME` references of secret-named keys filled in."""
    if isinstance(value, Mapping):
        return {inner: resolved(inner, part) for inner, part in value.items()}
    name = redact.reference(value) if redact.is_secret_key(key) else None
    if name is None:
        return value
    if name not in os.environ:
        raise UsageError(f"env.{key}={value}: there is no environment variable {name}")
    return os.environ[name]


def presets(family: Family) -> Path | None:
    """Return the tree of presets that a family from elsewhere brings beside its plate."""
    package = family.machine.rpartition(".")[0]
    if package.startswith(f"{algos.__name__}."):
        return None
    found = importlib.util.find_spec(package)
    places = list(found.submodule_search_locations or []) if found else []
    trees = [Path(place) / "configs" for place in places]
    return next((tree for tree in trees if tree.is_dir()), None)


def missing(plate: Family | Backend) -> list[str]:
    """Return the modules that a plate needs and that are not installed."""
    return [name for name in plate.requires if importlib.util.find_spec(name) is None]


def pip_line(plate: Family | Backend) -> str:
    """Return the command that installs what a plate needs."""
    if isinstance(plate, Backend) and plate.own_interpreter:
        home = f"~/{plate.name}"
        return (
            f"python -m venv {home} && {home}/bin/pip install {plate.own_interpreter}, "
            f"and run it with env.{PYTHON}={home}/bin/python"
        )
    return f'pip install "{DISTRIBUTION}[{plate.extra}]"'


def require(plate: Family | Backend) -> None:
    """Raise `MissingDependency` with the pip command when a room's framework is absent."""
    absent = missing(plate)
    if absent:
        raise MissingDependency(
            f"{plate.title} needs {', '.join(absent)}, which is not installed: {pip_line(plate)}"
        )


def require_backend(backend: Backend, params: Mapping[str, Any]) -> None:
    """Require a backend where its task will run; another interpreter has its own packages."""
    if params.get(PYTHON) is None:
        require(backend)


def machine(family: Family) -> Machine:
    """Import a family's machine (lazy seam 2)."""
    require(family)
    return cast(Machine, importlib.import_module(family.machine))


def backend_machine(backend: Backend) -> Any:
    """Import a backend's machine (lazy seam 2)."""
    require(backend)
    return importlib.import_module(backend.machine)


def make_env(env: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build N copies of a task.

    References such as `env:NAME` in secret-named settings are resolved here, on the way into the
    task, so that a secret is in no spec, record or message.
    """
    backend, name = backend_of(env)
    rest = {key: resolved(key, value) for key, value in params.items() if key not in ("name", "id")}
    return cast(BatchedEnv, backend_machine(backend).make(name, num_envs, rest))
