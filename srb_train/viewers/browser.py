"""A page in the browser, by viser: pictures behind a panel of buttons.

The page is served to this machine only. viser can ask a public relay to pass the page on to the
internet, which anybody who reaches the page could start; this server refuses.
"""

import io
import queue
import threading
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import viser

from srb_train.errors import UsageError
from srb_train.viewers import BROWSER, FASTEST, PRESSES, SLOWEST, Press, Status, grid
from srb_train.viewers.port import HOST

_QUALITY = 85
_MOMENT = 0.001


class Browser:
    """Serves one page; everybody who opens it sees the same and may press."""

    kind = BROWSER
    live = True

    def __init__(self, title: str, speed: float, port: int) -> None:
        """Serve at a port; `UsageError` if it was taken meanwhile."""
        self.speed = speed
        self._presses: queue.SimpleQueue[Press] = queue.SimpleQueue()
        self._rung = threading.Event()
        self._picture: np.ndarray | None = None
        self._server = _served(title, port)
        self._line = self._server.gui.add_markdown("")
        self._buttons()
        self._server.on_client_connect(self._welcome)
        self.place: str | None = f"http://{HOST}:{port}"

    def show(self, picture: np.ndarray, status: Status) -> None:
        """Send the picture to every page, and the line into the panel."""
        self._picture = picture
        self._line.content = "  \n".join(status.parts())
        for client in self._server.get_clients().values():
            _send(client, picture)

    def wait(self, seconds: float) -> None:
        """Let the server's thread work, if only for a moment where time is short."""
        if self._rung.wait(max(seconds, _MOMENT)):
            self._rung.clear()

    def pressed(self) -> list[Press]:
        """Return what was pressed since the last call."""
        return [self._presses.get() for _ in range(self._presses.qsize())]

    def close(self) -> None:
        """Stop serving."""
        with redirect_stdout(io.StringIO()):
            self._server.stop()

    def _buttons(self) -> None:
        gui = self._server.gui
        self.buttons = {}
        for name in PRESSES:
            button = gui.add_button(name.capitalize())
            button.on_click(self._presser(name))
            self.buttons[name] = button
        self.slider = gui.add_slider(
            "Speed", min=SLOWEST, max=FASTEST, step=0.05, initial_value=self.speed
        )
        self.slider.on_update(self._change)

    def _presser(self, name: Press) -> Any:
        def press(event: Any) -> None:
            self._presses.put(name)
            self._rung.set()

        return press

    def _change(self, event: Any) -> None:
        self.speed = float(self.slider.value)

    def _welcome(self, client: Any) -> None:
        """Show the newest picture to a page that has just been opened, or while paused."""
        if self._picture is not None:
            _send(client, self._picture)


def _served(title: str, port: int) -> Any:
    """Start the server without the greeting that it prints."""
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=HOST, port=port, label=title, verbose=False)
    server.request_share_url = _refuse_to_share
    server.gui.configure_theme(show_logo=False, show_share_button=False, dark_mode=True)
    if server.get_port() != port:
        # It has moved on to another one, where nobody would look for it.
        server.stop()
        raise UsageError(f"--port {port} was taken meanwhile; choose another one")
    return server


def _refuse_to_share(verbose: bool = True) -> None:
    """Stand where viser would open a way in from the internet."""


def _send(client: Any, picture: np.ndarray) -> None:
    """Put a picture behind the scene of one page, which would stretch it to its own shape."""
    fitting = grid.fitted(picture, float(client.camera.aspect))
    client.scene.set_background_image(fitting, format="jpeg", jpeg_quality=_QUALITY)
