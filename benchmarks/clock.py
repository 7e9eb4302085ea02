"""How a command or a function is timed here: interleaved, repeated, summarised by the median."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def wall(command: Sequence[str], **more: str) -> float:
    """Run a command to its end and return the seconds that it took; it must succeed."""
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        env={**os.environ, **ONE_THREAD, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return taken


def cost(command: Sequence[str]) -> tuple[float, float]:
    """Run a command; returns its wall seconds and the processor seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = wall(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return seconds, user + system


def in_turn(
    commands: Mapping[str, Sequence[str]], runs: int, **more: str
) -> dict[str, list[float]]:
    """Time several commands A B C A B C …, so that a machine that drifts drifts for all."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            seconds[name].append(wall(command, **more))
    return seconds


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each series."""
    return {name: statistics.median(series) for name, series in seconds.items()}


def rate(step: Callable[[], object], count: int, *, windows: int = 15, span: float = 0.1) -> float:
    """Return how many of `count` things a second `step` does: the median over short windows."""
    for _ in range(5):
        step()
    rates = []
    for _ in range(windows):
        begun, calls = time.perf_counter(), 0
        while time.perf_counter() - begun < span:
            step()
            calls += 1
        rates.append(calls * count / (time.perf_counter() - begun))
    return statistics.median(rates)
