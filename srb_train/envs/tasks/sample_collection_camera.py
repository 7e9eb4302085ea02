"""What the rover's camera sees: rays cast onto flat ground, the base, samples and rocks, in NumPy.

A pinhole without distortion on a mast, 0.6 m above the rover's middle, tilted 15 degrees below the
horizon, with a field of view of 90 degrees across a square picture. The ground is endless and flat;
the base is a disc of it, and what stands on it is the part above it of a ball. Balls that do not
overlap hide each other in the order of their power |c|^2 - r^2, c being the way to the middle; a
ray is cast at a ball only within the box of pixels that it can fill. The sun stands low in the
direction of y. The ground's texture is of the counter hash, so that it is the same wherever and
whenever it is seen.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from srb_train.envs.tasks import counter
from srb_train.envs.tasks.sample_collection_site import BASE

HEIGHT = 0.6  # m above the ground
TILT = math.radians(15.0)  # below the horizon
FIELD = math.radians(90.0)  # across, and from top to bottom

SAMPLE = 0.12  # m, radius of a sample's ball
SAMPLE_UP = 0.06  # m of its middle above the ground

GROUND, HAZE, SKY = (150.0, 112.0, 84.0), (196.0, 168.0, 146.0), (96.0, 104.0, 140.0)
SAMPLE_COLOUR, ROCK_COLOUR, BASE_COLOUR = (70, 200, 250), (112, 104, 100), (206, 192, 78)
SUN = (0.0, 0.64, 0.77)
"""Direction to the sun in the axes of the arena."""
SHADE = 0.45  # of full light, on what the sun does not reach

CELL = 0.08  # m of the ground's texture
TILE = 256  # cells after which the texture repeats; a power of two
GRAIN = 26.0  # levels of brightness that it adds or takes at most, right before the camera
FADE = 5.0  # m in which the grain falls to 37 %
FARTHEST = 200.0  # m of ground that is told apart
AWAY = 4 * TILE * CELL  # m added to all places, so that cells count from above 0
CHUNK = 32
"""Rows at once, so that what they take lies in a processor's cache."""


class Balls(NamedTuple):
    """Balls to be seen, N rows of M each, in the axes of the camera's rover."""

    ahead: np.ndarray
    """(N, M) m."""
    left: np.ndarray
    up: np.ndarray
    """(N, M) m of the middle above the ground."""
    radius: np.ndarray
    """m."""
    reach: np.ndarray
    """m about the point of the ground below the middle that hold all that is above the ground."""
    colour: np.ndarray
    """(N, M, 3)."""
    there: np.ndarray
    """bool."""


@dataclass(frozen=True)
class Camera:
    """The geometry of a picture of `size` x `size` pixels, counted row by row from the top left."""

    size: int

    @property
    def focal(self) -> float:
        """Pixels that are a tangent of 1 off the middle."""
        return 0.5 * self.size / math.tan(0.5 * FIELD)

    @cached_property
    def rays(self) -> np.ndarray:
        """(3, P) unit vectors through the pixels' middles: forwards, left and up of the rover."""
        middles = (np.arange(self.size) + 0.5 - 0.5 * self.size) / self.focal
        right, down = np.broadcast_arrays(middles, middles[:, None])
        ahead = math.cos(TILT) - down * math.sin(TILT)
        up = -math.sin(TILT) - down * math.cos(TILT)
        rays = np.stack([ahead, -right, up]).reshape(3, -1)
        unit: np.ndarray = (rays / np.sqrt((rays * rays).sum(0))).astype(np.float32)
        return unit

    @cached_property
    def first(self) -> int:
        """The first pixel of the first row that lies below the horizon."""
        return int(np.argmax(self.rays[2] < 0.0)) // self.size * self.size

    @cached_property
    def footing(self) -> np.ndarray:
        """(2, G) cells of texture from below the camera to where a pixel's ray meets the ground."""
        ahead, left, up = self.rays[:, self.first :].astype(np.float64)
        share = np.minimum(HEIGHT / np.maximum(-up, 1e-9), FARTHEST)
        found: np.ndarray = (np.stack([ahead, left]) * share / CELL).astype(np.float32)
        return found

    @cached_property
    def grain(self) -> np.ndarray:
        """(G,) levels by which the texture changes the ground's brightness."""
        away = CELL * np.sqrt((self.footing.astype(np.float64) ** 2).sum(0))
        found: np.ndarray = (GRAIN * np.exp(-away / FADE)).astype(np.float32)
        return found

    @cached_property
    def plain(self) -> np.ndarray:
        """(P, 3) colours of the sky and of the ground without its texture."""
        up = self.rays[2].astype(np.float64)[:, None]
        mist = np.exp(-abs(up) * 7.0)
        far = np.where(up >= 0.0, SKY, GROUND)
        found: np.ndarray = (mist * HAZE + (1.0 - mist) * far).astype(np.float32)
        return found


