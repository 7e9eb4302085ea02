"""A driver for sample collection who looks around himself: no learning, no memory.

He drives at what there is to fetch, or home when he is full, in whatever direction is nearest to
it that no rock among the nearest three is in the way of; near a sample he slows down.
"""

import numpy as np

from srb_train.envs.tasks.sample_collection_site import BODY, REACH, ROCKS_SEEN, SAMPLES_SEEN

MARGIN = 0.12  # m that he keeps from rocks
DIRECTIONS = 90
GAIN = 1.6  # 1/s
AHEAD = 1.1  # rad: what lies further aside is turned to before anything else
CALM = 0.28  # of the speed, within reach of a sample

_SAMPLES, _OWN = 3 * SAMPLES_SEEN, 3 * SAMPLES_SEEN + 4 * ROCKS_SEEN
_FAN = np.linspace(-np.pi, np.pi, DIRECTIONS, endpoint=False)


def scripted(observation: np.ndarray) -> np.ndarray:
    """Return the (N, 2) commands for observations (N, 28) of `env.observe=state`."""
    seen = observation.astype(np.float64)
    goal, distance, fetches = _goal(seen)
    aside = goal + _detour(goal, distance, seen[:, _SAMPLES:_OWN].reshape(len(seen), -1, 4))
    aside = _wrapped(aside)
    slow = np.where(fetches, np.clip(0.9 * (distance - 0.5 * REACH), CALM, 1.0), 1.0)
    speed = np.where(abs(aside) < AHEAD, np.cos(aside), 0.0) * slow
    command: np.ndarray = np.stack([speed, GAIN * aside], -1).astype(np.float32)
    return command.clip(-1.0, 1.0)


def _goal(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bearing (rad) and distance (m) of where to go, and whether a sample lies there."""
    own = seen[:, _OWN:]
    fetches = (abs(seen[:, :2]).max(1) > 0.1) & (own[:, 4] < 0.99)
    ahead, left, closeness = np.where(fetches[:, None], seen[:, :3], own[:, 7:10]).T
    share = np.minimum(closeness, 0.999)
    return np.arctan2(left, ahead), share / (1.0 - share), fetches


def _detour(goal: np.ndarray, distance: np.ndarray, rocks: np.ndarray) -> np.ndarray:
    """Return by how much (N,) to turn off the way to the goal, for rocks (N, 3, 4) as observed."""
    bearing = np.arctan2(rocks[..., 1], rocks[..., 0])
    radius = 0.5 * rocks[..., 3]
    room = rocks[..., 2] / (1.0 - abs(rocks[..., 2]))
    away = room + radius + BODY
    wide = np.arcsin(np.clip((radius + BODY + MARGIN) / np.maximum(away, 1e-6), 0.0, 1.0))
    before = room < distance[:, None]
    towards = goal[:, None] + _FAN
    off = abs(_wrapped(towards[:, None] - bearing[..., None]))
    blocked = ((off < wide[..., None]) & before[..., None]).sum(1)
    # What is nearly straight ahead costs less to turn to than what lies behind.
    cost = abs(_FAN) + 0.15 * abs(_wrapped(towards)) + 10.0 * blocked
    chosen: np.ndarray = _FAN[cost.argmin(1)]
    return chosen


def _wrapped(angle: np.ndarray) -> np.ndarray:
    turned: np.ndarray = (angle + np.pi) % (2.0 * np.pi) - np.pi
    return turned
