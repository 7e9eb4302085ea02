"""A window on this machine's display, by Tk of the standard library and Pillow."""

import time
import tkinter
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageTk

from srb_train.errors import UnsupportedError
from srb_train.viewers import FASTEST, PRESSES, SLOWEST, WINDOW, Press, Status

KEYS: dict[str, Press] = {
    "<space>": "pause",
    "<Right>": "step",
    "r": "reset",
    "q": "close",
    "<Escape>": "close",
}
SPEED_KEYS = {"plus": 1.25, "equal": 1.25, "minus": 0.8}
"""Keys that change the speed, and by which factor."""
HINT = "space pause   right one step   r reset   + - speed   q close"
_SLICE = 0.02
_MARGIN = 0.9
"""Share of the screen that a window takes at most."""


class Window:
    """Shows pictures, scaled down where the screen is smaller; keys and buttons steer."""

    kind = WINDOW
    place: str | None = None
    live = True

    def __init__(self, title: str, speed: float) -> None:
        """Open a window; `UnsupportedError` says why there can be none."""
        self.speed = speed
        self._presses: list[Press] = []
        try:
            self._root = tkinter.Tk()
        except tkinter.TclError as error:
            raise UnsupportedError(f"no window: {error}; --viewer browser or file") from error
        self._root.title(title)
        self._picture = tkinter.Label(self._root, background="#111111")
        self._picture.pack(fill="both", expand=True)
        self._line = tkinter.Label(self._root, anchor="w", font="TkFixedFont")
        self._line.pack(fill="x")
        self._buttons()
        self._listen()

    def show(self, picture: np.ndarray, status: Status) -> None:
        """Put the picture and the line beneath it into the window."""
        image = Image.fromarray(picture)
        screen = (self._root.winfo_screenwidth(), self._root.winfo_screenheight())
        size = fitting(image.size, screen)
        shown = ImageTk.PhotoImage(image if size == image.size else image.resize(size))
        self._picture.configure(image=shown)
        # Tk keeps no reference of its own: the picture would vanish with ours.
        self._shown = shown
        self._line.configure(text="   ".join(status.parts()))
        self._root.update()

    def wait(self, seconds: float) -> None:
        """Serve the window."""
        until = time.monotonic() + seconds
        self._root.update()
        while not self._presses and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE))
            self._root.update()

    def pressed(self) -> list[Press]:
        """Return what was pressed since the last call."""
        found, self._presses = self._presses, []
        return found

    def close(self) -> None:
        """Close the window."""
        self._root.destroy()

    def _buttons(self) -> None:
        bar = tkinter.Frame(self._root)
        for name in PRESSES:
            tkinter.Button(bar, text=name, command=self._presser(name)).pack(side="left")
        tkinter.Label(bar, text=HINT, foreground="#777777").pack(side="right")
        bar.pack(fill="x")

    def _listen(self) -> None:
        for key, name in KEYS.items():
            pressed = self._presser(name)
            self._root.bind(key, lambda event, pressed=pressed: pressed())  # type: ignore[misc]
        for key, factor in SPEED_KEYS.items():
            self._root.bind(f"<{key}>", lambda event, factor=factor: self._change(factor))  # type: ignore[misc]
        self._root.protocol("WM_DELETE_WINDOW", self._presser("close"))

    def _presser(self, name: Press) -> Callable[[], None]:
        return lambda: self._presses.append(name)

    def _change(self, factor: float) -> None:
        self.speed = changed(self.speed, factor)


def changed(speed: float, factor: float) -> float:
    """Return another speed within its bounds."""
    return min(FASTEST, max(SLOWEST, speed * factor))


def fitting(size: tuple[int, int], screen: tuple[int, int]) -> tuple[int, int]:
    """Return a (width, height) of the same shape that a screen has room for, never larger."""
    scale = min(1.0, *(_MARGIN * room / side for room, side in zip(screen, size, strict=True)))
    width, height = (max(1, round(scale * side)) for side in size)
    return width, height
