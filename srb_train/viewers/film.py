"""A film as a viewer: every picture goes into a file, as fast as it is drawn."""

import numpy as np

from srb_train.video import Recorder
from srb_train.viewers import FILE, Press, Status


class Film:
    """Gives all pictures to a recorder; nobody can press anything."""

    kind = FILE
    live = False

    def __init__(self, recorder: Recorder, speed: float) -> None:
        """Film with a recorder that somebody else opens and closes."""
        self.speed = speed
        self._recorder = recorder
        self.place: str | None = str(recorder.path)

    def show(self, picture: np.ndarray, status: Status) -> None:
        """Add a picture; what is told beside it is not drawn."""
        self._recorder.add(picture)

    def wait(self, seconds: float) -> None:
        """Lose no time: nobody watches."""

    def pressed(self) -> list[Press]:
        """Return nothing."""
        return []
