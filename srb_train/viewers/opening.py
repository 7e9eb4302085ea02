"""Open the viewer that a view asks for; without a wish a window, else the browser."""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from srb_train.errors import SrbError, UnsupportedError
from srb_train.playback_request import View
from srb_train.video import Recorder
from srb_train.viewers import FILE, WINDOW, Viewer, choice
from srb_train.viewers.film import Film


@contextmanager
def opened(view: View, title: str, fps: int) -> Iterator[Viewer]:
    """Lend a viewer of pictures that are drawn `fps` times a second of real time.

    A film stands when the block is left, unless an error ends it; an empty one is an `SrbError`.
    """
    if view.where == FILE and view.film is not None:
        with Recorder(Path(view.film), max(1, round(fps * view.speed))) as recorder:
            yield Film(recorder, view.speed)
        return
    with closing(_screen(view, title)) as viewer:
        yield viewer


def _screen(view: View, title: str) -> Any:
    """Open a window or serve a page; a window that nobody insisted on may fail."""
    if choice.first(view.where, os.environ, sys.platform) == WINDOW:
        try:
            return _module("window").Window(title, view.speed)
        except SrbError as error:
            if view.where == WINDOW:
                raise
            say(f"{error}; so the browser it is")
    choice.require_browser(view.port)
    browser = _module("browser").Browser(title, view.speed, view.port)
    say(f"watch at {browser.place} (Ctrl-C ends it)")
    return browser


def _module(name: str) -> Any:
    """Import a viewer with its toolkit, which only those who use it have."""
    try:
        return importlib.import_module(f"srb_train.viewers.{name}")
    except ImportError as error:
        raise UnsupportedError(
            f"no {name}: {error}; Tk comes with python.org's Python, on Debian as python3-tk"
            if name == WINDOW
            else f"no {name}: {error}"
        ) from error


def say(text: str) -> None:
    """Tell the person one line."""
    print(text, file=sys.stderr, flush=True)
