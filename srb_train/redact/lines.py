"""Many lines at once: most of what a program prints holds no secret and differs in numbers only.

The shape of a line is its lower case with a 0 for every digit. What decides whether a line can
hold a secret is to be seen in its shape, so a shape that cannot is remembered, and lines of that
shape pass without another look.
"""

import string
from collections.abc import Collection

from srb_train import redact
from srb_train.redact.shapes import HINTS, LONE_BASE64

MOST_SHAPES = 1024
LONGEST_SHAPE = 512
_DIGITS = str.maketrans(string.digits, "0" * 10)
_HINTS = tuple(hint.translate(_DIGITS) for hint in HINTS)
_SHAPE = bytes.maketrans(
    (string.ascii_uppercase + string.digits).encode(), (string.ascii_lowercase + "0" * 10).encode()
)


class Lines:
    """Masks the lines of one stream."""

    def __init__(self, also: Collection[str] = ()) -> None:
        """Mask the literal values `also` wherever they stand."""
        self._also = also
        self._spelled = redact.spellings(also)
        self._harmless: set[bytes] = set()

    def masked(self, data: bytes) -> list[str]:
        """Return the lines of UTF-8 `data`, the last of which has no newline, without secrets."""
        text = data.decode("utf-8", "replace")
        lines = text.split("\n")
        if "\r" in text:
            lines = [line.rstrip("\r") for line in lines]
        if any(literal in text for literal in self._spelled):
            return [redact.text(line, self._also) for line in lines]
        shapes = data.translate(_SHAPE).split(b"\n")
        unknown = set(shapes) - self._harmless
        harmful = {shape for shape in unknown if _may_hold_a_secret(shape)}
        self._remember(unknown - harmful)
        if not harmful:
            return lines
        pairs = zip(lines, shapes, strict=True)
        return [
            redact.text(line, self._also) if shape in harmful else line for line, shape in pairs
        ]

    def _remember(self, shapes: set[bytes]) -> None:
        if len(self._harmless) > MOST_SHAPES:
            self._harmless.clear()
        self._harmless.update(shape for shape in shapes if len(shape) <= LONGEST_SHAPE)


def _may_hold_a_secret(shape: bytes) -> bool:
    # The letters of other alphabets may have one of ours for their lower case.
    text = shape.decode("utf-8", "replace").lower()
    return any(map(text.__contains__, _HINTS)) or LONE_BASE64.fullmatch(text) is not None
