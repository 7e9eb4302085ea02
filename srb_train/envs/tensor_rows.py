"""Rows of a simulator that steps tensors in named groups, behind the batched contract.

Isaac Lab and what follows its interface: observations are groups (`policy`, `critic`) of tensors,
or of terms that are tensors; ends are told as two masks; settings are attributes of a tree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from srb_train import spelling
from srb_train.contracts import Step
from srb_train.errors import UnsupportedError, UsageError

STATE = "state"
"""What the first group is called where there are several."""


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One array of an observation, made of one tensor or of several vectors end to end."""

    key: str
    paths: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...]

    def read(self, observation: Mapping[str, Any]) -> np.ndarray:
        """Return (N, *shape) float32, a fresh array."""
        parts = [host(_at(observation, path)) for path in self.paths]
        if len(parts) == 1:
            return parts[0].reshape(-1, *self.shape)
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


class Groups:
    """Some groups of an observation: one is seen as an array, several as a dict of them."""

    def __init__(self, space: Any, wanted: Sequence[str]) -> None:
        """Plan the reading of the `wanted` groups of a space that has them under `.spaces`."""
        absent = [name for name in wanted if name not in space.spaces]
        if absent or not wanted:
            raise UsageError(
                f"env.groups={list(wanted)}: this task has the groups {', '.join(space.spaces)}"
            )
        self._leaves = list(_leaves(space, wanted))
        boxes: dict[str, spaces.Space] = {each.key: _endless(each.shape) for each in self._leaves}
        self._plain = list(boxes) == [STATE]
        self.space: spaces.Space = boxes[STATE] if self._plain else spaces.Dict(boxes)

    def read(self, observation: Mapping[str, Any]) -> Any:
        """Return what the rows see, as fresh arrays."""
        read = {leaf.key: leaf.read(observation) for leaf in self._leaves}
        return read[STATE] if self._plain else read


class Ends(NamedTuple):
    """A step in which rows have ended."""

    rows: np.ndarray
    """(K,) which."""
    before: Any
    """What all rows saw before the step."""
    seen: Any
    """What the simulator shows after it; may be written into."""


Last = Callable[[Groups, Ends], Any]
"""Returns what the ended rows saw last; leaves in `seen` the first of their next episodes."""


def seen_before(groups: Groups, ends: Ends) -> Any:
    """Let what the rows saw *before* their last step stand for what they saw last.

    For simulators that restart rows within a step, and have thrown it away.
    """
    return picked(ends.before, ends.rows)


def restarted(restart: Callable[[np.ndarray], Mapping[str, Any]]) -> Last:
    """Restart ended rows ourselves; `restart(rows)` returns what all rows see then."""

    def last(groups: Groups, ends: Ends) -> Any:
        final = picked(ends.seen, ends.rows)
        _put(ends.seen, ends.rows, groups.read(restart(ends.rows)))
        return final

    return last


