"""The page in the browser, for real: it is served, gets pictures, and its buttons are heard."""

import re
import signal
import socket
import time
import urllib.request

import numpy as np
import pytest

viser = pytest.importorskip("viser")

import msgspec  # noqa: E402 - it comes with viser
from websockets.sync.client import connect  # noqa: E402

from srb_train.errors import UsageError  # noqa: E402
from srb_train.viewers import Status, port  # noqa: E402
from srb_train.viewers.browser import Browser  # noqa: E402

PICTURE = np.random.default_rng(0).integers(0, 255, (120, 200, 3), dtype=np.uint8)
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (0.0, 0.0, 1.0),
    "fov": 1.0,
    "near": 0.01,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
"""What a page says of itself when it has been opened."""


def status(**more):
    facts = {"episode": 1, "step": 4, "total": 2.5, "done": 0, "successes": None}
    return Status(**{**facts, "paused": False, "speed": 1.0, **more})


def free_port():
    with socket.socket() as probe:
        probe.bind((port.HOST, 0))
        return probe.getsockname()[1]


def until(true, what):
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, f"waited 20 s for {what}"
        time.sleep(0.02)


class Page:
    """What a browser does with the page: it connects, tells its size, listens and presses."""

    def __init__(self, number):
        self._link = connect(
            f"ws://{port.HOST}:{number}",
            subprotocols=[f"viser-v{viser.__version__}"],
            compression=None,
            max_size=None,
        )
        self.tell(CAMERA)

    def tell(self, message):
        self._link.send(msgspec.msgpack.encode(message))

    def press(self, handle, value=True):
        updates = {"value": value}
        uuid = handle._impl.uuid
        self.tell({"type": "GuiUpdateMessage", "uuid": uuid, "updates": updates})

    def heard(self, seconds=0.5, enough=float("inf")):
        """Return the bytes that come within a while, or as soon as they are enough."""
        total, end = 0, time.monotonic() + seconds
        while total <= enough and (left := end - time.monotonic()) > 0:
            try:
                total += len(self._link.recv(timeout=left))
            except TimeoutError:
                break
        return total

    def close(self):
        self._link.close()


@pytest.fixture
def browser():
    found = Browser("toy on cartpole", 1.0, free_port())
    yield found
    found.close()


@pytest.fixture
def page(browser):
    found = Page(int(browser.place.rsplit(":", 1)[1]))
    until(browser._server.get_clients, "the page to be known")
    yield found
    found.close()


def test_the_page_is_served_on_this_machine_only(browser):
    with urllib.request.urlopen(browser.place, timeout=10) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read().lower()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", browser.place)
    assert browser._server.get_host() == "127.0.0.1"


def test_pictures_are_pushed_in_the_shape_of_the_page(browser, page):
    page.heard()
    browser.show(PICTURE, status())
    # Noise of 24,000 pixels, with margins to 4:3, as JPEG.
    assert page.heard(20.0, enough=10_000) > 10_000
    assert "return 2.5" in browser._line.content


def test_a_page_that_is_opened_later_gets_the_newest_picture(browser):
    browser.show(PICTURE, status(paused=True))
    page = Page(int(browser.place.rsplit(":", 1)[1]))
    assert page.heard(20.0, enough=10_000) > 10_000
    page.close()


def test_buttons_and_the_slider_are_heard(browser, page):
    for name in ("pause", "step", "reset", "close"):
        page.press(browser.buttons[name])
    pressed = []
    until(lambda: pressed.extend(browser.pressed()) or len(pressed) == 4, "four presses")
    assert sorted(pressed) == ["close", "pause", "reset", "step"]
    page.press(browser.slider, 2.5)
    until(lambda: browser.speed == 2.5, "the speed")


def test_waiting_ends_when_something_is_pressed(browser, page):
    page.press(browser.buttons["pause"])
    begun = time.monotonic()
    browser.wait(15.0)
    assert time.monotonic() - begun < 10
    assert browser.pressed() == ["pause"]


def test_the_public_relay_is_refused(browser, page):
    page.tell({"type": "ShareUrlRequest"})
    page.press(browser.buttons["step"])
    until(lambda: browser.pressed() == ["step"], "the press after it")
    assert browser._server._share_tunnel is None


def test_a_port_that_was_taken_meanwhile_is_an_error(browser):
    with pytest.raises(UsageError, match="taken meanwhile"):
        Browser("another", 1.0, int(browser.place.rsplit(":", 1)[1]))


def test_the_command_serves_says_where_and_ends_by_ctrl_c(start_srb):
    number = free_port()
    words = ("--policy", "random", "--env", "cartpole", "--viewer", "browser", "--port", number)
    child = start_srb("agent", "play", *words)
    assert child.stdout.readline() == f"watch at http://127.0.0.1:{number} (Ctrl-C ends it)\n"
    with urllib.request.urlopen(f"http://127.0.0.1:{number}", timeout=10) as answer:
        assert answer.status == 200
    page = Page(number)
    assert page.heard(20.0, enough=20_000) > 20_000
    child.send_signal(signal.SIGINT)
    said = child.stdout.read()
    child.wait(timeout=20)
    assert child.returncode == 130, said
    assert "ended by stopped" in said or "episodes" in said
    assert "viser" not in said and "Traceback" not in said
