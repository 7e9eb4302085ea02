"""The side with the simulator: `python -m srb_train.apart.child SOCKET MEMORY`, open descriptors.

Of this package it uses only what needs the standard library, NumPy and Gymnasium. It ends when it
is told to, when its parent ends, and when its simulator fails: what went wrong then is in its last
lines, which the parent repeats.
"""

import mmap
import os
import select
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from srb_train import registry
from srb_train.apart import layout, wire
from srb_train.apart.wire import Message
from srb_train.contracts import BatchedEnv, Step
from srb_train.errors import SrbError, UnsupportedError

GRACE = 20.0
"""Seconds to close the simulator in, once the parent is gone."""
_LOG = "log"


def main(link_number: str, memory_number: str) -> int:
    """Serve one environment to its end; returns the process's exit code."""
    # A simulator may read the command line and take our numbers for its own.
    sys.argv[1:] = []
    with socket.socket(fileno=int(link_number)) as link:
        threading.Thread(target=_outlive, args=(link.fileno(),), daemon=True).start()
        order = wire.receive(link)
        if order.word == wire.GONE:
            return 0
        try:
            return _serve(link, int(memory_number), order.facts)
        finally:
            shutil.rmtree(order.facts["folder"], ignore_errors=True)


def _serve(link: socket.socket, memory: int, order: Mapping[str, Any]) -> int:
    try:
        env = registry.make_env(order["env"], order["num_envs"], order["params"])
        room = Room(env, memory)
        said = room.facts()
    except SrbError as error:
        wire.send(link, _failed(error))
        return error.exit_code
    # A parent that has ended in the meantime is no failure of ours.
    with suppress(ConnectionError):
        _converse(link, room, said)
    env.close()
    return 0


def _converse(link: socket.socket, room: "Room", said: Message) -> None:
    """Answer until there is nothing more to answer."""
    while True:
        wire.send(link, said)
        asked = wire.receive(link)
        if asked.word in (wire.CLOSE, wire.GONE):
            return
        try:
            said = room.answer(asked)
        except SrbError as error:
            said = _failed(error)


class Room:
    """An environment and the memory that its arrays are put into."""

    def __init__(self, env: BatchedEnv, memory: int) -> None:
        """Size the memory behind a descriptor and map it."""
        self._env = env
        places = layout.places(env.observation_space, env.action_space, env.num_envs)
        os.ftruncate(memory, layout.size(places))
        shared = mmap.mmap(memory, 0)
        self._views = {name: place.view(shared) for name, place in places.items()}
        self._verbs: dict[bytes, Callable[[Message], Message]] = {
            wire.STEP: self._step,
            wire.RESET: self._reset,
            wire.STATE: self._state,
            wire.RESTORE: self._restore,
            wire.RENDER: self._render,
        }

    def facts(self) -> Message:
        """Return what the environment is."""
        env, limit = self._env, self._env.max_episode_steps
        observation, arrays = layout.told(env.observation_space, "observation")
        action, more = layout.told(env.action_space, "action")
        facts = {
            "num_envs": int(env.num_envs),
            "device": str(env.device),
            "max_episode_steps": None if limit is None else int(limit),
            "render_fps": int(env.render_fps),
            "draws_endings": bool(env.draws_endings),
            "observation": observation,
            "action": action,
        }
        return Message(wire.TOLD, facts, {**arrays, **more})

    def answer(self, asked: Message) -> Message:
        """Do what was asked for."""
        return self._verbs[asked.word](asked)

    def _step(self, asked: Message) -> Message:
        step = self._env.step(self._views[layout.ACTION].copy())
        self._show(layout.OBS, step.obs)
        for name in (layout.REWARD, layout.TERMINATED, layout.TRUNCATED):
            self._put(name, getattr(step, name))
        if step.final_obs is None and not step.info:
            return Message(wire.DONE)
        return self._endings(step)

    def _endings(self, step: Step) -> Message:
        ended = self._show(layout.FINAL, step.final_obs) if step.final_obs is not None else 0
        log = {name: float(value) for name, value in step.info.get(_LOG, {}).items()}
        arrays = {name: np.asarray(part) for name, part in step.info.items() if name != _LOG}
        return Message(wire.TOLD, {"ended": ended, _LOG: log}, arrays)

    def _reset(self, asked: Message) -> Message:
        self._show(layout.OBS, self._env.reset(asked.facts["seed"]))
        return Message(wire.DONE)

    def _state(self, asked: Message) -> Message:
        state = self._env.state_dict()
        arrays = {name: np.asarray(value) for name, value in (state or {}).items()}
        return Message(wire.TOLD, {"known": state is not None}, arrays)

    def _restore(self, asked: Message) -> Message:
        self._env.load_state_dict(asked.arrays)
        return Message(wire.DONE)

    def _render(self, asked: Message) -> Message:
        picture = self._env.render(asked.facts["row"])
        arrays = {} if picture is None else {"picture": np.asarray(picture)}
        return Message(wire.TOLD, {}, arrays)

    def _show(self, prefix: str, observation: Any) -> int:
        """Put an observation of some rows into the memory; returns how many rows it has."""
        count = 0
        for key, part in layout.keyed(observation):
            count = self._put(f"{prefix}/{key}", part, whole=prefix == layout.OBS)
        return count

    def _put(self, name: str, value: Any, *, whole: bool = True) -> int:
        """Put one array into the memory; it must be what its space says."""
        array, view = np.asarray(value), self._views[name]
        count = len(array)
        fits = count == len(view) if whole else count <= len(view)
        if not fits or array.dtype != view.dtype or array.shape[1:] != view.shape[1:]:
            raise UnsupportedError(
                f"the task gives {name.rstrip('/')} as {array.dtype} {array.shape}, but is to give "
                f"{view.dtype} {view.shape}"
            )
        view[:count] = array
        return count


def _failed(error: SrbError) -> Message:
    facts = {
        "classes": [kind.__name__ for kind in type(error).__mro__],
        "message": str(error),
        "exit_code": error.exit_code,
    }
    return Message(wire.FAILED, facts)


def _outlive(link: int) -> None:
    """End this process some time after its parent, even when a simulator holds it up."""
    hangup = select.poll()
    hangup.register(link, select.POLLHUP | getattr(select, "POLLRDHUP", 0))
    hangup.poll()
    time.sleep(GRACE)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
