"""Measure and write: `python -m benchmarks [NAME …]`, names as in MEASUREMENTS.

Without names every measurement but those by request is taken. Each writes its own
JSON under benchmarks/results/, and benchmarks/README.md is made anew from all of them.
"""

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from benchmarks import (
    backends,
    bridges,
    contact,
    control,
    environments,
    labels,
    overhead,
    records,
    report,
    startup,
    supervision,
    tasks,
)

RESULTS = Path(__file__).parent / "results"
MEASUREMENTS = {
    "startup": startup.measure,
    "overhead": overhead.measure,
    "bridges": bridges.measure,
    "environments": environments.measure,
    "records": records.measure,
    "control": control.measure,
    "supervision": supervision.measure,
    "backends": backends.measure,
    "contact": contact.measure,
    "tasks": tasks.measure,
    "labels": labels.measure,
}
BY_REQUEST = {"backends", "tasks", "labels"}
IN_PARTS = {"overhead", "tasks", "labels"}
"""Measurements that can be taken for some cases and keep the figures of the others."""


def machine() -> dict[str, object]:
    """Return what a reader must know about the machine to compare a figure."""
    names = ("torch", "jax", "stable-baselines3", "sbx-rl", "skrl", "rsl-rl-lib", "numpy")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "load_before": psutil.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names if installed(name)},
    }


def installed(name: str) -> bool:
    """Tell whether a distribution is there."""
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def processor() -> str:
    """Return the processor's name as the kernel has it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> None:
    """Take the measurements that were named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", choices=[*MEASUREMENTS, []], metavar="NAME")
    parser.add_argument(
        "--only",
        nargs="+",
        default=(),
        help="labels; for overhead also families and cases, for tasks also tasks",
    )
    given = parser.parse_args()
    names = given.names or [name for name in MEASUREMENTS if name not in BY_REQUEST]
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        facts = machine()
        only = (tuple(given.only),) if given.only and name in IN_PARTS else ()
        measured = MEASUREMENTS[name](*only)
        _keep(RESULTS / f"{name}.json", name, facts, measured)
    report.write(RESULTS, Path(__file__).parent / "README.md")


def _keep(path: Path, name: str, facts: dict[str, object], measured: dict[str, object]) -> None:
    """Write a result; cases of a measurement in parts join those that were measured before."""
    if name in IN_PARTS:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        dates = dict.fromkeys(measured["cases"], facts["date"])
        joined = {"cases": measured["cases"], "dates": dates}
        measured = measured | {key: before.get(key, {}) | new for key, new in joined.items()}
    result = {"machine": facts, "command": f"python -m benchmarks {name}", **measured}
    path.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
