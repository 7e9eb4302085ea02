"""What is told of a rover among samples and rocks, in its own axes: forwards, left.

`near` is what a task's observation says of the nearest things, `own` what the rover knows of
itself, and `everything` what only a critic may be told.
"""

from typing import Any

from srb_train.envs.tasks import rover
from srb_train.envs.tasks.arrays import Array, rows
from srb_train.envs.tasks.batch import State
from srb_train.envs.tasks.sample_collection_site import BODY, ROCKS_SEEN, SAMPLES_SEEN

NEAR_SIZE = 3 * SAMPLES_SEEN + 4 * ROCKS_SEEN
OWN_SIZE = 10
FAR = 1000.0
"""m added to the distance of what is not there any more."""
_TINY = 1e-6


def everything_size(samples: int, rocks: int, slopes: bool) -> int:
    """Return the numbers that `everything` gives for so many things."""
    return 2 + 2 * slopes + 3 * samples + 3 * rocks


def ways(xp: Any, state: State, places: Array) -> tuple[Array, Array, Array]:
    """Return how far places (2, M, N) lie ahead, to the left, and altogether, (M, N) each in m."""
    x, y = places[0] - state["x"], places[1] - state["y"]
    cos, sin = xp.cos(state["heading"]), xp.sin(state["heading"])
    distance = xp.sqrt(x * x + y * y)
    return x * cos + y * sin, y * cos - x * sin, distance


def distances(xp: Any, state: State, places: Array) -> Array:
    """Return how far places (2, M, N) lie from the rover, (M, N) in m."""
    x, y = places[0] - state["x"], places[1] - state["y"]
    return xp.sqrt(x * x + y * y)


def home(xp: Any, state: State) -> Array:
    """Return how far the base lies from the rover, (N,) in m."""
    x, y = state["x"], state["y"]
    return xp.sqrt(x * x + y * y)


def near(xp: Any, state: State) -> Array:
    """Return (18, N): two samples, then three rocks, the nearest first.

    Of a sample: its direction, a unit vector, and d / (d + 1 m) of its distance; 0, 0, 1 where
    there is none. Of a rock: its direction times 1 / (1 + |c| / 1 m) and c / (|c| + 1 m), c being
    the room between it and the rover, and its radius / 0.5 m.
    """
    one, far, tiny, body, twice = rover.numbers(xp, 1.0, FAR, _TINY, BODY, 2.0)
    ahead, left, distance = ways(xp, state, state["samples"])
    told = xp.stack([ahead, left, distance, state["waiting"]])
    order = xp.argsort(distance + (one - state["waiting"]) * far, 0)[:SAMPLES_SEEN]
    ahead, left, distance, there = _gathered(xp, told, order)
    shown = there / (distance + tiny)
    samples = [ahead * shown, left * shown, one - there / (distance + one)]
    ahead, left, distance = ways(xp, state, state["rocks"])
    room = distance - state["radius"] - body
    told = xp.stack([ahead, left, distance, room, state["radius"]])
    ahead, left, distance, room, radius = _gathered(xp, told, xp.argsort(room, 0)[:ROCKS_SEEN])
    share = one / (abs(room) + one)
    shown = share / (distance + tiny)
    rocks = [ahead * shown, left * shown, room * share, radius * twice]
    return xp.concatenate([_by_thing(xp, samples), _by_thing(xp, rocks)])


def own(xp: Any, state: State, capacity: int, total: int) -> Array:
    """Return (10, N), what the rover knows of itself.

    0:2 measured speed, m/s/0.6, and turn rate, rad/s      2:4 the same, if the wheels did not slip
    4 share of its room that is loaded                     5 share of the samples not yet unloaded
    6 charge left, 10 kJ                                   7:9 direction to the base, a unit vector
    9 d / (d + 1 m) of the distance to it
    """
    speed_scale, loaded, share, tenth, one, tiny = rover.numbers(
        xp, 1.0 / 0.6, 1.0 / capacity, -1.0 / total, 0.1, 1.0, _TINY
    )
    x, y, cos, sin = state["x"], state["y"], xp.cos(state["heading"]), xp.sin(state["heading"])
    distance = home(xp, state) + tiny
    columns = [state["speed"] * speed_scale, state["turn"]]
    columns += [state["rolling"] * speed_scale, state["spinning"], state["load"] * loaded]
    columns += [one + state["delivered"] * share, state["charge"] * tenth]
    columns += [-(x * cos + y * sin) / distance, (x * sin - y * cos) / distance]
    columns += [distance / (distance + one)]
    return rows(xp, columns)


def everything(xp: Any, state: State) -> Array:
    """Return (D, N) for a critic: what the ground takes, and all samples and rocks.

    0:2 what is left of a motion, forwards and turning; where there are slopes, 2:4 the rise of the
    ground forwards and to the left, m/m; of each sample its place / 6 m and whether it still lies
    there, 0, 0, 0 where it does not; of each rock its place / 6 m and its radius / 0.5 m.
    """
    sixth, twice = rover.numbers(xp, 1.0 / 6.0, 2.0)
    columns = [state["grip"], state["turn_grip"]]
    if "rise_x" in state:
        cos, sin = xp.cos(state["heading"]), xp.sin(state["heading"])
        x, y = state["rise_x"], state["rise_y"]
        columns += [x * cos + y * sin, y * cos - x * sin]
    ahead, left, _ = ways(xp, state, state["samples"])
    there = state["waiting"]
    samples = _by_thing(xp, [ahead * there * sixth, left * there * sixth, there])
    ahead, left, _ = ways(xp, state, state["rocks"])
    rocks = _by_thing(xp, [ahead * sixth, left * sixth, state["radius"] * twice])
    return xp.concatenate([rows(xp, columns), samples, rocks])


def _by_thing(xp: Any, columns: list[Array]) -> Array:
    """Return (M C, N) of C arrays (M, N): all that is told of the first thing, then the next."""
    return xp.stack(columns, 1).reshape(len(columns) * columns[0].shape[0], -1)


def _gathered(xp: Any, block: Array, order: Array) -> Array:
    """Return (C, M, N) of (C, things, N), row by row: a fifth of `take_along_axis` in time."""
    if xp.__name__ == "torch":
        return xp.take_along_dim(block, order[None], 1)
    count = block.shape[-1]
    return xp.take(block.reshape(block.shape[0], -1), order * count + xp.arange(count), 1)
