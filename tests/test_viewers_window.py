"""The window, for real where there is a display: pictures, buttons, keys, and its size."""

import os

import numpy as np
import pytest

tkinter = pytest.importorskip("tkinter")
pytest.importorskip("PIL.ImageTk")

from srb_train.viewers import FASTEST, SLOWEST, Status  # noqa: E402
from srb_train.viewers.window import Window, changed, fitting  # noqa: E402

PICTURE = np.random.default_rng(0).integers(0, 255, (90, 160, 3), dtype=np.uint8)
STATUS = Status(episode=1, step=4, total=2.5, done=0, successes=None, paused=False, speed=1.0)

on_a_display = pytest.mark.skipif(not os.environ.get("DISPLAY"), reason="there is no display")


@pytest.fixture
def window():
    found = Window("toy on cartpole", 1.0)
    yield found
    found.close()


def widgets(kind, parent):
    """Return all widgets of a kind, at any depth."""
    for child in parent.winfo_children():
        if isinstance(child, kind):
            yield child
        yield from widgets(kind, child)


@on_a_display
def test_a_picture_and_its_line_are_shown(window):
    window.show(PICTURE, STATUS)
    assert (window._shown.width(), window._shown.height()) == (160, 90)
    lines = [str(label["text"]) for label in widgets(tkinter.Label, window._root)]
    assert "episode 1   step 4   return 2.5   speed 1x" in lines


@on_a_display
def test_a_picture_larger_than_the_screen_is_made_smaller(window):
    large = np.zeros((3000, 6000, 3), np.uint8)
    window.show(large, STATUS)
    assert window._shown.width() <= window._root.winfo_screenwidth()
    assert window._shown.width() == pytest.approx(2 * window._shown.height(), abs=2)


@on_a_display
def test_buttons_keys_and_the_closing_are_heard(window):
    for button in widgets(tkinter.Button, window._root):
        button.invoke()
    assert window.pressed() == ["pause", "step", "reset", "close"]
    window._root.focus_force()
    window._root.update()
    for key in ("<space>", "<Right>", "<r>", "<Escape>"):
        window._root.event_generate(key)
    window.wait(0.2)
    assert window.pressed() == ["pause", "step", "reset", "close"]
    assert window.pressed() == []


@on_a_display
def test_keys_change_the_speed(window):
    window._root.focus_force()
    window._root.update()
    window._root.event_generate("<plus>")
    window.wait(0.0)
    assert window.speed == 1.25
    window._root.event_generate("<minus>")
    window.wait(0.0)
    assert window.speed == 1.0


def test_the_speed_stays_within_its_bounds():
    assert changed(FASTEST, 1.25) == FASTEST
    assert changed(SLOWEST, 0.8) == SLOWEST
    assert changed(2.0, 0.8) == 1.6


@pytest.mark.parametrize(
    ("size", "screen", "fitted"),
    [
        ((600, 400), (1920, 1080), (600, 400)),
        ((3000, 1000), (1000, 1000), (900, 300)),
        ((1000, 3000), (1000, 1000), (300, 900)),
        ((9000, 1), (1000, 1000), (900, 1)),
    ],
)
def test_a_picture_fits_the_screen_and_keeps_its_shape(size, screen, fitted):
    assert fitting(size, screen) == fitted
