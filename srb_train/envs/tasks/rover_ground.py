"""What the presets of the rover's tasks say about the ground, checked, and as ranges to draw."""

import math
from typing import Protocol

from srb_train.errors import UsageError

DRAWS = 4
STEEPEST = 45.0  # degrees; far beyond what loose soil lies at


class Ground(Protocol):
    """Uniform ranges of one episode's ground, as they stand in a preset."""

    @property
    def slip(self) -> tuple[float, float]:
        """Share of the wheels' way that is lost."""

    @property
    def turn_slip(self) -> tuple[float, float]:
        """Share of the wheels' turning that is lost."""

    @property
    def slope(self) -> tuple[float, float]:
        """Degrees of the plane's inclination, in any direction."""


def bounds(ground: Ground) -> list[tuple[float, float]]:
    """Return the ranges of both slips, the inclination and the direction of the rise (rad)."""
    low, high = (math.radians(part) for part in ground.slope)
    return [ground.slip, ground.turn_slip, (low, high), (-math.pi, math.pi)]


def level(ground: Ground) -> bool:
    """Tell whether no episode has a slope."""
    return not any(ground.slope)


def check(where: str, ground: Ground) -> None:
    """Raise `UsageError` for ranges that no ground has; `where` is their key in the preset."""
    limits = {"slip": (ground.slip, 0.95), "turn_slip": (ground.turn_slip, 0.95)}
    limits["slope"] = (ground.slope, STEEPEST)
    for key, ((low, high), most) in limits.items():
        if not 0.0 <= low <= high <= most:
            raise UsageError(
                f"{where}.{key}=[{low:g}, {high:g}]: two numbers from 0 to {most:g}, "
                "the smaller one first"
            )
