"""Peg in hole: put the peg that a seven-joint arm holds into a hole hardly wider than the peg.

The arm is moved by small steps of the peg's tip, turned into joint targets by damped least
squares; a target cannot run far from its joint, which bounds the force. An episode is a success if
at its end the tip is at least 90 % of the hole's depth down. What the arm is told of the hole may
be off by a sensing error; the critic sees where it is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import mujoco
import numpy as np
from gymnasium import spaces

from srb_train.contracts import PRIVILEGED, Array
from srb_train.envs.contact import peg_in_hole_model as arm
from srb_train.envs.contact.batch import Outcome, Start
from srb_train.envs.contact.physics import Layout, World
from srb_train.envs.tasks import settings
from srb_train.errors import UsageError
from srb_train.spelling import not_one_of

STEP, TURN = 0.010, 0.04  # m and rad that an action of 1 asks for in a control step
DEEP = 0.9  # share of the hole's depth that is a success
INSIDE = 0.006  # m from the hole's axis, below the entrance: nowhere but in the hole
STRAYED = 0.4  # m from the entrance at which an episode ends in failure
SOFT_FORCE = 20.0  # N at the wrist that cost nothing

STATE_SIZE, PROPRIO_SIZE, CRITIC_SIZE = 18, 17, 19
DRAWS = 12
OBSERVED = ("state", "dict")
CONTROLS = int(
    mujoco.mjtState.mjSTATE_CTRL
    | mujoco.mjtState.mjSTATE_MOCAP_POS
    | mujoco.mjtState.mjSTATE_MOCAP_QUAT
)
_JOINT_SPREAD = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.9])


@dataclass(frozen=True, kw_only=True)
class Hole:
    """A difficulty: the peg, its clearance, and what episodes draw from."""

    shape: str
    """Of `peg_in_hole_model.SHAPES`."""
    clearance: float
    """mm on each side of the peg."""
    ahead: tuple[float, float]
    """m, of the hole in front of the arm's base."""
    side: float
    """m of the hole to either side."""
    turned: float
    """Degrees of the hole about the vertical, either way."""
    joints: float
    """rad of each joint from its home, either way; about twice that at the last one."""
    sensing_error: float
    """mm that the arm is told wrong of the hole's place along each axis, either way."""


def holes() -> dict[str, Hole]:
    """Return the difficulties."""
    easy = Hole(
        shape=arm.ROUND,
        clearance=1.0,
        ahead=(0.47, 0.53),
        side=0.05,
        turned=0.0,
        joints=0.08,
        sensing_error=0.0,
    )
    return {
        "easy": easy,
        "close": replace(easy, clearance=0.2, sensing_error=0.1),
        "full": replace(easy, shape=arm.SQUARE, clearance=0.5, turned=15.0, sensing_error=0.2),
    }


def build(params: Mapping[str, Any]) -> "PegInHole":
    """Return the task for the keys of its preset."""
    given = params.get("holes", {}).items()
    blocks = {name: settings.build(Hole, hole, f"env.holes.{name}") for name, hole in given}
    return PegInHole(settings.build(Insertion, {**params, "holes": {**holes(), **blocks}}))


class Sight(NamedTuple):
    """Where the peg is, (N, 3) each in the hole's frame: z out of it, 0 at its entrance."""

    way: np.ndarray
    """m from the entrance to the tip."""
    across: np.ndarray
    """The peg's x axis."""
    along: np.ndarray
    """The peg's z axis, out of its tip: (0, 0, -1) when it is upright."""
    velocity: np.ndarray
    """m/s of the tip."""
    rate: np.ndarray
    """rad/s."""


