"""Control: how long an assistant waits for a list of runs, a shell for a status, a long curve."""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks import clock
from srb_train import operations
from srb_train.runs import record
from srb_train.runs.metrics import RETURN, MetricsWriter
from srb_train.spec import RunSpec

RUNS = 1000
POINTS = 1_000_000
TAGS = 10
CALLS = 20


def measure() -> dict[str, object]:
    """Return seconds: MCP calls over stdio, `srb run show`, and reading a long curve."""
    with tempfile.TemporaryDirectory() as scratch:
        logs = Path(scratch)
        newest = _make_runs(logs)
        show = [sys.executable, "-m", "srb_train", "run", "show", newest, "--logdir", scratch]
        clock.wall(show)
        shown = clock.medians(clock.in_turn({"show": show}, 5))["show"]
        called = asyncio.run(_called(logs, newest))
        _measure_much(logs, newest)
        return {
            "runs": RUNS,
            "points": POINTS,
            "mcp": called,
            "run_show_seconds": shown,
            "metrics_seconds": _read(logs, newest),
            "mcp_long": asyncio.run(_called(logs, newest)),
        }


def _make_runs(logs: Path) -> str:
    """Make runs that have ended; returns the place of the newest one."""
    spec = RunSpec(
        algo="sb3_ppo", env="landing", steps=1, num_envs=1, seed=0, checkpoint_every=1, log_every=1
    )
    for number in range(RUNS):
        place = f"landing/sb3_ppo/20260101T000000Z-{number:05}"
        (logs / place).mkdir(parents=True)
        facts = {"run_id": place, "sequence": number, "status": "completed"}
        text = json.dumps(record.new(spec, facts))
        (logs / place / "run.json").write_text(text, encoding="utf-8")
    return place


async def _called(logs: Path, run: str) -> dict[str, float]:
    """Return the median seconds of calls to a server that a client has started over stdio."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "srb_train", "mcp", "--logdir", str(logs)],
        env=clock.ONE_THREAD,
    )
    asked: dict[str, dict[str, Any]] = {
        "list_runs": {},
        "get_run_status": {"run_id": run},
        "check_step": {"run_id": run, "target_step": 1},
        "get_metrics": {"run_id": run},
    }
    begun = time.perf_counter()
    async with Client(server) as client:
        await client.list_tools()
        found = {"first_answer": time.perf_counter() - begun}
        for tool, arguments in asked.items():
            seconds = [await _seconds(client, tool, arguments) for _ in range(CALLS)]
            found[tool] = statistics.median(seconds)
    return found


async def _seconds(client: Client, tool: str, arguments: dict[str, Any]) -> float:
    begun = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise SystemExit(result.content)
    return time.perf_counter() - begun


def _measure_much(logs: Path, run: str) -> None:
    writer = MetricsWriter(logs / run / "metrics.jsonl")
    others = {f"train/value_{number}": float(number) for number in range(TAGS - 1)}
    for step in range(POINTS // TAGS):
        writer.write(step, {RETURN: float(step), **others})
    writer.close()


def _read(logs: Path, run: str) -> dict[str, float]:
    """Return the seconds of one metric, of its newest points, and of all."""
    asked: dict[str, dict[str, Any]] = {
        "newest": {"tags": [RETURN], "last_n": 20},
        "one_metric": {"tags": [RETURN]},
        "all": {},
    }
    seconds = {}
    for name, more in asked.items():
        begun = time.perf_counter()
        operations.run_metrics(run, logs, **more)
        seconds[name] = time.perf_counter() - begun
    return seconds
