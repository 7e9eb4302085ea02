"""How the tests talk to a server: in this process, over stdio, over HTTP."""

import asyncio
import functools
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer

from srb_train.mcp_server.server import build
from srb_train.operations.reach import Reach
from tests.conftest import environment

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-the-tests-0123456789"
SECONDS = 90.0
TOY = {
    "algo": "toy_cem",
    "env": "cartpole",
    "num_envs": 4,
    "overrides": ["agent.horizon=25", "run.steps=1e9", "run.checkpoint_every=400"],
}


@functools.cache
def _server(reach: Reach) -> MCPServer:
    """Return one server for all that a test asks, since it holds no state."""
    return build(reach)


def ask(reach: Reach, script: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    """Let a script talk to a server in this process."""

    async def talk() -> Any:
        async with Client(_server(reach), mode=mode) as client:
            return await asyncio.wait_for(script(client), SECONDS)

    return asyncio.run(talk())


def answer(reach: Reach, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call one tool; returns what it answered."""
    return ask(reach, lambda client: answered(client, tool, **arguments))


def refusal(reach: Reach, tool: str, **arguments: Any) -> str:
    """Call one tool that must refuse; returns what it said."""
    return ask(reach, lambda client: refused(client, tool, **arguments))


async def answered(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool of a client at hand; returns what it answered."""
    result = await client.call_tool(tool, arguments, read_timeout_seconds=SECONDS)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool of a client at hand that must refuse; returns what it said."""
    result = await client.call_tool(tool, arguments, read_timeout_seconds=SECONDS)
    assert result.is_error, result.structured_content
    return result.content[0].text


def words(reach: Reach) -> list[str]:
    """Return the command of a server for these roots, without its interpreter."""
    roots = [word for root in reach.configs for word in ("--config-root", str(root))]
    return ["-m", "srb_train", "mcp", "--logdir", str(reach.logs), *roots]


def over_stdio(reach: Reach) -> StdioServerParameters:
    """Return how a client starts a server of its own."""
    return StdioServerParameters(
        command=sys.executable, args=words(reach), env=environment(), cwd=ROOT
    )


@contextmanager
def http_server(reach: Reach, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server over HTTP; yields its address and its process."""
    child = subprocess.Popen(
        [sys.executable, *words(reach), "--http", "--port", str(port)],
        env=environment(SRB_MCP_TOKEN=TOKEN),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = child.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + child.stderr.read()
        yield found[0], child
    finally:
        child.kill()
        child.communicate()


@asynccontextmanager
async def over_http(address: str, token: str = TOKEN) -> AsyncIterator[Client]:
    """Connect to a server over HTTP."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client
