"""Measure and write: `python -m benchmarks [startup] [overhead] [environments] [records] [labels]`.

Without names every measurement but the long `labels` is taken. Each writes its own JSON under
benchmarks/results/, and benchmarks/README.md is made anew from all of them.
"""

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from benchmarks import environments, labels, overhead, records, report, startup

RESULTS = Path(__file__).parent / "results"
MEASUREMENTS = {
    "startup": startup.measure,
    "overhead": overhead.measure,
    "environments": environments.measure,
    "records": records.measure,
    "labels": labels.measure,
}
BY_REQUEST = {"labels"}


def machine() -> dict[str, object]:
    """Return what a reader must know about the machine to compare a figure."""
    names = ("torch", "stable-baselines3", "gymnasium", "numpy")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "load_before": psutil.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names},
    }


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
    names = parser.parse_args().names or [name for name in MEASUREMENTS if name not in BY_REQUEST]
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        facts = machine()
        result = {"machine": facts, "command": f"python -m benchmarks {name}"}
        result |= MEASUREMENTS[name]()
        (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    report.write(RESULTS, Path(__file__).parent / "README.md")


if __name__ == "__main__":
    main()