@dataclass(frozen=True, kw_only=True)
class Insertion:
    """The task's settings, checked."""

    difficulty: str = "easy"
    observe: str = "state"
    control_hz: float = 25.0
    time_limit: float = 6.0
    holes: Mapping[str, Hole] = field(default_factory=holes)

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be played."""
        if self.difficulty not in self.holes:
            raise not_one_of("env.difficulty", self.difficulty, self.holes)
        if self.observe not in OBSERVED:
            raise not_one_of("env.observe", self.observe, OBSERVED)
        where = f"env.holes.{self.difficulty}"
        if self.hole.shape not in arm.SHAPES:
            raise not_one_of(f"{where}.shape", self.hole.shape, arm.SHAPES)
        if not 0.0 < self.hole.clearance <= 5.0:
            raise UsageError(f"{where}.clearance={self.hole.clearance:g}: mm, above 0, at most 5")
        if not 1.0 <= self.control_hz <= 500.0:
            raise UsageError(f"env.control_hz={self.control_hz:g}: actions a second, from 1 to 500")
        if round(self.time_limit * self.control_hz) < 1:
            raise UsageError(f"env.time_limit={self.time_limit:g} is shorter than a control step")

    @property
    def hole(self) -> Hole:
        """The chosen difficulty."""
        return self.holes[self.difficulty]


class PegInHole:
    """The task as functions of rows (see `batch.ContactTask`)."""

    draws = DRAWS
    controls = CONTROLS

    def __init__(self, insertion: Insertion) -> None:
        """Build the model that the settings ask for."""
        self.hole, self.observed = insertion.hole, insertion.observe
        self.model = arm.load(self.hole.shape, 1e-3 * self.hole.clearance)
        self.layout = Layout(self.model, CONTROLS)
        self.physics_steps = max(1, round(1.0 / (insertion.control_hz * self.model.opt.timestep)))
        self.max_episode_steps = round(insertion.time_limit * insertion.control_hz)
        self._limits = self.model.jnt_range[:, 0].copy(), self.model.jnt_range[:, 1].copy()
        first, last = (self.layout.sensor(f"origin{joint}") for joint in (1, arm.JOINTS))
        self._origins = slice(first.start, last.stop)
        first, last = (self.layout.sensor(f"axis{joint}") for joint in (1, arm.JOINTS))
        self._axes = slice(first.start, last.stop)

    @cached_property
    def observation_space(self) -> spaces.Space:
        """By `env.observe`: 35 numbers of order one, or parts of a dict."""
        if self.observed == "state":
            return _numbers(STATE_SIZE + PROPRIO_SIZE)
        own, secret = _numbers(PROPRIO_SIZE), _numbers(CRITIC_SIZE)
        return spaces.Dict({"state": _numbers(STATE_SIZE), "proprio": own, PRIVILEGED: secret})

    @cached_property
    def action_space(self) -> spaces.Box:
        """Steps of the tip along the hole's x, y, z (1 is 10 mm), and turns (1 is 0.04 rad)."""
        return spaces.Box(-1.0, 1.0, (6,), np.float32)

    def begin(self, uniform: np.ndarray) -> Start:
        """Return the start of K episodes: the arm near its home, at rest, the fixture placed."""
        layout, hole, count = self.layout, self.hole, len(uniform)
        either = 2.0 * uniform - 1.0
        joints = arm.HOME + either[:, :7] * (_JOINT_SPREAD * hole.joints)
        state, control = layout.resting(count), np.zeros((count, layout.control_size))
        state[:, layout.qpos], control[:, layout.ctrl] = joints, joints
        low, high = hole.ahead
        ahead = low + uniform[:, 7] * (high - low)
        height = np.full(count, arm.ENTRANCE)
        control[:, layout.mocap_pos] = np.stack([ahead, either[:, 8] * hole.side, height], 1)
        half = either[:, 9] * math.radians(0.5 * hole.turned)
        none = np.zeros(count)
        control[:, layout.mocap_quat] = np.stack([np.cos(half), none, none, np.sin(half)], 1)
        memory: dict[str, np.ndarray] = {
            "told_wrong": either[:, 10:12] * (1e-3 * hole.sensing_error),
            "action": np.zeros((count, 6), dtype=np.float32),
            "peak_force": none,
        }
        return Start(state, control, memory)

    def command(self, world: World, action: np.ndarray) -> np.ndarray:
        """Return the control that moves the joints' targets by a step of the tip."""
        layout = self.layout
        origins, axes = (
            world.sensors[:, part].reshape(-1, arm.JOINTS, 3)
            for part in (self._origins, self._axes)
        )
        cos, sin = self._heading(world)
        step = _turned(action[:, :3] * STEP, cos, sin)
        turn = _turned(action[:, 3:] * TURN, cos, sin)
        jacobians = arm.jacobian(origins, axes, self._sensed(world, "tip"))
        steps = arm.joint_steps(jacobians, np.concatenate([step, turn], 1))
        joints = world.state[:, layout.qpos]
        targets = world.control[:, layout.ctrl] + steps
        targets = np.clip(targets, joints - arm.LEASH, joints + arm.LEASH)
        control = world.control.copy()
        control[:, layout.ctrl] = np.clip(targets, *self._limits)
        return control

    def judge(self, before: World, after: World, action: np.ndarray) -> Outcome:
        """Judge a control step: how near, how deep, how upright, how rough."""
        sight = self.sight(after)
        lateral = np.hypot(sight.way[:, 0], sight.way[:, 1])
        down = -sight.way[:, 2]
        depth = np.where((lateral < INSIDE) & (down > 0.0), np.minimum(down, arm.DEPTH), 0.0)
        strayed = np.sqrt((sight.way**2).sum(1)) > STRAYED
        success = (depth >= DEEP * arm.DEPTH) & ~strayed
        force = np.sqrt((self._sensed(after, "wrist_force") ** 2).sum(1))
        change = ((action - before.memory["action"]) ** 2).mean(1)
        goal = np.hypot(lateral, arm.DEPTH - down)
        reward = 0.2 * (1.0 - np.tanh(goal / 0.1)) + 0.2 * (1.0 - np.tanh(lateral / 0.01))
        reward += depth / arm.DEPTH + success - 0.1 * self._leaning(sight)
        reward -= 0.002 * np.clip(force - SOFT_FORCE, 0.0, 100.0) + 0.005 * change
        peak = np.maximum(before.memory["peak_force"], force)
        facts = {"success": success, "depth": depth, "peak_force": peak, "strayed": strayed * 1.0}
        memory = {**after.memory, "action": action, "peak_force": peak}
        return Outcome(reward.astype(np.float32), strayed, facts, memory)

    def observe(self, world: World) -> Array:
        """Return (N, 35): 18 of `state`, 17 of `proprio`; or with `critic`, by key.

        state: 0-2 way from the told entrance to the tip / 0.2 m; 3-5 its hyperbolic tangents, of
        10 mm; 6-8 the peg's x axis; 9-11 its z axis; 12-14 the tip's velocity / (1/3 m/s); 15-17
        its rate, rad/s; all in the hole's frame. proprio: 0-6 joints from home, rad; 7-13 their
        rates / (1/0.3 rad/s); 14-16 tanh of the wrist's force / 20 N. critic: 0-2 tanh of the true
        way / 10 mm; 3-4 sensing error, mm; 5 touch / 100 N; 6-8 wrist's force / 100 N; 9-11 its
        torque / 10 N m; 12-18 targets ahead of the joints / 0.12 rad.
        """
        sight = self.sight(world)
        told = sight.way.copy()
        told[:, :2] += world.memory["told_wrong"]
        turned = [sight.across, sight.along, sight.velocity * 3.0, sight.rate]
        force = self._sensed(world, "wrist_force")
        joints = world.state[:, self.layout.qpos]
        rates = world.state[:, self.layout.qvel]
        state = [told * 5.0, np.tanh(told / 0.01), *turned]
        proprio = [joints - arm.HOME, rates * 0.3, np.tanh(force / 20.0)]
        if self.observed == "state":
            return _joined([*state, *proprio])
        secret = [
            np.tanh(sight.way / 0.01),
            world.memory["told_wrong"] * 1e3,
            self._sensed(world, "touch") / 100.0,
            force / 100.0,
            self._sensed(world, "wrist_torque") / 10.0,
            (world.control[:, self.layout.ctrl] - joints) / arm.LEASH,
        ]
        return {"state": _joined(state), "proprio": _joined(proprio), PRIVILEGED: _joined(secret)}

    def sight(self, world: World) -> Sight:
        """Return where the peg truly is."""
        cos, sin = self._heading(world)
        way = self._sensed(world, "tip") - world.control[:, self.layout.mocap_pos]
        names = ("peg_x", "peg_z", "tip_velocity", "peg_rate")
        parts = [way, *(self._sensed(world, name) for name in names)]
        return Sight(*(_turned(part, cos, -sin) for part in parts))

    def _sensed(self, world: World, name: str) -> np.ndarray:
        return world.sensors[:, self.layout.sensor(name)]

    def _heading(self, world: World) -> tuple[np.ndarray, np.ndarray]:
        """Return the cosine and sine (N,) of the hole's angle about the vertical."""
        quaternion = world.control[:, self.layout.mocap_quat]
        w, z = quaternion[:, 0], quaternion[:, 3]
        return w * w - z * z, 2.0 * w * z

    def _leaning(self, sight: Sight) -> np.ndarray:
        """Return how far (N,) the peg leans, rad, at most 1; and how far a square one is turned."""
        lean = np.minimum(np.arccos(np.clip(-sight.along[:, 2], -1.0, 1.0)), 1.0)
        leaning: np.ndarray = lean
        return leaning + np.abs(twist(sight)) if self.hole.shape == arm.SQUARE else leaning


def twist(sight: Sight) -> np.ndarray:
    """Return how far (N,) a square peg is turned from the nearest fit, rad within pi / 4."""
    angle = np.arctan2(sight.across[:, 1], sight.across[:, 0]) + 0.25 * math.pi
    off: np.ndarray = angle % (0.5 * math.pi) - 0.25 * math.pi
    return off


def _turned(vector: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Return (N, 3) vectors turned about the vertical."""
    x, y, z = vector.T
    turned = np.empty(vector.shape)
    turned[:, 0], turned[:, 1], turned[:, 2] = cos * x - sin * y, sin * x + cos * y, z
    return turned


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts, 1).astype(np.float32)


def _numbers(count: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (count,), np.float32)
