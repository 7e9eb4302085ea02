"""How clients reach the server: over standard input and output, or over HTTP on this machine."""

import hmac
import logging
import os
import signal
import socket
import sys
from dataclasses import dataclass

import anyio
import psutil
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings

from srb_train import redact
from srb_train.errors import UsageError
from srb_train.mcp_server.server import build
from srb_train.operations.reach import Reach

HOST = "127.0.0.1"
PATH = "/mcp"
SHORTEST_TOKEN = 16
"""Characters."""
GOODBYE_SECONDS = 2
MOST_BYTES = 2**20
"""Size of a request."""


class Redacted(logging.Formatter):
    """Writes log lines without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback where there is one, with secrets masked."""
        also = redact.known(os.environ)
        text = super().format(record)
        return "\n".join(redact.text(line, also) for line in text.splitlines())


@dataclass(frozen=True)
class OneToken:
    """Lets in whoever brings the token."""

    token: str

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who it is, or None for anything but the very token."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        return AccessToken(token=token, client_id="srb", scopes=[])


def serve_stdio(reach: Reach) -> None:
    """Answer one client over standard input and output until its end closes."""
    _log_to_stderr()
    # There is nothing to save, and a thread that reads would hold up an orderly end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdin.isatty():
        print("srb mcp waits for a client on standard input; Ctrl-C ends it", file=sys.stderr)
    build(reach).run("stdio")


def serve_http(reach: Reach, port: int, token: str) -> None:
    """Answer clients that bring the token, over HTTP on the loopback address alone."""
    _log_to_stderr()
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"the token has {len(token)} characters: give it {SHORTEST_TOKEN} or more")
    with _listening(port) as listener:
        port = listener.getsockname()[1]
        issuer = AuthSettings(issuer_url=f"http://{HOST}:{port}", resource_server_url=None)
        server = build(reach, auth=issuer, token_verifier=OneToken(token))
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=MOST_BYTES,
            transport_security=_only_from_here(port),
        )
        print(f"srb mcp listens on http://{HOST}:{port}{PATH}", file=sys.stderr, flush=True)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=GOODBYE_SECONDS,
        )
        anyio.run(uvicorn.Server(config).serve, [listener])


def _only_from_here(port: int) -> TransportSecuritySettings:
    """Refuse what a page in a browser, or another name for this machine, would send."""
    names = [f"{host}:{port}" for host in (HOST, "localhost")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )


def _listening(port: int) -> socket.socket:
    """Take a port, 0 for any free one; a taken one is an error that names the holder."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"--port {port}: {error.strerror}{_holder(port)}; choose another, or 0 for a free one"
        ) from error
    listener.listen()
    return listener


def _holder(port: int) -> str:
    """Return ` (process N, name)` for whoever listens on a port, as far as we may know."""
    try:
        found = [one for one in psutil.net_connections("inet") if one.laddr and one.pid]
        pid = next(one.pid for one in found if one.laddr.port == port and one.status == "LISTEN")
        return f" (process {pid}, {psutil.Process(pid).name()})"
    except (StopIteration, psutil.Error):
        return ""


def _log_to_stderr() -> None:
    """Send what libraries say to standard error; standard output belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacted("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
