"""What the preset of sample collection says, checked; and where samples and rocks may lie.

Throwing darts until everything lies apart takes a number of tries that differs from row to row,
which a batch of pure functions cannot do. So the darts are thrown here, when a task is built; an
episode picks one of the layouts, turns it by any angle about the base, and perhaps mirrors it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srb_train.envs.tasks import counter, rover_ground, settings
from srb_train.errors import UsageError

BASE = 0.8  # m, radius of the plate about the origin on which samples are unloaded
BODY = 0.35  # m, radius of the disc that stands for the rover where it meets rocks
REACH = 0.5  # m from the rover's middle to a sample that its scoop reaches

SAMPLES_SEEN, ROCKS_SEEN = 2, 3
KINDS = ("state", "dict", "camera")
SMALLEST_IMAGE = 36  # pixels a side, the least that the usual convolutions take
LAYOUTS = 1024
TRIES = 1000
"""Darts for one thing of one layout; more are needed only where things do not fit."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """What episodes draw from: counts, and uniform ranges."""

    samples: int
    capacity: int
    """Samples that the rover carries at most."""
    rocks: int
    arena: float
    """m from the base within which samples and rocks lie."""
    spacing: float
    """m between the middles of any two of them, and of the base, at least."""
    radius: tuple[float, float]
    """m, of a rock."""
    charge: tuple[float, float]
    """kJ in the battery."""
    slip: tuple[float, float]
    """Share of the wheels' way that is lost."""
    turn_slip: tuple[float, float]
    """Share of the wheels' turning that is lost."""
    slope: tuple[float, float]
    """Degrees of the plane's inclination, in any direction."""


def sites() -> dict[str, Site]:
    """Return the site of each difficulty."""
    return {
        "easy": Site(
            samples=3,
            capacity=3,
            rocks=5,
            arena=5.0,
            spacing=2.0,
            radius=(0.25, 0.4),
            charge=(12.0, 15.0),
            slip=(0.0, 0.2),
            turn_slip=(0.0, 0.3),
            slope=(0.0, 0.0),
        ),
        "full": Site(
            samples=4,
            capacity=2,
            rocks=9,
            arena=6.0,
            spacing=2.0,
            radius=(0.25, 0.5),
            charge=(10.0, 13.0),
            slip=(0.0, 0.3),
            turn_slip=(0.0, 0.4),
            slope=(0.0, 0.0),
        ),
    }


@dataclass(frozen=True, kw_only=True)
class Mission:
    """The keys of the preset."""

    difficulty: str = "easy"
    observe: str = "state"
    image_size: int = 64
    control_hz: float = 5.0
    time_limit: float = 120.0
    sites: Mapping[str, Site] = field(default_factory=sites)

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be driven."""
        for key, known in {"difficulty": self.sites, "observe": KINDS}.items():
            if getattr(self, key) not in known:
                raise UsageError(f"env.{key}={getattr(self, key)}: one of {', '.join(known)}")
        if self.image_size < SMALLEST_IMAGE:
            raise UsageError(f"env.image_size={self.image_size}: at least {SMALLEST_IMAGE} pixels")
        if self.control_hz <= 0.0 or round(self.time_limit * self.control_hz) < 1:
            raise UsageError(
                f"env.time_limit={self.time_limit:g} at env.control_hz={self.control_hz:g}: "
                "an episode is at least one control step"
            )
        where = f"env.sites.{self.difficulty}"
        rover_ground.check(where, self.site)
        _check(where, self.site)

    @property
    def site(self) -> Site:
        """The site of the chosen difficulty."""
        return self.sites[self.difficulty]


def build(params: Mapping[str, Any]) -> Mission:
    """Return the mission for the keys of its preset."""
    given = {
        name: settings.build(Site, site, f"env.sites.{name}")
        for name, site in params.get("sites", {}).items()
    }
    return settings.build(Mission, {**params, "sites": {**sites(), **given}})


def _check(where: str, site: Site) -> None:
    """Refuse counts below what is seen, and things too close to be driven between."""
    least = {"samples": SAMPLES_SEEN, "capacity": 1, "rocks": ROCKS_SEEN}
    for key, count in least.items():
        if getattr(site, key) < count:
            raise UsageError(f"{where}.{key}={getattr(site, key)}: at least {count}")
    for key in ("radius", "charge"):
        low, high = getattr(site, key)
        if not 0.0 < low <= high:
            raise UsageError(f"{where}.{key}=[{low:g}, {high:g}]: above 0, the smaller one first")
    apart = max(2.0 * REACH + 0.1, site.radius[1] + BODY + REACH, BASE + REACH + 0.1)
    if site.spacing < apart:
        raise UsageError(
            f"{where}.spacing={site.spacing:g}: at least {apart:g} m, so that a rover can get "
            "by every rock to what lies beside it"
        )


def scatter(site: Site, where: str) -> np.ndarray:
    """Return (2, samples + rocks, LAYOUTS) places about the base, m; the samples come first.

    Each thing lies where its first dart does that is `spacing` away from the base and from all
    things before it. Raises `UsageError` where there is no room.
    """
    things = site.samples + site.rocks
    placed = np.zeros((2, 1 + things, LAYOUTS), dtype=np.float32)
    for thing in range(1, 1 + things):
        waiting = np.arange(LAYOUTS)
        for dart in range(TRIES):
            spots = _darts(waiting, thing * TRIES + dart, site.arena)
            gaps = placed[:, :thing, waiting] - spots[:, None]
            free = ((gaps * gaps).sum(0) >= site.spacing**2).all(0)
            placed[:, thing, waiting[free]] = spots[:, free]
            waiting = waiting[~free]
            if not waiting.size:
                break
        if waiting.size:
            raise UsageError(
                f"{where}: {things} samples and rocks do not fit {site.spacing:g} m apart within "
                f"{site.arena:g} m of the base: fewer, or a larger arena"
            )
    return placed[:, 1:]


def _darts(layouts: np.ndarray, dart: int, arena: float) -> np.ndarray:
    """Return (2, n) places spread evenly over the arena's disc."""
    share, turn = counter.uniform(np, layouts, np.full_like(layouts, dart), np.arange(2))
    reach, angle = arena * np.sqrt(share), 2.0 * np.pi * turn
    spots: np.ndarray = np.stack([reach * np.cos(angle), reach * np.sin(angle)])
    return spots.astype(np.float32)
