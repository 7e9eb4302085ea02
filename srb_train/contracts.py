"""The handshake between rooms: what an environment, a policy, a family and a run's context are.

Shapes: N rows (copies of the environment) stepped together, K of them ended in this step.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from srb_train.spec import RunSpec

Array = Any
Grade = Literal["exact", "continued", "weights"]
Save = Callable[[Path], Mapping[str, Any]]

PRIVILEGED = "critic"
"""The key of a Dict observation that a critic may see while training, and an actor never."""


class Step(NamedTuple):
    """One step of N rows; a row that ended has already begun its next episode."""

    obs: Array
    """(N, *obs) observations; ended rows hold the first one of their next episode."""
    reward: Array
    """(N,) float32."""
    terminated: Array
    """(N,) bool: the task's own end, from which nothing more could be earned."""
    truncated: Array
    """(N,) bool: cut by a limit; never true where `terminated` is."""
    final_obs: Array | None
    """(K, *obs) last observations of the ended rows in row order; None when no row ended."""
    info: Mapping[str, Any]
    """Facts about the ended rows, arrays of length K (`success`: bool), and `log`: scalars."""


class BatchedEnv(Protocol):
    """N copies of one task that step together and restart themselves in the same step."""

    num_envs: int
    observation_space: Any
    """The gymnasium space of one row."""
    action_space: Any
    """The gymnasium space of one row's action."""
    array: str
    """What `step` takes and returns: "numpy", "torch" or "jax"."""
    device: str
    max_episode_steps: int | None
    render_fps: int
    draws_endings: bool
    """Whether `render`, right after a step that ended a row, draws how that episode ended."""

    def reset(self, seed: int) -> Array:
        """Start all rows anew, row i from seed + i; returns (N, *obs)."""

    def step(self, action: Array) -> Step:
        """Advance all rows by one control step; `action` is (N, *action) and is not kept."""

    def state_dict(self) -> dict[str, Array] | None:
        """Return all that bit-exact continuation needs as NumPy arrays; None if impossible."""

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state_dict` gave, whatever this object did before."""

    def render(self, row: int = 0) -> Array | None:
        """Draw one row as uint8 (height, width, 3); None where the task has no picture."""

    def close(self) -> None:
        """Give back what the environment holds."""


class Policy(Protocol):
    """What a trained run knows how to do."""

    def act(self, obs: Array) -> Array:
        """Return the deterministic actions (N, *action) for observations (N, *obs)."""

    def reset(self, rows: Array) -> None:
        """Forget the memory of the rows where the (N,) bool mask is true."""


class MetricsSink(Protocol):
    """Anything that takes scalars at a step (environment transitions over all copies)."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Take several scalars of the same step."""

    def close(self) -> None:
        """Write out what is still held."""


class Tracked(BatchedEnv, Protocol):
    """The environment a family trains on: counts, measures, guards, and stops on demand."""

    last_obs: Array
    """(N, *obs) what the rows see now: after a fresh start, a step or a restored state."""


class TrainContext(Protocol):
    """All that a machine gets, and all that it may say back."""

    spec: RunSpec
    resume: Path | None
    """The opened checkpoint folder to go on from; None for a fresh run."""
    weights: Path | None
    """A framework's own model file to start from; only the weights are taken."""
    step: int
    """Environment transitions done so far, over all copies and segments."""
    metrics: MetricsSink

    def make_env(self) -> Tracked:
        """Build the tracked environment, started from the seed or restored from `resume`."""

    def until_stopped(
        self, save: Callable[[Path], Mapping[str, Any]]
    ) -> AbstractContextManager[None]:
        """Wrap the family's loop: one way out whether it finished, ran out, or was stopped.

        `save(folder)` writes the family's own state and returns what it restores:
        {"restored": [...], "reset": [...], "unavailable": [...]}.
        """

    def boundary(self) -> None:
        """Mark a point where the family is consistent.

        The first one after a resume restores the generators; later ones publish a checkpoint
        when it is due, and leave the loop when a stop was asked for or the budget is spent.
        """

    def say(self, text: str) -> None:
        """Print one line into the run's log."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """What one algorithm label can do."""

    title: str
    actions: tuple[str, ...]
    """Of "continuous", "discrete"."""
    observations: tuple[str, ...] = ("vector",)
    """Of "vector", "dict", "image"."""
    on_policy: bool
    resume: Grade = "exact"
    resume_note: str = ""
    recurrent: bool = False
    privileged: bool = False
    """Whether its critic is shown `PRIVILEGED`; with other labels nobody sees it."""
    demonstrations: bool = False
    onnx: bool = False


@dataclass(frozen=True, kw_only=True)
class Family:
    """A framework's door plate: light enough to read all of them in milliseconds."""

    name: str
    title: str
    machine: str
    """Dotted module with `train(context)` and `load(checkpoint, spec, env)`."""
    requires: tuple[str, ...]
    """Importable module names."""
    extra: str
    """The extra of this distribution that installs them; empty when nothing is needed."""
    packages: tuple[str, ...] = ()
    """Distributions whose versions every checkpoint records."""
    labels: Mapping[str, Label]
    unions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys of `agent` that take more types than their preset shows: {"ent_coef": ("float",)}."""
    structural: frozenset[str] = frozenset()
    """Keys of `agent` that shape stored state and cannot change when a run goes on."""
    settle: Callable[[str, Mapping[str, Any], int], dict[str, Any]]
    """(label, agent, num_envs) -> agent with computed values filled in; raises `UsageError`."""
    rollout: Callable[[str, Mapping[str, Any], int], int]
    """(label, agent, num_envs) -> transitions between two boundaries."""
    smoke: Mapping[str, Any] = field(default_factory=dict)
    """Values of `agent` that make a run tiny, used by `--smoke` where the label has the key."""
    weights: tuple[str, ...] = ()
    """Suffixes of the framework's own model files that `--model` can import weights from."""
    devices: tuple[str, ...] = ("cpu", "cuda")
    distributed: bool = False


@dataclass(frozen=True, kw_only=True)
class Backend:
    """An environment backend's door plate."""

    name: str
    title: str
    machine: str
    """Dotted module with `make(name, num_envs, params)`."""
    requires: tuple[str, ...]
    extra: str
    names: Sequence[str] = ()
    """Task names it answers to without a prefix; empty for `<backend>/<id>` backends."""
    prefix: str = ""
    """The prefix it answers to, such as "gymnasium"."""
    simulator_options: frozenset[str] = frozenset()
    """Simulator-only command options that it honours."""
    resumable: bool = True
    own_process: bool = False
    """Whether it cannot run in ours: its simulator starts once, or ends its process with itself."""
    own_interpreter: str = ""
    """What to install into an interpreter of its own, where its pins conflict with ours."""


class Machine(Protocol):
    """The heavy half of a family."""

    def train(self, context: TrainContext) -> None:
        """Train until the context says stop."""

    def load(self, checkpoint: Path, spec: RunSpec, env: BatchedEnv) -> Policy:
        """Rebuild the policy of a checkpoint for acting only."""
