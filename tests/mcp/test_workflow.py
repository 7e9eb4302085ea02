"""The whole work of the contract over MCP, while the server is killed twice in between."""

import asyncio
import signal
import subprocess
from typing import Any

import httpx2
import pytest

from tests.mcp.asking import SECONDS, answered, http_server, over_http

TRAININGS = {
    "toy_cem": {"env": "cartpole", "num_envs": 4, "overrides": ["agent.horizon=25"]},
    "sb3_ppo": {
        "env": "cartpole",
        "num_envs": 2,
        "overrides": ["agent.n_steps=128", "agent.batch_size=64"],
    },
}
ENDLESS = ["run.steps=1e9", "run.checkpoint_every=1000", "run.log_every=500"]


def drive(reach: Any, script: Any, kill: bool = False) -> Any:
    """Run a part of the work against a server of its own, which may be killed at the end."""

    found: list[Any] = []

    async def part(address: str, server: "subprocess.Popen[str]") -> None:
        async with over_http(address) as client:
            found.append(await script(client))
            if kill:
                waiting = asyncio.create_task(
                    client.call_tool("wait_for_completion", {"run_id": "walk"})
                )
                await asyncio.sleep(0.2)
                server.send_signal(signal.SIGKILL)
                await waiting

    with http_server(reach) as (address, server):
        try:
            asyncio.run(asyncio.wait_for(part(address, server), SECONDS * 2))
        except* httpx2.TransportError:
            assert kill, "only a killed server hangs up"
    return found[0]


@pytest.mark.parametrize("algo", ["toy_cem", pytest.param("sb3_ppo", marks=pytest.mark.slow)])
def test_a_training_is_driven_from_start_to_model_by_three_servers(reach, algo):
    training = TRAININGS[algo]
    start = {"algo": algo, **training, "overrides": [*training["overrides"], *ENDLESS], "seed": 1}

    async def begin(client):
        short = {**start, "overrides": [*start["overrides"], "run.steps=2000"]}
        await answered(client, "force_training", run_id="before", **short)
        done = await answered(client, "wait_for_completion", run_id="before", poll_interval=0.1)
        started = await answered(client, "force_training", run_id="walk", **start)
        first = await answered(client, "wait_for_first_metrics", run_id="walk", poll_interval=0.1)
        return done, started, first

    async def watch(client):
        while not (step := await answered(client, "check_step", run_id="walk", target_step=2000))[
            "reached"
        ]:
            await asyncio.sleep(0.1)
        logs = await answered(client, "get_training_logs", run_id="walk")
        return step, logs, await answered(client, "compare_runs", run_ids=["before", "walk"])

    async def finish(client):
        ended = await answered(client, "stop_training", run_id="walk")
        budget = ended["step"] + 1000
        resumed = await answered(
            client, "resume_training", run_id="walk", overrides=[f"run.steps={budget}"]
        )
        done = await answered(client, "wait_for_completion", run_id="walk", poll_interval=0.1)
        return ended, resumed, done, await answered(client, "export_model", run_id="walk")

    done, started, first = drive(reach, begin, kill=True)
    assert (done["completed"], started["ready"], first["ready"]) == (True, True, True)
    step, logs, compared = drive(reach, watch, kill=True)
    assert step["current_step"] >= 2000
    assert f"{algo} on cartpole" in "\n".join(logs["log_lines"])
    assert set(compared["comparison"]) == {"before", "walk"}
    ended, resumed, done, exported = drive(reach, finish)
    assert (ended["stopped"], ended["forced"], ended["status"]) == (True, False, "stopped")
    assert resumed["ready"]
    assert done["completed"]
    assert exported["checkpoints"][0]["steps"] == done["current_step"] >= ended["step"] + 1000
    assert bool(exported["models"]) == (algo != "toy_cem")
