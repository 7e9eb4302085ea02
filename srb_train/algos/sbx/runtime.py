"""How JAX runs in this process: on which device, on how many threads, with which cache.

Threads and platforms count only before JAX is first used. What the user has said in JAX_PLATFORMS,
XLA_FLAGS or JAX_COMPILATION_CACHE_DIR stands.
"""

import os
import tempfile
from pathlib import Path

import jax

from srb_train.errors import UnsupportedError, UsageError

_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"
_POOL = "PJRT_NPROC"
"""What XLA asks for the number of processors, and so for the size of its thread pool."""


def prepare(device: str, threads: int) -> str:
    """Set JAX up and return one line that tells how."""
    _limit(threads)
    chosen = _find(device)
    jax.config.update("jax_default_device", chosen)
    return f"JAX {jax.__version__} on {chosen}, threads {threads}, {_keep_programs()}"


def _limit(threads: int) -> None:
    """Give XLA's pool the threads of the run."""
    os.environ.setdefault(_POOL, str(threads))
    flags = os.environ.get("XLA_FLAGS", "")
    if threads == 1 and _ONE_THREAD.partition("=")[0] not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_ONE_THREAD}".strip()


def _find(device: str) -> jax.Device:
    """Return the device; one that this machine lacks is unsupported."""
    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or not (number.isdigit() or device == kind):
        raise UsageError(f"device {device!r} is not cpu, cuda or cuda:<number>")
    if kind == "cpu" and not jax.config.jax_platforms:
        # Otherwise JAX would take most of a GPU's memory for a run that does not use it.
        jax.config.update("jax_platforms", "cpu")
    try:
        found = jax.devices(kind)
    except RuntimeError as error:
        raise UnsupportedError(
            f"device {device!r}: this JAX has none "
            f"(JAX_PLATFORMS is {jax.config.jax_platforms or 'not set'}); {_way_out(kind)}"
        ) from error
    index = int(number or 0)
    if index >= len(found):
        raise UnsupportedError(f"device {device!r}: JAX finds {len(found)} of that kind")
    return found[index]


def _way_out(kind: str) -> str:
    if kind == "cpu":
        return "unset JAX_PLATFORMS"
    return 'use run.device=cpu or install JAX for CUDA: pip install "jax[cuda12]"'


def _keep_programs() -> str:
    """Have compiled programs kept for later processes; returns where, or why not."""
    if not jax.config.jax_enable_compilation_cache:
        return "compiled programs not kept: JAX_ENABLE_COMPILATION_CACHE is off"
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        jax.config.update("jax_compilation_cache_dir", None)
        return f"compiled programs not kept: {error}"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Each of the many small programs takes longer to compile than to read.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return f"compiled programs kept in {folder}"


def _folder() -> Path:
    given = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if given:
        return Path(given)
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "srb-train" / "jax"
