"""What a machine gets: the spec, the environment, the sinks, and the way in and out of a loop.

The promise kept here: a checkpoint holds everything at a boundary, and the first boundary after
a resume puts everything back, so that going on is the same as never having stopped.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from srb_train import apart, generators, sighted
from srb_train.contracts import Array, BatchedEnv, MetricsSink, Save
from srb_train.errors import IntegrityError, StopTraining, UnsupportedError
from srb_train.perf import StepRates
from srb_train.runs import files, layout, metrics
from srb_train.runs.checkpoint import Checkpoints
from srb_train.runs.heartbeat import Heartbeat
from srb_train.spec import RunSpec
from srb_train.stop import Stop
from srb_train.stored import read_arrays
from srb_train.tracked import TrackedEnv

STATE = "run_state.npz"
_SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The run's own things that a context works with."""

    checkpoints: Checkpoints
    heartbeat: Heartbeat
    stop: Stop
    sinks: Sequence[MetricsSink]
    facts: Mapping[str, Any]
    """What every checkpoint's manifest says besides its files."""
    met: Callable[[BatchedEnv], None]
    """Takes note of what the environment turned out to be."""
    rates: StepRates | None
    """Step timings, when `--perf` asks for them."""
    say: Callable[[str], None]
    begun: Callable[[], None] = lambda: None
    """Called once, when everything that lives as long as the run is built."""


