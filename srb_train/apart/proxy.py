"""An environment that runs elsewhere, as one that runs here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from srb_train.apart import layout, wire
from srb_train.apart.process import Child
from srb_train.apart.wire import Message
from srb_train.contracts import Step
from srb_train.errors import SrbError

_LOG = "log"
_STEP = Message(wire.STEP)


class ApartEnv:
    """A `BatchedEnv` whose rows are stepped by a child process."""

    array = "numpy"

    def __init__(self, python: Path, order: Mapping[str, Any]) -> None:
        """Start the child and wait until its environment stands, which may take minutes.

        The order names the task: {"env", "num_envs", "params"}.
        """
        self._child = Child(python, order)
        try:
            said = self._child.answer()
        except SrbError:
            self._child.close()
            raise
        facts = said.facts
        self.num_envs: int = facts["num_envs"]
        self.device: str = facts["device"]
        self.max_episode_steps: int | None = facts["max_episode_steps"]
        self.render_fps: int = facts["render_fps"]
        self.draws_endings: bool = facts["draws_endings"]
        self.observation_space = layout.space_of(facts["observation"], "observation", said.arrays)
        self.action_space = layout.space_of(facts["action"], "action", said.arrays)
        places = layout.places(self.observation_space, self.action_space, self.num_envs)
        memory = self._child.memory()
        views = {name: place.view(memory) for name, place in places.items()}
        self._action, self._reward = views[layout.ACTION], views[layout.REWARD]
        self._terminated, self._truncated = views[layout.TERMINATED], views[layout.TRUNCATED]
        keys = layout.parts(self.observation_space)
        self._obs = {key: views[f"{layout.OBS}/{key}"] for key in keys}
        self._final = {key: views[f"{layout.FINAL}/{key}"] for key in keys}

    def reset(self, seed: int) -> Any:
        """Start all rows anew; see `contracts.BatchedEnv`."""
        self._child.ask(Message(wire.RESET, {"seed": int(seed)}))
        return self._seen(self._obs)

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows by one control step; see `contracts.Step`."""
        rows = np.reshape(action, self._action.shape)
        np.copyto(self._action, rows, casting="same_kind")
        said = self._child.ask(_STEP)
        # The next step writes over what is shared, and what was returned is never written again.
        each = (self._reward.copy(), self._terminated.copy(), self._truncated.copy())
        if said.word == wire.DONE:
            return Step(self._seen(self._obs), *each, None, {})
        ended = said.facts["ended"]
        final = {key: part[:ended] for key, part in self._final.items()}
        info: dict[str, Any] = dict(said.arrays)
        if said.facts[_LOG]:
            info[_LOG] = said.facts[_LOG]
        return Step(self._seen(self._obs), *each, self._seen(final) if ended else None, info)

    def state_dict(self) -> dict[str, np.ndarray] | None:
        """Return the child's state; None where it cannot tell."""
        said = self._child.ask(Message(wire.STATE))
        return dict(said.arrays) if said.facts["known"] else None

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave."""
        arrays = {name: np.asarray(value) for name, value in state.items()}
        self._child.ask(Message(wire.RESTORE, arrays=arrays))

    def render(self, row: int = 0) -> np.ndarray | None:
        """Draw one row; None where the task has no picture."""
        said = self._child.ask(Message(wire.RENDER, {"row": int(row)}))
        return said.arrays.get("picture")

    def close(self) -> None:
        """Close the environment and end its process."""
        self._child.close()

    def _seen(self, arrays: Mapping[str, np.ndarray]) -> Any:
        copies = {key: part.copy() for key, part in arrays.items()}
        return layout.joined(self.observation_space, copies)