class TensorRows:
    """A `BatchedEnv` over N rows that a simulator steps together."""

    array = "numpy"
    draws_endings = False

    def __init__(
        self,
        env: Any,
        groups: Sequence[str],
        action_limit: float | None,
        *,
        last: Last = seen_before,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        """Take over an environment of Isaac Lab's interface.

        `last` says what ended rows saw last; `closed` is called after the environment is closed.
        """
        simulation = env.unwrapped
        self._env, self._last, self._closed = env, last, closed
        self._groups = Groups(simulation.single_observation_space, groups)
        self.num_envs: int = simulation.num_envs
        self.device = str(simulation.device)
        self.observation_space = self._groups.space
        self.action_space = action_box(simulation.single_action_space, action_limit)
        self.max_episode_steps: int | None = int(simulation.max_episode_length)
        self.render_fps = max(1, round(1.0 / float(simulation.step_dt)))
        self._first = groups[0]
        self._seen: Any = None
        self._like: Any = None

    def reset(self, seed: int) -> Any:
        """Start all rows anew; one generator serves them all, begun from the seed."""
        observation, _ = self._env.reset(seed=seed)
        self._like = _any_tensor(observation[self._first])
        self._seen = self._groups.read(observation)
        return self._seen

    def step(self, action: np.ndarray) -> Step:
        """Advance all rows by one control step; see `contracts.Step`."""
        observation, reward, ended, cut, _ = self._env.step(self._like.new_tensor(action))
        before, seen = self._seen, self._groups.read(observation)
        terminated, timed_out = host(ended, np.bool_), host(cut, np.bool_)
        rows = np.flatnonzero(terminated | timed_out)
        final = self._last(self._groups, Ends(rows, before, seen)) if rows.size else None
        self._seen = seen
        return Step(seen, host(reward), terminated, timed_out & ~terminated, final, {})

    def state_dict(self) -> None:
        """Tell that such a simulator's state cannot be stored."""
        return

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse, for there is no state to go on from."""
        raise UnsupportedError("this simulator's state cannot be restored")

    def render(self, row: int = 0) -> np.ndarray | None:
        """Draw what the simulator's viewer shows; None where it draws nothing."""
        picture = self._env.render()
        return None if picture is None else np.asarray(picture, dtype=np.uint8)

    def close(self) -> None:
        """Close the simulator's environment."""
        self._env.close()
        self._closed()


def host(tensor: Any, dtype: Any = np.float32) -> np.ndarray:
    """Return a tensor as a fresh array in our memory; simulators write into their own again."""
    return np.array(tensor.detach().cpu().numpy(), dtype=dtype)


def picked(seen: Any, rows: np.ndarray) -> Any:
    """Return what some rows see."""
    if isinstance(seen, Mapping):
        return {key: part[rows] for key, part in seen.items()}
    return seen[rows]


def action_box(space: Any, limit: float | None) -> spaces.Box:
    """Return the action space of one row: the task's own, or within `limit` of 0 if it has none."""
    if not hasattr(space, "low"):
        raise UnsupportedError(
            f"only tasks with continuous actions are taken, this one has {space}"
        )
    shape = tuple(space.shape)
    low, high = (np.broadcast_to(np.float32(each), shape) for each in (space.low, space.high))
    if limit is not None and not (np.isfinite(low).all() and np.isfinite(high).all()):
        return spaces.Box(-float(limit), float(limit), shape, np.float32)
    return spaces.Box(low.copy(), high.copy(), dtype=np.float32)


def lay(settings: Any, changes: Mapping[str, Any], above: str = "env.cfg") -> None:
    """Set attributes of a simulator's tree of settings; what is not there is a `UsageError`."""
    for name, value in changes.items():
        known = list(settings) if isinstance(settings, dict) else list(vars(settings))
        if name not in known:
            raise UsageError(
                f"{above}.{name}: there is no such setting{spelling.nearest(name, known)}"
            )
        if isinstance(value, Mapping):
            here = settings[name] if isinstance(settings, dict) else getattr(settings, name)
            lay(here, value, f"{above}.{name}")
        elif isinstance(settings, dict):
            settings[name] = value
        else:
            setattr(settings, name, value)


def _leaves(space: Any, wanted: Sequence[str]) -> Iterator[Leaf]:
    for place, name in enumerate(wanted):
        key = name if place else STATE
        terms = getattr(space.spaces[name], "spaces", None)
        if terms is None:
            yield Leaf(key=key, paths=((name,),), shape=tuple(space.spaces[name].shape))
            continue
        vectors = [term for term, part in terms.items() if len(part.shape) <= 1]
        size = sum(int(np.prod(terms[term].shape)) for term in vectors)
        if vectors:
            yield Leaf(key=key, paths=tuple((name, term) for term in vectors), shape=(size,))
        for term in (term for term in terms if term not in vectors):
            shape = tuple(terms[term].shape)
            yield Leaf(key=f"{key}/{term}", paths=((name, term),), shape=shape)


def _endless(shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree[name]
    return tree


def _any_tensor(group: Any) -> Any:
    while isinstance(group, Mapping):
        group = next(iter(group.values()))
    return group


def _put(seen: Any, rows: np.ndarray, fresh: Any) -> None:
    if isinstance(seen, Mapping):
        for key, part in seen.items():
            part[rows] = fresh[key][rows]
    else:
        seen[rows] = fresh[rows]