@cache
def texture() -> np.ndarray:
    """Return (TILE * TILE,) numbers in [-1, 1]: fine grains on patches eight times as wide."""
    cells = np.arange(TILE * TILE)
    fine = counter.uniform(np, cells, np.zeros_like(cells), np.arange(1))[0]
    patches = counter.uniform(np, cells, np.ones_like(cells), np.arange(1))[0]
    wide = patches[cells // TILE // 8 * TILE + cells % TILE // 8]
    found: np.ndarray = (1.2 * fine + 0.8 * wide - 1.0).astype(np.float32)
    return found


def take(camera: Camera, state: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return uint8 (N, size, size, 3) of what N rows see."""
    count = len(state["x"])
    pictures = np.empty((count, camera.size * camera.size, 3), dtype=np.uint8)
    for begin in range(0, count, CHUNK):
        rows = slice(begin, begin + CHUNK)
        part = {name: values[..., rows] for name, values in state.items()}
        _land(camera, part, pictures[rows])
        _things(camera, balls(part), part["heading"], pictures[rows])
    return pictures.reshape(count, camera.size, camera.size, 3)


def balls(state: Mapping[str, np.ndarray]) -> Balls:
    """Return all that stands on the ground: samples that wait, and rocks."""
    count = len(state["x"])
    samples, rocks = state["samples"].shape[1], state["rocks"].shape[1]
    x, y = np.concatenate([state["samples"], state["rocks"]], 1)
    x, y = (x - state["x"]).T, (y - state["y"]).T
    cos, sin = np.cos(state["heading"])[:, None], np.sin(state["heading"])[:, None]

    def each(sample: float, rock: np.ndarray | float) -> np.ndarray:
        told = np.empty((count, samples + rocks), dtype=np.float32)
        told[:, :samples], told[:, samples:] = sample, rock
        return told

    radius = state["radius"].T
    colours = [*[SAMPLE_COLOUR] * samples, *[ROCK_COLOUR] * rocks]
    there = np.ones(x.shape, dtype=bool)
    there[:, :samples] = state["waiting"].T > 0.5
    return Balls(
        ahead=x * cos + y * sin,
        left=y * cos - x * sin,
        up=each(SAMPLE_UP, 0.0),
        radius=each(SAMPLE, radius),
        reach=each(SAMPLE + SAMPLE_UP, radius),
        colour=np.broadcast_to(np.array(colours, dtype=np.float32), (*x.shape, 3)),
        there=there,
    )


def _land(camera: Camera, state: Mapping[str, np.ndarray], pictures: np.ndarray) -> None:
    """Paint the sky, and the ground with its texture and the base, into (N, P, 3)."""
    first = camera.first
    pictures[:, :first] = camera.plain[:first].astype(np.uint8)
    ahead, left = camera.footing
    cos, sin = np.cos(state["heading"])[:, None], np.sin(state["heading"])[:, None]
    x, y = ((state[name] + np.float32(AWAY))[:, None] / np.float32(CELL) for name in ("x", "y"))
    x, y = x + cos * ahead - sin * left, y + sin * ahead + cos * left
    cell = (x.astype(np.int32) & (TILE - 1)) * TILE + (y.astype(np.int32) & (TILE - 1))
    light = texture().take(cell)
    light *= camera.grain
    for channel in range(3):
        pictures[:, first:, channel] = light + camera.plain[first:, channel]
    x, y = x - np.float32(AWAY / CELL), y - np.float32(AWAY / CELL)
    row, pixel = np.nonzero(x * x + y * y <= np.float32((BASE / CELL) ** 2))
    pictures[row, first + pixel] = BASE_COLOUR


def _things(camera: Camera, seen: Balls, heading: np.ndarray, pictures: np.ndarray) -> None:
    """Paint balls into (N, P, 3), nearer ones over those behind."""
    offset = np.stack([seen.ahead, seen.left, seen.up - np.float32(HEIGHT)])
    power = (offset * offset).sum(0) - seen.radius * seen.radius
    box = _boxes(camera, seen)
    row, thing = np.nonzero(box[2] * box[3] > 0)
    # The farthest first: what comes later in the order hides what comes before.
    order = np.argsort(-power[row, thing], kind="stable")
    row, thing = row[order], thing[order]
    which, pixel = _pixels(camera.size, box[:, row, thing])
    ray, middle = camera.rays.take(pixel, 1), offset[:, row, thing]
    along = _dot(ray, middle.take(which, 1))
    inside = along * along - power[row, thing][which]
    hit = np.flatnonzero((inside >= 0.0) & (along > 0.0))
    which, pixel, ray = which[hit], pixel[hit], ray.take(hit, 1)
    distance = along[hit] - np.sqrt(inside[hit])
    seen_at = np.flatnonzero((distance > 0.0) & (distance * ray[2] >= -np.float32(HEIGHT)))
    which, pixel, ray = which[seen_at], pixel[seen_at], ray.take(seen_at, 1)
    place = row[which] * pictures.shape[1] + pixel
    shown = _foremost(place, which, pictures.shape[0] * pictures.shape[1])
    which, place, ray = which[shown], place[shown], ray.take(shown, 1)
    outwards = ray * distance[seen_at][shown] - middle.take(which, 1)
    sun = _sun(heading).take(row[which], 1)
    light = _light(outwards / seen.radius[row, thing][which], sun)
    colour = seen.colour[row, thing][which] * light[:, None]
    pictures.reshape(-1, 3)[place] = colour.astype(np.uint8)


def _boxes(camera: Camera, seen: Balls) -> np.ndarray:
    """Return int (4, N, M) first column, first row, columns and rows that a ball can fill.

    A ball of radius r at a distance d in the plane of an image axis and the optical axis fills
    asin(r / d) to both sides of its bearing there.
    """
    forwards = seen.ahead * np.float32(math.cos(TILT)) + np.float32(HEIGHT * math.sin(TILT))
    downwards = np.float32(HEIGHT * math.cos(TILT)) - seen.ahead * np.float32(math.sin(TILT))
    column, columns = _span(camera, -seen.left, forwards, seen.reach)
    row, rows = _span(camera, downwards, forwards, seen.reach)
    return np.stack([column, row, columns * seen.there, rows])


def _span(
    camera: Camera, aside: np.ndarray, forwards: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first pixel and the number of pixels along one axis of the image, at least 0."""
    half = np.float32(0.5 * FIELD)
    distance = np.sqrt(aside * aside + forwards * forwards)
    wide = np.arcsin(np.minimum(reach / np.maximum(distance, np.float32(1e-6)), 1.0))
    within = distance <= reach
    bearing = np.arctan2(aside, forwards)
    low = np.where(within, -half, np.clip(bearing - wide, -half, half))
    high = np.where(within, half, np.clip(bearing + wide, -half, half))
    first, last = (
        np.clip(np.floor(0.5 * camera.size + camera.focal * np.tan(edge)), 0, camera.size - 1)
        for edge in (low, high)
    )
    count = np.where(high > low, last - first + 1, 0)
    return first.astype(np.int32), count.astype(np.int32)


def _pixels(size: int, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every pixel of boxes (4, B) in turn, whose it is and which pixel it is."""
    column, row, columns, rows = box
    counts = columns * rows
    which = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    down = place // columns[which]
    across = place - down * columns[which]
    return which, (row[which] + down) * size + column[which] + across


def _foremost(place: np.ndarray, rank: np.ndarray, count: int) -> np.ndarray:
    """Return where in (H,) the hits are that have the highest rank at their place."""
    best = np.full(count, -1, dtype=rank.dtype)
    left = np.arange(len(place))
    while left.size:
        # NumPy does not promise which of several values for one place stays.
        best[place[left]] = rank[left]
        left = left[rank[left] > best[place[left]]]
    return np.flatnonzero(best[place] == rank)


def _dot(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the (H,) scalar products of vectors (3, H)."""
    product: np.ndarray = one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
    return product


def _sun(heading: np.ndarray) -> np.ndarray:
    """Return the direction to the sun (3, N) in the axes of rovers with headings (N,)."""
    cos, sin = np.cos(heading), np.sin(heading)
    x, y, up = (np.float32(part) for part in SUN)
    return np.stack([x * cos + y * sin, y * cos - x * sin, up + 0.0 * cos])


def _light(normal: np.ndarray, sun: np.ndarray) -> np.ndarray:
    """Return the share of full light (H,) on surfaces with normals (3, H)."""
    towards = np.maximum(_dot(normal, sun), np.float32(0.0))
    light: np.ndarray = np.float32(SHADE) + np.float32(1.0 - SHADE) * towards
    return light
