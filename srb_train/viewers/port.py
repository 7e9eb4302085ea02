"""A port of this machine: whether it is free, who holds it, and which one is."""

import socket

import psutil

from srb_train.errors import UsageError

HOST = "127.0.0.1"
"""The browser's page is for this machine only; others reach it through a tunnel of their own."""
_TRIED = 200


def require_free(port: int) -> None:
    """Raise `UsageError` that names the holder of a taken port, and the next free one."""
    if is_free(port):
        return
    following = next((each for each in range(port + 1, port + _TRIED) if is_free(each)), None)
    way_out = f"; --port {following} is free" if following is not None else ""
    raise UsageError(f"--port {port}: taken by {_holder(port)}{way_out}")


def is_free(port: int) -> bool:
    """Tell whether a server could listen at a port of `HOST`."""
    if not 0 < port < 2**16:
        return False
    with socket.socket() as probe:
        # As servers do: a connection that has just ended does not hold its port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _holder(port: int) -> str:
    """Return who listens at a port, as far as this user may know."""
    try:
        found = psutil.net_connections(kind="tcp")
        pid = next(
            one.pid
            for one in found
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid
        )
        return f"process {pid} ({psutil.Process(pid).name()})"
    except (StopIteration, psutil.Error):
        return "a process of another user, or one that this user may not see"
