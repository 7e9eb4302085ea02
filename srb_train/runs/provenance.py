"""What a run stands on: source, machine, packages. Each fact is found or null; none raises.

Git is asked only where the package's root is itself the top of a work tree, so that a package
installed inside some other project never carries that project's commit. No diff is ever kept.
"""

import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import srb_train
from srb_train import redact

ENVIRONMENT_VARIABLES = (
    *("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "MKL_NUM_THREADS", "MUJOCO_GL"),
    *("NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONHASHSEED", "SLURM_JOB_ID"),
    *("SLURM_NODELIST", "SLURM_PROCID", "SRB_HOST", "SRB_IMAGE_ID", "XLA_FLAGS"),
)
PACKAGES = (
    *("torch", "gymnasium", "numpy", "pydantic", "orjson", "scipy", "pillow", "h5py", "isaacsim"),
    *("isaaclab", "hydra-core", "omegaconf", "wandb", "tensorboard", "stable-baselines3"),
    *("sb3-contrib", "sbx-rl", "jax", "jaxlib", "flax", "optax", "skrl", "rsl-rl-lib", "mujoco"),
    *("psutil", "typer", "rich"),
)
PATIENCE = 3.0
"""Seconds that all outside programs of one look together may take."""

_LAST_CHANCE = 0.1
_SHORT_COMMIT = 7
_LINK_MODE = "160000"
_GPU_FIELDS = ("name", "uuid", "memory.total", "driver_version")
_MEBIBYTE = 1 << 20


def collect(package_root: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the sections srb, system, platform, environment_variables and dependencies.

    `package_root` is the folder that holds the package; `environ` says where programs are found.
    Values that `environ` names as secret are masked wherever they would appear.
    """
    root = package_root.resolve()
    said = _ask({**_git_questions(root, environ), **_gpu_questions(environ)}, environ, [root])
    driver, devices = _gpus(said)
    system = {**_system(), **_container(environ), "gpu_count": len(devices)}
    system |= {"gpu_devices": devices, "driver": driver, "cuda": _cuda(said)}
    facts = {
        "srb": _source(root, environ, said),
        "system": system,
        "platform": _platform(environ, driver, devices),
        "environment_variables": {name: environ.get(name) for name in ENVIRONMENT_VARIABLES},
        "dependencies": {name: _version(name) for name in PACKAGES},
    }
    masked: dict[str, Any] = redact.tree(facts, redact.known(environ))
    return masked


def _ask(
    questions: Mapping[str, Sequence[str]], environ: Mapping[str, str], roots: Sequence[Path]
) -> dict[str, str | None]:
    """Run programs side by side; an answer is what one printed, or None when it failed.

    Git does not look for a repository above any of `roots`.
    """
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    ceilings = os.pathsep.join(str(root.parent) for root in roots)
    settings = {"GIT_CEILING_DIRECTORIES": ceilings, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    running = {name: _start(words, {**clean, **settings}) for name, words in questions.items()}
    deadline = time.monotonic() + PATIENCE
    return {name: _answer(process, deadline) for name, process in running.items()}


def _start(words: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            words,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None


def _answer(process: subprocess.Popen[bytes] | None, deadline: float) -> str | None:
    if process is None:
        return None
    try:
        output, _ = process.communicate(timeout=max(_LAST_CHANCE, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return output.decode("utf-8", "replace") if process.returncode == 0 else None


def _program(name: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(name, path=environ.get("PATH", ""))


def _git(environ: Mapping[str, str], folder: Path) -> list[str] | None:
    """Return the beginning of a git command in `folder`, or None where git cannot answer."""
    program = _program("git", environ)
    if program is None or not (folder / ".git").exists():
        return None
    return [program, "-C", str(folder), "-c", "core.fsmonitor=false"]


def _git_questions(root: Path, environ: Mapping[str, str]) -> dict[str, list[str]]:
    git = _git(environ, root)
    if git is None:
        return {}
    config = [*git, "config", "-z"]
    return {
        "head": [*git, "rev-parse", "HEAD", "--abbrev-ref", "HEAD"],
        "status": [*git, "status", "--porcelain"],
        "remotes": [*config, "--get-regexp", r"^remote\..*\.url$"],
        "modules": [*config, "-f", str(root / ".gitmodules"), "--get-regexp", r"^submodule\."],
        "diff": [
            *git,
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--stat",
            "--stat-count=50",
            "HEAD",
        ],
    }


def _source(
    root: Path, environ: Mapping[str, str], said: Mapping[str, str | None]
) -> dict[str, Any]:
    commit, branch = _head(said.get("head"))
    found = said.get("status") is not None or commit is not None
    return {
        "version": srb_train.__version__,
        "git_commit": commit,
        "git_commit_short": commit[:_SHORT_COMMIT] if commit else None,
        "git_branch": branch,
        "git_dirty": _is_dirty(said.get("status")),
        "git_remote": _remote(said.get("remotes")) if found else None,
        "git_diff_stat": (said.get("diff") or "").rstrip() or None,
        "git_submodules": _submodules(root, environ, said.get("modules")) if found else None,
    }


def _head(said: str | None) -> tuple[str | None, str | None]:
    """Return commit and branch; a detached head has no branch."""
    if said is None:
        return None, None
    commit, _, branch = said.strip().partition("\n")
    return commit, None if branch in ("", "HEAD") else branch


def _is_dirty(said: str | None) -> bool | None:
    return None if said is None else bool(said.strip())


def _entries(said: str | None) -> dict[str, str]:
    """Return what `git config -z` printed as names and values."""
    pairs = (entry.partition("\n") for entry in (said or "").split("\0") if entry)
    return {name: value for name, _, value in pairs}


def _remote(said: str | None) -> str | None:
    urls = _entries(said)
    return _without_credentials(urls.get("remote.origin.url") or next(iter(urls.values()), None))


def _without_credentials(url: str | None) -> str | None:
    return None if url is None else redact.text(re.sub(r"://[^/?#\s]*@", "://", url))


def _submodules(
    root: Path, environ: Mapping[str, str], said: str | None
) -> dict[str, dict[str, Any]]:
    """Return each submodule by its path: where it is from, what is pinned, what is checked out."""
    modules: dict[str, dict[str, str]] = {}
    for entry, value in _entries(said).items():
        name, _, field = entry.removeprefix("submodule.").rpartition(".")
        modules.setdefault(name, {})[field] = value
    by_path = {module["path"]: module for module in modules.values() if "path" in module}
    questions = _submodule_questions(root, environ, list(by_path))
    folders = [root, *(root / path for path in by_path)]
    answers = _ask(questions, environ, folders)
    links = _links(answers.get("links"))
    return {
        path: {
            "url": _without_credentials(module.get("url")),
            "branch": module.get("branch"),
            "commit": _head(answers.get(f"head {path}"))[0],
            "gitlink": links.get(path),
            "dirty": _is_dirty(answers.get(f"status {path}")),
        }
        for path, module in by_path.items()
    }


def _submodule_questions(
    root: Path, environ: Mapping[str, str], paths: Sequence[str]
) -> dict[str, list[str]]:
    questions: dict[str, list[str]] = {}
    git = _git(environ, root)
    if git and paths:
        questions["links"] = [*git, "ls-files", "-z", "--stage", "--", *paths]
    for path in paths:
        inside = _git(environ, root / path)
        if inside:
            questions[f"head {path}"] = [*inside, "rev-parse", "HEAD"]
            questions[f"status {path}"] = [*inside, "status", "--porcelain"]
    return questions


def _links(said: str | None) -> dict[str, str]:
    """Return the commits that the index pins, by path."""
    entries = (entry.partition("\t") for entry in (said or "").split("\0") if entry)
    fields = ((path, facts.split()) for facts, _, path in entries)
    return {path: facts[1] for path, facts in fields if facts[0] == _LINK_MODE}


def _gpu_questions(environ: Mapping[str, str]) -> dict[str, list[str]]:
    program = _program("nvidia-smi", environ)
    if program is None:
        return {}
    asked = f"--query-gpu={','.join(_GPU_FIELDS)}"
    return {
        "gpus": [program, asked, "--format=csv,noheader,nounits"],
        "cuda": [program, "--version"],
    }


def _gpus(
    said: Mapping[str, str | None], proc: Path = Path("/proc/driver/nvidia")
) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the driver's version and the devices, from nvidia-smi or else from the kernel."""
    rows = [
        [part.strip() for part in row.split(",")] for row in (said.get("gpus") or "").split("\n")
    ]
    rows = [row for row in rows if len(row) == len(_GPU_FIELDS)]
    if rows:
        return rows[0][3], [_device(name, uuid, memory) for name, uuid, memory, _ in rows]
    found = re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", _read(proc / "version") or "")
    pages = [_read(page) or "" for page in sorted(proc.glob("gpus/*/information"))]
    devices = [_device(_field(page, "Model"), _field(page, "GPU UUID"), "") for page in pages]
    return found[1] if found else None, devices


def _device(name: str | None, uuid: str | None, mebibytes: str) -> dict[str, Any]:
    memory = int(mebibytes) * _MEBIBYTE if mebibytes.isdecimal() else None
    return {"name": name, "uuid": uuid, "memory_total_bytes": memory}


def _cuda(said: Mapping[str, str | None]) -> str | None:
    found = re.search(r"CUDA Version\s*:\s*([\d.]+)", said.get("cuda") or "")
    return found[1] if found else None


def _system() -> dict[str, Any]:
    return {
        "hostname": socket.gethostname(),
        "platform": platform.platform(),
        "os": platform.system(),
        "os_version": platform.version(),
        "arch": platform.machine(),
        "python": platform.python_version(),
        "cpu_count": os.cpu_count(),
        "cpu_affinity": sorted(os.sched_getaffinity(0)) if _has_affinity() else None,
        "cpu_model": _field(_read(Path("/proc/cpuinfo")) or "", "model name"),
        "memory_total_bytes": psutil.virtual_memory().total,
    }


def _has_affinity() -> bool:
    return hasattr(os, "sched_getaffinity")


def _container(environ: Mapping[str, str], root: Path = Path("/")) -> dict[str, Any]:
    """Say whether this is a container, of which kind and from which image, as far as it shows."""
    podman = _read(root / "run/.containerenv")
    image = re.search(r'^image="([^"]+)"', podman or "", re.MULTILINE)
    bundle = environ.get("APPTAINER_CONTAINER") or environ.get("SINGULARITY_CONTAINER")
    groups = _read(root / "proc/1/cgroup") or ""
    signs = {
        "apptainer": bundle is not None,
        "podman": podman is not None,
        "kubernetes": "KUBERNETES_SERVICE_HOST" in environ or "kubepods" in groups,
        "docker": (root / ".dockerenv").exists() or "/docker" in groups,
        "lxc": "/lxc" in groups,
    }
    kind = next((name for name, seen in signs.items() if seen), None)
    shown = environ.get("SRB_IMAGE_ID") or bundle or (image[1] if image else None)
    return {"container": {"is_container": kind is not None, "type": kind, "image": shown}}


def _platform(
    environ: Mapping[str, str], driver: str | None, devices: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "isaac_sim": _version("isaacsim") or _written_version(environ.get("ISAACSIM_PATH")),
        "isaac_lab": _version("isaaclab") or _written_version(environ.get("ISAACLAB_PATH")),
        "image_id": environ.get("SRB_IMAGE_ID"),
        "host": environ.get("SRB_HOST") or socket.gethostname(),
        "gpu": devices[0]["name"] if devices else None,
        "driver": driver,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _written_version(folder: str | None) -> str | None:
    lines = ((_read(Path(folder) / "VERSION") if folder else None) or "").split()
    return lines[0] if lines else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _field(page: str, name: str) -> str | None:
    """Return the first value of a `name : value` line."""
    found = re.search(rf"^{name}\s*:[ \t]*(.*\S)", page, re.MULTILINE)
    return found[1] if found else None
