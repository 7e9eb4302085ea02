"""The server over stdio and over HTTP: a pure stream, a token, and nobody from elsewhere."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys

import httpx2
import psutil
import pytest
from mcp import Client

from srb_train import cli
from tests.conftest import environment
from tests.mcp.asking import (
    ROOT,
    SECONDS,
    TOKEN,
    TOY,
    answer,
    answered,
    http_server,
    over_http,
    over_stdio,
    words,
)

CHATTY = {**TOY, "env": "gymnasium/faults:Chatty-v0", "num_envs": 1}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}


def test_every_line_of_standard_output_is_a_message(reach):
    server = subprocess.Popen(
        [sys.executable, *words(reach)],
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    number = iter(range(1, 100))

    def request(method: str, **params) -> dict:
        asked = {"jsonrpc": "2.0", "id": next(number), "method": method, "params": params}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        while True:
            message = json.loads(server.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == asked["id"]:
                return message["result"]

    def call(tool: str, **arguments) -> dict:
        result = request("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    try:
        client = {"name": "tests", "version": "1"}
        request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        assert len(request("tools/list")["tools"]) == 18
        call("force_training", run_id="chatty", **CHATTY)
        while "a line on stdout" not in str(call("get_training_logs", run_id="chatty")):
            pass
        assert call("stop_training", run_id="chatty")["stopped"]
        rest, _ = server.communicate(timeout=30)
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
        assert server.returncode == 0
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_a_server_that_is_killed_leaves_the_run_to_the_next_one(reach):
    async def lose() -> None:
        async with Client(over_stdio(reach)) as client:
            await answered(client, "force_training", run_id="kept", wait=False, **TOY)
            (server,) = [
                child
                for child in psutil.Process().children()
                if child.cmdline()[1:4] == words(reach)[:3]
            ]
            server.kill()

    async def find() -> tuple[dict, dict]:
        async with Client(over_stdio(reach)) as client:
            first = await answered(client, "wait_for_first_metrics", run_id="kept")
            return first, await answered(client, "stop_training", run_id="kept")

    with contextlib.suppress(ExceptionGroup, OSError):
        asyncio.run(asyncio.wait_for(lose(), SECONDS))
    first, stopped = asyncio.run(asyncio.wait_for(find(), SECONDS))
    assert (first["ready"], stopped["stopped"]) == (True, True)


def test_a_client_that_leaves_while_a_start_waits_finds_its_run_again(reach):
    async def leave() -> None:
        async with Client(over_stdio(reach)) as client:
            slow = {**TOY, "env": "gymnasium/faults:Slow-v0", "num_envs": 1}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(
                    client.call_tool("force_training", {**slow, "run_id": "slow"}), 4.0
                )

    asyncio.run(asyncio.wait_for(leave(), SECONDS))
    rows = answer(reach, "list_runs")["runs"]
    assert [row["run_id"] for row in rows] == ["slow"]
    assert answer(reach, "stop_training", run_id="slow", timeout=20)["stopped"]


def test_over_http_only_the_token_opens_only_from_here_and_no_training_inherits_it(reach):
    with http_server(reach) as (address, server):
        port = address.split(":")[2].split("/")[0]

        def code(**more: str) -> int:
            return httpx2.post(address, json=LIST, headers={**HEADERS, **more}).status_code

        assert httpx2.post(address, json=LIST).status_code == 401
        assert code(Authorization="Bearer wrong") == 401
        assert code(Authorization=f"Basic {TOKEN}") == 401
        assert code(Origin="http://evil.example") == 403
        assert code(Origin=f"http://127.0.0.1:{int(port) + 1}") == 403
        assert code(Host="evil.example") == 421
        listening = {one.laddr.ip for one in psutil.Process(server.pid).net_connections("inet")}
        assert listening == {"127.0.0.1"}

        async def script() -> dict:
            async with over_http(address) as client:
                await answered(client, "force_training", run_id="bare", **TOY)
                return await answered(client, "get_run_status", run_id="bare")

        worker = asyncio.run(asyncio.wait_for(script(), SECONDS))["pid"]
        assert TOKEN not in str(psutil.Process(worker).environ())


@pytest.fixture
def serve(monkeypatch, capsys):
    """Run the command in this process, which must refuse to serve; returns what it said."""

    def run(*words: str, **variables: str) -> str:
        for name in ("SRB_MCP_TOKEN", *variables):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert cli.main(["mcp", *words]) == 2
        return capsys.readouterr().err

    return run


def test_a_taken_port_is_an_error_that_names_who_has_it(reach, serve):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = serve("--http", "--port", port, SRB_MCP_TOKEN=TOKEN)
    assert f"process {os.getpid()}" in said


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (["--http"], {}, "environment variable SRB_MCP_TOKEN must hold it"),
        (["--http", "--token-env", "MINE"], {"SRB_MCP_TOKEN": TOKEN}, "variable MINE"),
        (["--http"], {"SRB_MCP_TOKEN": "short"}, "16 or more"),
        (["--config-root", "nowhere"], {}, "not a directory"),
    ],
)
def test_what_the_server_lacks_is_said_before_it_serves(serve, words, variables, said):
    assert said in serve(*words, **variables)


def test_without_the_sdk_the_pip_line_is_said(monkeypatch, serve):
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert 'pip install "srb-train[mcp]"' in serve()