class Context:
    """The `TrainContext` of one worker process."""

    def __init__(
        self, spec: RunSpec, desk: Desk, *, resume: Path | None = None, weights: Path | None = None
    ) -> None:
        """Start at step 0, or at the step of the opened checkpoint folder `resume`."""
        self.spec = spec
        self.resume = resume
        self.weights = weights
        self.metrics: MetricsSink = self
        self.rates = desk.rates
        self.say = desk.say
        self._desk = desk
        self._state = _read_state(resume) if resume else None
        self.step = int(self._state["step"]) if self._state else 0
        self._committed: int | None = self.step if resume else None
        self._next_checkpoint = _next_multiple(self.step, spec.checkpoint_every)
        self._next_log = _next_multiple(self.step, spec.log_every)
        self._logged_step, self._logged_at = self.step, time.monotonic()
        self._generators_pending = self._state is not None
        self._env: TrackedEnv | None = None
        self._save: Save | None = None
        self._consistent = True
        self._begun = False

    # What a machine uses

    def make_env(self) -> TrackedEnv:
        """Build the tracked environment: reset from the seed, or put back where it stood."""
        spec = self.spec
        inner = apart.make_env(spec.env, spec.num_envs, spec.env_params, spec.simulator)
        inner = sighted.for_training(inner, spec.algo, self.say)
        self._desk.met(inner)
        env = TrackedEnv(inner, on_step=self._advance, overdue=self._overdue)
        env.guard = spec.nan_guard
        self._env = env
        if self._state is None:
            env.reset(spec.seed)
        else:
            self._restore_env(env, self._state)
        if spec.video and env.render() is None:
            raise UnsupportedError(f"--video: {spec.env} draws no pictures; leave it out")
        return env

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Give scalars to every sink of the run."""
        for sink in self._desk.sinks:
            sink.write(step, values)

    def boundary(self) -> None:
        """See `TrainContext.boundary`."""
        if not self._begun:
            self._begun = True
            self._desk.begun()
        if self._generators_pending and self._state is not None:
            generators.restore(_part(self._state, "generator"))
            self._generators_pending = False
            self._state = None
        self._consistent = True
        stop = self._desk.stop
        if stop.requested or self.step >= self.spec.steps:
            raise StopTraining
        due = self._committed is None or self.step >= self._next_checkpoint
        if due or stop.checkpoint_now:
            self._commit()
        self._consistent = False

    @contextmanager
    def until_stopped(self, save: Save) -> Iterator[None]:
        """See `TrainContext.until_stopped`."""
        self._save = save
        finished = False
        try:
            yield
            finished = True
        except StopTraining:
            finished = self._consistent
        if finished:
            # What is logged here must not be logged again by a run that goes on from here.
            self._log()
            self._commit()
        else:
            self.say(
                f"stopped between two boundaries at step {self.step:,}; "
                f"the checkpoint at step {self._committed or 0:,} stands"
            )

    @property
    def last_committed(self) -> int | None:
        """Step of the newest checkpoint of this run; None before the first."""
        return self._committed

    @property
    def score(self) -> float | None:
        """Mean return over the episodes that ended last."""
        return self._env.meter.score if self._env else None

    def close(self) -> None:
        """Close the environment and the sinks."""
        if self._env is not None:
            self._env.close()
        for sink in self._desk.sinks:
            sink.close()

    # What the tracked environment calls

    def _advance(self, transitions: int) -> None:
        self.step += transitions
        if self.rates is not None:
            self.rates.tick()
        stopping = self._desk.stop.requested
        self._desk.heartbeat.update(self.step, phase="stopping" if stopping else None)
        if self.step >= self._next_log:
            self._log()

    def _overdue(self) -> bool:
        return self._desk.stop.overdue

    def _log(self) -> None:
        self._next_log = _next_multiple(self.step, self.spec.log_every)
        if self._env is None or self.step == self._logged_step:
            return
        now = time.monotonic()
        values = self._env.meter.drain()
        elapsed = max(now - self._logged_at, 1e-9)
        values[metrics.RATE] = (self.step - self._logged_step) / elapsed
        self._logged_step, self._logged_at = self.step, now
        self.write(self.step, values)
        self._desk.heartbeat.update(self.step, values=values)

    # Checkpoints

    def _commit(self) -> None:
        self._desk.stop.checkpoint_now = False
        self._next_checkpoint = _next_multiple(self.step, self.spec.checkpoint_every)
        if self._committed == self.step or self._save is None:
            return
        save = self._save
        self._desk.heartbeat.update(self.step, phase="checkpoint")

        def write(folder: Path) -> Mapping[str, Any]:
            state = self._run_state()
            np.savez(folder / STATE, **state)
            files.write_json(folder / layout.SPEC, self.spec.as_dict())
            return self._restores(save(folder), "env" in {name.split("/")[0] for name in state})

        facts = {**self._desk.facts, "score": self.score, "parent_step": self._committed}
        self._desk.checkpoints.commit(self.step, write, facts)
        self._committed = self.step
        self._desk.heartbeat.update(self.step, phase="training")

    def _restores(self, family: Mapping[str, Any], environment: bool) -> dict[str, Any]:
        """Return what going on from this checkpoint restores, and how exactly."""
        components = {name: list(family.get(name, ())) for name in ("restored", "reset")}
        components["unavailable"] = list(family.get("unavailable", ()))
        components["restored"] += ["generators", "episode meter", "step counter"]
        components["restored" if environment else "unavailable"].append("environment")
        grade = self._desk.facts["grade"]
        if grade == "exact" and (components["reset"] or components["unavailable"]):
            grade = "continued"
        return {"components": components, "grade": grade}

    def _run_state(self) -> dict[str, Array]:
        """Return counters, generators, the meter and the environment as one flat mapping."""
        state: dict[str, Array] = {"schema": np.array(_SCHEMA), "step": np.array(self.step)}
        state.update(_prefixed("generator", generators.capture()))
        if self._env is not None:
            state.update(_prefixed("meter", self._env.meter.state_dict()))
            inner = self._env.state_dict()
            if inner is not None:
                state.update(_prefixed("env", inner))
                obs = self._env.last_obs
                named = obs if isinstance(obs, Mapping) else {"": obs}
                state.update(_prefixed("obs", named))
        return state

    def _restore_env(self, env: TrackedEnv, state: Mapping[str, Array]) -> None:
        inner = _part(state, "env")
        if inner:
            env.load_state_dict(inner)
            obs = _part(state, "obs")
            env.last_obs = obs.get("", obs)
        else:
            # The same seed would repeat the episodes that were already seen.
            env.reset((self.spec.seed + self.step) % 2**31)
            self.say("the environment cannot restore its state: episodes start anew")
        env.meter.load_state_dict(_part(state, "meter"), episodes_go_on=bool(inner))


def _next_multiple(step: int, every: int) -> int:
    return (step // every + 1) * every


def _prefixed(prefix: str, state: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{prefix}/{name}": value for name, value in state.items()}


def _part(state: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    start = f"{prefix}/"
    return {
        name.removeprefix(start): value for name, value in state.items() if name.startswith(start)
    }


def _read_state(folder: Path) -> dict[str, Array]:
    path = folder / STATE
    state = read_arrays(path)
    if int(state.get("schema", 0)) != _SCHEMA:
        raise IntegrityError(f"{path}: written by another version of this product")
    return state
