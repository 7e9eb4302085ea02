"""Which viewer there can be, as far as that is known without opening one."""

import importlib.util
from collections.abc import Mapping

from srb_train.errors import MissingDependency
from srb_train.viewers import BROWSER, WINDOW, port

SERVER = "viser"
_OTHERWISE = "or --viewer file --out film.mp4"


def first(where: str | None, environ: Mapping[str, str], platform: str) -> str:
    """Return the viewer to try first: the one asked for, else what the surroundings allow."""
    if where is not None:
        return where
    return WINDOW if has_display(environ, platform) else BROWSER


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Tell whether windows can be expected to open."""
    if platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def require_browser(number: int) -> None:
    """Raise unless a page can be served at port `number`, with the way out."""
    if importlib.util.find_spec(SERVER) is None:
        raise MissingDependency(
            f"the browser viewer needs {SERVER}, which is not installed: "
            f'pip install "srb-train[view]", {_OTHERWISE}'
        )
    port.require_free(number)
