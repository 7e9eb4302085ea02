"""`srb mcp`: the door for assistants."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from srb_train.cli import options
from srb_train.errors import MissingDependency, UsageError
from srb_train.operations.reach import Reach

TOKEN = "SRB_MCP_TOKEN"

Http = Annotated[
    bool, typer.Option("--http", help="Serve over HTTP on 127.0.0.1, not over stdin and stdout.")
]
Port = Annotated[
    int,
    typer.Option("--port", min=0, max=65535, metavar="N", help="Of --http; 0 takes a free one."),
]
TokenEnv = Annotated[
    str,
    typer.Option(
        "--token-env", metavar="NAME", help="Variable that holds the token which --http asks for."
    ),
]
ConfigRoots = Annotated[
    list[Path] | None,
    typer.Option(
        "--config-root",
        path_type=Path,
        metavar="FOLDER",
        help="Folder whose YAML files may be read and changed; may be given several times.",
    ),
]


def mcp(
    http: Http = False,
    port: Port = 8765,
    token_env: TokenEnv = TOKEN,
    logdir: options.Logdir = None,
    config_roots: ConfigRoots = None,
) -> int:
    """Serve runs to assistants over the Model Context Protocol.

    Example: srb mcp --logdir logs --config-root trainings
    """
    _require_sdk()
    reach = Reach.of(logdir, config_roots or [])
    token = _token(token_env) if http else None
    from srb_train import mcp_server

    if token is None:
        mcp_server.serve_stdio(reach)
    else:
        mcp_server.serve_http(reach, port, token)
    return 0


def _require_sdk() -> None:
    if find_spec("mcp") is None:
        raise MissingDependency(
            'srb mcp needs mcp, which is not installed: pip install "srb-train[mcp]"'
        )


def _token(name: str) -> str:
    """Take the token out of the environment, so that no training inherits it."""
    token = os.environ.pop(name, None)
    if token is None:
        raise UsageError(
            f"--http lets in whoever knows a secret, and the environment variable {name} must hold "
            "it; `openssl rand -hex 32` makes one"
        )
    return token
