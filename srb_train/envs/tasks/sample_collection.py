"""Sample collection: fetch samples from among rocks to the base with a rover that slips.

The base is a plate of 0.8 m at the origin, where the rover starts. Its scoop takes a sample within
0.5 m of its middle while it drives slower than 0.2 m/s and has room; on the plate it unloads. How
much of its motion the ground takes is drawn for each episode and hidden (see `rover`). An episode
is a success, and ends, when all samples are unloaded. It ends without when the rover, a disc of
0.35 m, touches a rock, when its battery is empty, or when it strays 10 m out of the arena.

The battery gives 60 W at all times, and 100 J for each metre that the rims run. Both are assumed,
of the order of a Clearpath Husky's, whose 480 Wh are said to last three hours of driving, or eight
of standing by.

At a step of 0.2 s a collision is judged at its end: a rock may be grazed by 3 mm in between.

At `easy`, over 512 episodes: standing still returns -12.0 and random commands -13.9, both without a
success; `sample_collection_pilot` 14.4 with 100 %.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.contracts import PRIVILEGED
from srb_train.envs.tasks import (
    rover,
    rover_ground,
    sample_collection_camera,
    sample_collection_sight,
    sample_collection_site,
    sample_collection_view,
)
from srb_train.envs.tasks.arrays import Array, clip, like
from srb_train.envs.tasks.batch import Outcome, Scene, State
from srb_train.envs.tasks.sample_collection_camera import Camera
from srb_train.envs.tasks.sample_collection_sight import FAR, NEAR_SIZE, OWN_SIZE
from srb_train.envs.tasks.sample_collection_site import BASE, BODY, REACH, Mission
from srb_train.errors import UsageError

SPEED = 0.6  # m/s at full command
TURN = 1.0  # rad/s at full command
CALM = 0.2  # m/s below which the scoop works
STRAYED = 10.0  # m out of the arena
IDLE = 0.060  # kW
WORK = 0.100  # kJ for a metre of the rims, the mean of both sides

GAIN = 0.5  # for a metre nearer to where there is something to do
PRIZE = 2.0  # for a sample scooped, and again when it is unloaded
TIME_COST = 0.1  # a second
EFFORT_COST = 0.02  # a second and squared command
CLOSE_COST, SAFE = 0.5, 0.5  # a second at no room to a rock, falling to none at so many metres
CRASH, STRANDED = 5.0, 2.0

_NONE, _ONE = np.array(0.0, dtype=np.float32), np.array(1.0, dtype=np.float32)


def build(params: Mapping[str, Any]) -> "SampleCollection":
    """Return the task for the keys of its preset."""
    return SampleCollection(sample_collection_site.build(params))


class SampleCollection:
    """The task's physics as pure functions (see `batch.Task`)."""

    def __init__(self, mission: Mission) -> None:
        """Lay out what a mission asks for."""
        self.mission = mission
        self.site = mission.site
        self.control_dt = 1.0 / mission.control_hz
        self.max_episode_steps = round(mission.time_limit * mission.control_hz)
        self.draws = 7 + rover_ground.DRAWS + self.site.rocks
        self._slopes = not rover_ground.level(self.site)
        self._camera = Camera(mission.image_size)

    @cached_property
    def observation_space(self) -> spaces.Space:
        """By `env.observe`: 28 numbers of order one, or parts of a dict."""
        everything = sample_collection_sight.everything_size(
            self.site.samples, self.site.rocks, self._slopes
        )
        own, side = _numbers(OWN_SIZE), self.mission.image_size
        if self.mission.observe == "dict":
            near, secret = _numbers(NEAR_SIZE), _numbers(everything)
            return spaces.Dict({"state": near, "proprio": own, PRIVILEGED: secret})
        if self.mission.observe == "camera":
            image = spaces.Box(0, 255, (side, side, 3), np.uint8)
            return spaces.Dict({"image": image, "proprio": own})
        return _numbers(NEAR_SIZE + OWN_SIZE)

    @cached_property
    def action_space(self) -> spaces.Box:
        """Speed and turn rate: 1 is 0.6 m/s forwards, and 1 rad/s to the left."""
        return spaces.Box(-1.0, 1.0, (2,), np.float32)

    @cached_property
    def _layouts(self) -> np.ndarray:
        where = f"env.sites.{self.mission.difficulty}"
        return sample_collection_site.scatter(self.site, where)

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest value and the width, (draws - 3, 1) each, of what is drawn from a range."""
        circle = (-np.pi, np.pi)
        bounds = [(-0.3, 0.3), (-0.3, 0.3), circle, *rover_ground.bounds(self.site)]
        bounds += [self.site.charge, *[self.site.radius] * self.site.rocks]
        low, high = np.array(bounds, dtype=np.float32).T[:, :, None]
        return low, high - low

    def begin(self, xp: Any, uniform: Array) -> State:
        """Return the start of N episodes: at rest at the base, with nothing loaded."""
        low, width = (like(xp, uniform, part) for part in self._range)
        drawn = low + width * uniform[3:]
        hill = drawn[5:7] if self._slopes else None
        places = self._turned(xp, uniform[:3])
        count = self.site.samples
        return {
            **rover.at_rest(xp, drawn[0:3], drawn[3:5], hill),
            "samples": places[:, :count],
            "waiting": 0.0 * places[0, :count] + 1.0,
            "rocks": places[:, count:],
            "radius": drawn[8:],
            "charge": drawn[7] + 0.0,
            "load": 0.0 * drawn[0],
            "delivered": 0.0 * drawn[0],
        }

    def _turned(self, xp: Any, uniform: Array) -> Array:
        """Return the layout (2, things, N) that the first number picks, mirrored and turned."""
        index = xp.asarray(uniform[0] * self._layouts.shape[-1], dtype=xp.int32)
        x, y = like(xp, uniform, self._layouts)[:, :, index]
        y = xp.where(uniform[1] < 0.5, y, -y)
        angle = uniform[2] * (2.0 * np.pi)
        cos, sin = xp.cos(angle), xp.sin(angle)
        return xp.stack([x * cos - y * sin, x * sin + y * cos])

    def observe(self, xp: Any, state: State) -> Array | dict[str, Array]:
        """Return what the rover sees; `sample_collection_sight` tells of all numbers.

        `env.observe=state` is (N, 28), what is near, then what the rover knows of itself; `dict`
        has these as `state` and `proprio`, and `critic`; `camera` has `image` and `proprio`.
        """
        own = sample_collection_sight.own(xp, state, self.site.capacity, self.site.samples)
        if self.mission.observe == "camera":
            if xp is not np:
                raise UsageError("env.observe=camera is drawn by NumPy: use env.engine=numpy")
            return {"image": sample_collection_camera.take(self._camera, state), "proprio": own.T}
        near = sample_collection_sight.near(xp, state)
        if self.mission.observe == "state":
            return xp.concatenate([near, own]).T
        secret = sample_collection_sight.everything(xp, state)
        return {"state": near.T, "proprio": own.T, PRIVILEGED: secret.T}

    def advance(self, xp: Any, state: State, action: Array) -> Outcome:
        """Drive for one control step, handle samples, and judge it."""
        full_speed, full_turn = rover.numbers(xp, SPEED, TURN)
        after = rover.drive(
            xp, state, action[0] * full_speed, action[1] * full_turn, self.control_dt
        )
        self._drain(xp, after)
        gained = self._errand(xp, state, state) - self._errand(xp, state, after)
        handled = self._handle(xp, after)
        room = _room(xp, after)
        struck = room < 0.0
        finished = (after["delivered"] > self.site.samples - 0.5) & ~struck
        strayed = sample_collection_sight.home(xp, after) > self.site.arena + STRAYED
        stranded = (after["charge"] <= 0.0) & ~finished & ~struck
        one = rover.numbers(xp, 1.0)[0]
        facts = {
            "success": finished,
            "samples_delivered": after["delivered"],
            "charge_left": after["charge"],
            "collided": struck * one,
        }
        reward = self._reward(xp, action, room, gained, handled)
        lost, stuck = rover.numbers(xp, CRASH, STRANDED)
        reward = reward - (struck | strayed) * lost - stranded * stuck
        return Outcome(after, reward, finished | struck | strayed | stranded, facts)

    def draw(self, scenes: Sequence[Scene]) -> np.ndarray:
        """Draw the last scene, with what its camera sees."""
        picture = sample_collection_camera.take(self._camera, _row(scenes[-1].state))[0]
        return sample_collection_view.draw(scenes, self.site, picture)

    def _drain(self, xp: Any, after: State) -> None:
        """Take from the battery what a step needs, by the rims' speeds at its end."""
        idle, work, none = rover.numbers(
            xp, IDLE * self.control_dt, 0.5 * WORK * self.control_dt, 0.0
        )
        left, right = rover.rims(after)
        spent = idle + (abs(left) + abs(right)) * work
        after["charge"] = xp.maximum(after["charge"] - spent, none * spent)

    def _errand(self, xp: Any, given: State, place: State) -> Array:
        """Return how far (N,) a rover at `place` is from what `given` leaves it to do, m.

        That is the nearest sample while there is room for one, and the base else.
        """
        far, half, full, one = rover.numbers(xp, FAR, 0.5 * FAR, self.site.capacity - 0.5, 1.0)
        samples = sample_collection_sight.distances(xp, place, given["samples"])
        nearest = xp.amin(samples + (one - given["waiting"]) * far, 0)
        fetches = (given["load"] < full) & (nearest < half)
        return xp.where(fetches, nearest, sample_collection_sight.home(xp, place))

    def _handle(self, xp: Any, after: State) -> Array:
        """Scoop and unload; returns how many samples (N,) were, both added up.

        Samples lie too far apart for two to be within reach.
        """
        reach, calm, full, base = rover.numbers(xp, REACH, CALM, self.site.capacity - 0.5, BASE)
        near = sample_collection_sight.distances(xp, after, after["samples"]) <= reach
        able = (abs(after["speed"]) <= calm) & (after["load"] < full)
        scooped = (near & able) * after["waiting"]
        after["waiting"] = after["waiting"] - scooped
        count = scooped.sum(0)
        load = after["load"] + count
        unloaded = load * (sample_collection_sight.home(xp, after) <= base)
        after["load"] = load - unloaded
        after["delivered"] = after["delivered"] + unloaded
        return count + unloaded

    def _reward(self, xp: Any, action: Array, room: Array, gained: Array, handled: Array) -> Array:
        """Return (N,): the errand's progress and the samples handled, less time, effort, closeness.

        0.5 a metre nearer to the nearest sample, or to the base when full or when none is left; 2
        for a sample scooped and 2 when it is unloaded; a second costs 0.1, 0.02 |action|^2, and
        0.5 (1 - c / 0.5 m) at a room c to a rock below that. A collision and straying cost 5, an
        empty battery 2.
        """
        dt = self.control_dt
        gain, prize, time, effort, close, slope = rover.numbers(
            xp, GAIN, PRIZE, TIME_COST * dt, EFFORT_COST * dt, CLOSE_COST * dt, -1.0 / SAFE
        )
        near = clip(xp, room * slope + like(xp, room, _ONE), _NONE, _ONE)
        speed, turn = action[0], action[1]
        cost = time + effort * (speed * speed + turn * turn) + close * near
        return gained * gain + handled * prize - cost


def _room(xp: Any, state: State) -> Array:
    """Return the room (N,) between the rover and the nearest rock, m."""
    gaps = sample_collection_sight.distances(xp, state, state["rocks"]) - state["radius"]
    return xp.amin(gaps, 0) - BODY


def _numbers(count: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (count,), np.float32)


def _row(state: Mapping[str, np.ndarray]) -> State:
    """Return one row's state as that of a batch of one."""
    return {name: values[..., None] for name, values in state.items()}
