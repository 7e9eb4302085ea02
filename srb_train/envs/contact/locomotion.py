"""Locomotion: make a quadruped walk as it is told, by the targets of its twelve joints.

A speed forwards, one to the left and a turn rate are wanted; they change every five seconds. A
clock of the gait runs along and is seen: feet on one diagonal belong on the ground in its one half,
those on the other diagonal in the other. An episode is cut after its time; the robot's falling
terminates it: its trunk reaches the ground, or lies on its side. It is a success if it never fell
and if for at least `success_share` of its time both the velocity, smoothed over 0.3 s, was within
0.2 m/s of what was wanted and the turn rate within 0.3 rad/s.

The robot and its sources stand in `quadruped`, what episodes differ by in `locomotion_trials`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import mujoco
import numpy as np
from gymnasium import spaces

from srb_train.contracts import PRIVILEGED, Array
from srb_train.envs.contact import locomotion_trials, quadruped
from srb_train.envs.contact.batch import Outcome, Start
from srb_train.envs.contact.locomotion_trials import DRAWS_A_COMMAND, DRAWS_ONCE, Walk
from srb_train.envs.contact.physics import Layout, World

REACH = 0.5  # rad from home that an action of 1 asks of a joint
CLOCK = 2.0  # strides a second
DIAGONAL = np.array([0.0, 0.5, 0.5, 0.0])  # of a stride, that a leg is ahead of the clock
NEAR_SPEED, NEAR_TURN = 0.2, 0.3  # m/s and rad/s: a smoothed error that counts as none
SMOOTHING = 0.3  # s
WIDTH = 0.1  # (m/s)^2 and (rad/s)^2 at which a reward is 37 %
PUSH_TIME = 0.1  # s
LOWEST, LYING = 0.02, 0.5  # m of the trunk's lowest corner, and the upright share, of a fall
FOOT_DOWN = 1.0  # N on a foot that stands

STATE_SIZE, PROPRIO_SIZE, CRITIC_SIZE = 14, 36, 23
CONTROLS = int(mujoco.mjtState.mjSTATE_CTRL | mujoco.mjtState.mjSTATE_XFRC_APPLIED)


class Terms(NamedTuple):
    """What a control step earns, (N,) each, a second; the reward is their sum, at least 0.

    The first four are weighed as in legged_gym (Rudin et al. 2022, table 1), or nearly so.
    """

    speed: np.ndarray
    turn: np.ndarray
    bounce: np.ndarray
    sway: np.ndarray
    lean: np.ndarray
    low: np.ndarray
    gait: np.ndarray
    effort: np.ndarray
    jerk: np.ndarray


def build(params: Mapping[str, Any]) -> "Locomotion":
    """Return the task for the keys of its preset."""
    return Locomotion(locomotion_trials.build(params))


@dataclass(frozen=True)
class Locomotion:
    """The task: its functions of rows (see `batch.ContactTask`)."""

    walk: Walk

    controls = CONTROLS

    @cached_property
    def model(self) -> Any:
        """MuJoCo's model."""
        return quadruped.load()

    @cached_property
    def layout(self) -> Layout:
        """Where what lies."""
        return Layout(self.model, CONTROLS)

    @cached_property
    def physics_steps(self) -> int:
        """Physics steps of 4 ms in one control step."""
        return max(1, round(1.0 / (self.walk.control_hz * float(self.model.opt.timestep))))

    @cached_property
    def control_dt(self) -> float:
        """Seconds of one control step: whole physics steps."""
        return float(self.physics_steps * self.model.opt.timestep)

    @property
    def draws(self) -> int:
        """Random numbers of an episode, with as many commands as it can take."""
        return DRAWS_ONCE + DRAWS_A_COMMAND * self._commands

    @cached_property
    def max_episode_steps(self) -> int:
        """Control steps until the time limit."""
        return round(self.walk.time_limit * self.walk.control_hz)

    @cached_property
    def observation_space(self) -> spaces.Space:
        """By `env.observe`: 50 numbers of order one, or parts of a dict."""
        if self.walk.observe == "state":
            return _numbers(STATE_SIZE + PROPRIO_SIZE)
        own, secret = _numbers(PROPRIO_SIZE), _numbers(CRITIC_SIZE)
        return spaces.Dict({"state": _numbers(STATE_SIZE), "proprio": own, PRIVILEGED: secret})

    @cached_property
    def action_space(self) -> spaces.Box:
        """Targets of the joints: 1 is half a radian from home."""
        return spaces.Box(-1.0, 1.0, (quadruped.JOINTS,), np.float32)

    @cached_property
    def _hold_steps(self) -> int:
        return max(1, round(self.walk.hold * self.walk.control_hz))

    @cached_property
    def _commands(self) -> int:
        return math.ceil(self.max_episode_steps / self._hold_steps)

    @cached_property
    def _trunk(self) -> slice:
        """Where the force on the trunk lies in a control."""
        start = self.layout.xfrc_applied.start + 6 * int(self.model.body("trunk").id)
        return slice(start, start + 3)

    @cached_property
    def _mass(self) -> float:
        return float(self.model.body_mass.sum())

    def begin(self, uniform: np.ndarray) -> Start:
        """Return the start of K episodes: standing about, the feet just on the ground."""
        layout, count = self.layout, len(uniform)
        drawn = locomotion_trials.draw(self.walk.trial, uniform, self._hold_steps)
        joints, lean, velocity = (drawn.pop(name) for name in ("joints", "lean", "velocity"))
        state, control = layout.resting(count), np.zeros((count, layout.control_size))
        pose, speeds = state[:, layout.qpos], state[:, layout.qvel]
        pose[:, :2], pose[:, 7:] = 0.0, joints
        pose[:, 3:7] = np.concatenate([np.ones((count, 1)), 0.5 * lean, np.zeros((count, 1))], 1)
        pose[:, 3:7] /= np.sqrt((pose[:, 3:7] ** 2).sum(1, keepdims=True))
        pose[:, 2] = self._standing(pose)
        speeds[:, :2], speeds[:, 5] = velocity[:, :2], velocity[:, 2]
        weights = quadruped.weights(self.model, drawn["down"])
        control[:, layout.ctrl] = quadruped.HOME
        control[:, layout.xfrc_applied] = weights.reshape(count, -1)
        control[:, self._trunk] += _load(drawn)
        memory = {
            **drawn,
            "carried": control[:, self._trunk].copy(),
            "action": np.zeros((count, quadruped.JOINTS), dtype=np.float32),
            "age": np.zeros(count, dtype=np.int64),
            "smooth": np.zeros((count, 3)),
            "near": np.zeros(count),
            "squares": np.zeros((count, 2)),
        }
        return Start(state, control, memory)

    def command(self, world: World, action: np.ndarray) -> np.ndarray:
        """Return the joints' targets, which the joints mistake a little, and a push when due."""
        control = world.control.copy()
        wanted = quadruped.HOME + REACH * action.astype(np.float64)
        control[:, self.layout.ctrl] = wanted + world.memory["joint_error"]
        control[:, self._trunk] = world.memory["carried"]
        control[:, self._trunk][:, :2] += self._push(world)
        return control

    def judge(self, before: World, after: World, action: np.ndarray) -> Outcome:
        """Judge a control step by the command it began with; age it, and count what was near."""
        memory = before.memory
        moved = quadruped.motion(self.layout, after.state, memory["down"])
        wanted = self._wanted(before)
        terms = self._terms(before, after, action, moved)
        low = quadruped.clearance(self.layout, after.state, moved.up)
        fell = (low < LOWEST) | (moved.up[:, 2] < LYING)
        share = self.control_dt / (SMOOTHING + self.control_dt)
        smooth = memory["smooth"] + share * (_planar(moved) - memory["smooth"])
        missed = wanted - smooth
        off = np.stack([np.hypot(missed[:, 0], missed[:, 1]), np.abs(missed[:, 2])], 1)
        near = memory["near"] + ((off[:, 0] < NEAR_SPEED) & (off[:, 1] < NEAR_TURN))
        squares, age = memory["squares"] + off * off, memory["age"] + 1
        root = np.sqrt(squares / age[:, None])
        enough = self.walk.success_share * self.max_episode_steps
        facts = {
            "success": (near >= enough) & ~fell,
            "fell": fell * 1.0,
            "share_near": near / self.max_episode_steps,
            "rms_speed_error": root[:, 0],
            "rms_turn_error": root[:, 1],
        }
        kept = {"action": action, "age": age, "smooth": smooth, "near": near, "squares": squares}
        reward = np.maximum(sum(terms), 0.0) * self.control_dt
        return Outcome(reward.astype(np.float32), fell, facts, {**after.memory, **kept})

    def observe(self, world: World) -> Array:
        """Return (N, 50): 14 of `state`, 36 of `proprio`; or with `critic`, by key.

        state: 0-2 wanted speed forwards and left (0.5 m/s) and turn rate (rad/s); 3-5 velocity
        (0.5 m/s); 6-8 rates (4 rad/s), 9-11 direction of gravity, all three in the trunk's frame;
        12-13 sine and cosine of the clock. proprio: 0-11 joints from home (rad); 12-23 their rates
        (20 rad/s); 24-35 the last action. critic: 0-3 force on each foot (50 N); 4-6 the ground's
        normal in the trunk's frame; 7 load (kg); 8-9 push (50 N); 10 height of the trunk's lowest
        corner (0.2 m); 11-22 error of each joint (0.05 rad).
        """
        layout, memory = self.layout, world.memory
        moved = quadruped.motion(layout, world.state, memory["down"])
        turn = (2.0 * math.pi) * self.phase(world)
        clock = np.stack([np.sin(turn), np.cos(turn)], 1)
        wanted = self._wanted(world) * np.array([2.0, 2.0, 1.0])
        state = [wanted, moved.velocity * 2.0, moved.rate * 0.25, moved.down, clock]
        joints = world.state[:, layout.qpos][:, 7:] - quadruped.HOME
        rates = world.state[:, layout.qvel][:, 6:] * 0.05
        proprio = [joints, rates, memory["action"]]
        if self.walk.observe == "state":
            return _joined([*state, *proprio])
        secret = [
            self.feet_forces(world) / 50.0,
            moved.up,
            memory["load"][:, None],
            self._push(world) / 50.0,
            quadruped.clearance(layout, world.state, moved.up)[:, None] * 5.0,
            memory["joint_error"] * 20.0,
        ]
        return {"state": _joined(state), "proprio": _joined(proprio), PRIVILEGED: _joined(secret)}

    def phase(self, world: World) -> np.ndarray:
        """Return the gait's clock (N,), in strides."""
        strides: np.ndarray = world.memory["phase"] + world.memory["age"] * (
            CLOCK * self.control_dt
        )
        return strides % 1.0

    def feet_forces(self, world: World) -> np.ndarray:
        """Return what the ground presses on the feet with, (N, 4) N."""
        start = self.layout.sensor("fl_foot").start
        return world.sensors[:, start : start + len(quadruped.LEGS)]

    def _standing(self, pose: np.ndarray) -> np.ndarray:
        """Return the height (N,) of trunks whose feet just clear the ground, for poses (N, 19)."""
        x, y = 2.0 * pose[:, 4:5], 2.0 * pose[:, 5:6]
        feet = quadruped.feet(pose[:, 7:])
        lengthways, across = feet[:, :, 0] + quadruped.AHEAD, feet[:, :, 1] + quadruped.LEFT
        # Small angles: what they leave out is less than the millimetres that are added.
        below = lengthways * y - across * x - feet[:, :, 2]
        height: np.ndarray = below.max(1) + quadruped.FOOT + 0.005
        return height

    def _current(self, world: World) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, and which command (N,) each is to follow."""
        age = world.memory["age"]
        return np.arange(len(age)), np.minimum(age // self._hold_steps, self._commands - 1)

    def _wanted(self, world: World) -> np.ndarray:
        wanted: np.ndarray = world.memory["commands"][self._current(world)]
        return wanted

    def _push(self, world: World) -> np.ndarray:
        """Return the push (N, 2) in N that acts in the next control step."""
        memory, now = world.memory, self._current(world)
        since = memory["age"] % self._hold_steps - memory["push_at"][now]
        lasts = max(1, round(PUSH_TIME / self.control_dt))
        pushed = (since >= 0) & (since < lasts)
        force = self._mass / (lasts * self.control_dt)
        push: np.ndarray = memory["pushes"][now] * (force * pushed)[:, None]
        return push

    def _terms(
        self, before: World, after: World, action: np.ndarray, moved: quadruped.Motion
    ) -> Terms:
        missed = self._wanted(before) - _planar(moved)
        torque = quadruped.torques(self.layout, after.state, after.control)
        standing = self.feet_forces(after) > FOOT_DOWN
        leg = (self.phase(before)[:, None] + DIAGONAL) % 1.0
        height = (moved.up * after.state[:, self.layout.qpos][:, 2:3])[:, 2]
        return Terms(
            speed=np.exp((missed[:, :2] ** 2).sum(1) / -WIDTH),
            turn=0.5 * np.exp(missed[:, 2] ** 2 / -WIDTH),
            bounce=-2.0 * moved.velocity[:, 2] ** 2,
            sway=-0.05 * (moved.rate[:, :2] ** 2).sum(1),
            lean=-1.0 * (moved.up[:, :2] ** 2).sum(1),
            low=-20.0 * (height - quadruped.STAND) ** 2,
            gait=0.5 * (standing == (leg < 0.5)).mean(1),
            effort=-1e-4 * (torque**2).sum(1),
            jerk=-0.01 * ((action - before.memory["action"]) ** 2).sum(1),
        )


def _planar(moved: quadruped.Motion) -> np.ndarray:
    """Return (N, 3): speed forwards and left, turn rate."""
    return np.concatenate([moved.velocity[:, :2], moved.rate[:, 2:]], 1)


def _load(drawn: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the weight (K, 3) of the load."""
    weight: np.ndarray = quadruped.GRAVITY * drawn["load"][:, None] * drawn["down"]
    return weight


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts, 1).astype(np.float32)


def _numbers(count: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (count,), np.float32)
