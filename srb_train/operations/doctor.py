"""Look at the machine before a training does: every finding says what it is and the way out.

Nothing heavy is imported: packages are looked up, not loaded.
"""

import importlib.metadata
import importlib.util
import locale
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

import srb_train
from srb_train import registry
from srb_train.runs import disk, layout, provenance

State = Literal["ok", "warn", "fail"]

OLDEST_PYTHON = (3, 11)
LITTLE_DISK = 2 * 10**9
NO_DISK = 100 * 10**6
LITTLE_MEMORY = 10**9
_BLAS_THREADS = "OMP_NUM_THREADS"
_HEADLESS_GL = ("egl", "osmesa")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at; `advice` is the way out where the state is not "ok"."""

    name: str
    state: State
    value: str
    advice: str | None = None


def doctor(logdir: Path | None = None, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return all findings and the worst state among them; nothing is changed."""
    findings = list(_findings((logdir or layout.default_root()).absolute(), environ))
    states = {finding.state for finding in findings}
    worst = next(state for state in ("fail", "warn", "ok") if state in states)
    return {"state": worst, "findings": [asdict(finding) for finding in findings]}


def _findings(root: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    facts = provenance.collect(Path(srb_train.__file__).parents[1], environ)
    yield _python()
    yield _source(facts["srb"])
    yield from _families()
    yield _processors(environ)
    yield _memory()
    yield _gpu(facts["system"])
    yield _log_root(root)
    yield _disk(root)
    yield _clock()
    yield _text()
    yield _git()
    yield _film()
    yield _gl(environ)


def _judged(name: str, good: bool, value: str, advice: str) -> Finding:
    return Finding(
        name=name, state="ok" if good else "warn", value=value, advice=None if good else advice
    )


def _python() -> Finding:
    value = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    if sys.version_info >= OLDEST_PYTHON:
        return Finding(name="python", state="ok", value=value)
    wanted = ".".join(map(str, OLDEST_PYTHON))
    advice = f"make a virtual environment with Python {wanted} or newer"
    return Finding(name="python", state="fail", value=value, advice=advice)


def _families() -> Iterator[Finding]:
    for kind, plates in (("family", registry.families()), ("tasks", registry.backends())):
        for name, plate in plates.items():
            missing = registry.missing(plate)
            versions = ", ".join(f"{name} {_version(name)}".strip() for name in plate.requires)
            value = f"not installed: {', '.join(missing)}" if missing else versions or "built in"
            advice = registry.pip_line(plate)
            yield _judged(f"{kind} {name}", not missing, value, advice)


def _version(module: str) -> str:
    """Return the version of the distribution that brings a module; empty where nobody says."""
    for name in (module, module.replace("_", "-")):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def _processors(environ: Mapping[str, str]) -> Finding:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    quota = _quota()
    load = os.getloadavg()[0]
    said = [f"{usable} of {cores} usable", f"load {load:.1f}"]
    if quota is not None:
        said.insert(1, f"a quota of {quota:g}")
    threads = environ.get(_BLAS_THREADS)
    if threads is not None:
        said.append(f"{_BLAS_THREADS}={threads} (a run uses run.threads instead)")
    room = min(float(usable), quota or usable)
    return _judged(
        "processors",
        load <= max(1.0, room) + 0.5,
        ", ".join(said),
        "other programs keep the processors busy: training will be slower",
    )


def _quota() -> float | None:
    """Return how many processors the control group may use; None without a limit."""
    path = Path("/sys/fs/cgroup/cpu.max")
    if not path.is_file():
        return None
    limit, period = path.read_text().split()
    return None if limit == "max" else int(limit) / int(period)


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    return _judged(
        "memory",
        memory.available >= LITTLE_MEMORY,
        f"{_gigabytes(memory.available)} of {_gigabytes(memory.total)} available",
        "use fewer copies (env.num_envs) and smaller buffers (agent.buffer_size)",
    )


def _gigabytes(amount: int) -> str:
    return f"{amount / 1e9:.1f} GB"


def _gpu(system: Mapping[str, Any]) -> Finding:
    """Judge what the driver told; a machine without one trains on its processors."""
    devices = ", ".join(str(device["name"]) for device in system["gpu_devices"])
    if not devices:
        silent = shutil.which("nvidia-smi") is not None
        value = "nvidia-smi does not answer" if silent else "none: cpu is used"
        return _judged("gpu", not silent, value, "reinstall the driver, or use --device cpu")
    blind = _version("torch").endswith("+cpu")
    value = f"{devices}, driver {system['driver']}"
    return _judged("gpu", not blind, value, "this torch is for cpu only: install its CUDA build")


def _source(source: Mapping[str, Any]) -> Finding:
    commit = source["git_commit"]
    changes = " with uncommitted changes" if source["git_dirty"] else ""
    where = f"commit {commit}{changes}" if commit else "not a checkout"
    return Finding(name="srb-train", state="ok", value=f"{srb_train.__version__}, {where}")


def _log_root(root: Path) -> Finding:
    """Try to write where runs would go, without leaving anything there."""
    place = next(folder for folder in (root, *root.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"\0")
    except OSError as error:
        return Finding(
            name="log root",
            state="fail",
            value=f"{root}: {error.strerror}",
            advice="choose a folder that you may write to with --logdir",
        )
    return Finding(name="log root", state="ok", value=str(root))


def _disk(root: Path) -> Finding:
    free = disk.free_bytes(root)
    state: State = "fail" if free < NO_DISK else "warn" if free < LITTLE_DISK else "ok"
    advice = "free some space, choose another --logdir, or keep fewer run.keep_checkpoints"
    return Finding(
        name="disk",
        state=state,
        value=f"{_gigabytes(free)} free for {root}",
        advice=None if state == "ok" else advice,
    )


def _clock() -> Finding:
    """Compare the clock with the newest file of this program: it cannot be from the future."""
    written = max(path.stat().st_mtime for path in Path(srb_train.__file__).parent.glob("*.py"))
    now = time.time()
    value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    return _judged(
        "clock", now >= written - 60, value, "it is behind the files of this program: set it"
    )


def _text() -> Finding:
    encoding = locale.getpreferredencoding(False)
    good = encoding.lower().replace("-", "") == "utf8"
    return _judged("text", good, encoding, "set LC_ALL=C.UTF-8 or PYTHONUTF8=1")


def _git() -> Finding:
    path = shutil.which("git")
    advice = "install git: without it records hold no commit"
    return _judged("git", path is not None, path or "not found", advice)


def _film() -> Finding:
    path = shutil.which("ffmpeg")
    bundled = importlib.util.find_spec("imageio_ffmpeg") is not None
    value = path or ("imageio-ffmpeg" if bundled else "not found")
    advice = f'--video needs it: pip install "{registry.DISTRIBUTION}[video]"'
    return _judged("ffmpeg", bool(path or bundled), value, advice)


def _gl(environ: Mapping[str, str]) -> Finding:
    chosen = environ.get("MUJOCO_GL", "")
    screen = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    used = importlib.util.find_spec("mujoco") is not None
    value = f"MUJOCO_GL={chosen or 'unset'}, {f'display {screen}' if screen else 'no display'}"
    good = not used or bool(screen) or chosen in _HEADLESS_GL
    return _judged(
        "rendering", good, value, "set MUJOCO_GL=egl (or osmesa) to draw without display"
    )
