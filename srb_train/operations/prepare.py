"""From a request to a plan: everything that can be checked without a simulator is checked here."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from srb_train import config, notify, registry
from srb_train.contracts import Backend, Family
from srb_train.errors import UnsupportedError, UsageError
from srb_train.operations import start as starts
from srb_train.operations.requests import TrainRequest
from srb_train.operations.start import Start
from srb_train.runs import layout
from srb_train.runs.store import RunStore
from srb_train.spec import RunSpec

SMOKE_ENVS = 4
SMOKE_ROLLOUTS = 2
SMOKE_STEPS = 1024
CHECKPOINTS_A_RUN = 10
LOG_LINES_A_RUN = 200
RUN_KEYS = (
    "steps",
    "seed",
    "device",
    "threads",
    "checkpoint_every",
    "keep_checkpoints",
    "log_every",
    "nan_guard",
    "save_replay",
    "notify",
)
"""The keys of the `run` section; each is a field of the spec."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will happen, all of it decided: a spec, where it starts, and where it is written."""

    request: TrainRequest
    spec: RunSpec
    start: Start
    root: Path
    family: Family
    settings: config.Composed
    rollout: int
    notes: tuple[str, ...] = ()

    @property
    def step(self) -> int:
        """The step that training starts from."""
        return self.start.checkpoint.step if self.start.checkpoint else 0

    @property
    def done(self) -> bool:
        """Whether the budget is already reached."""
        return self.start.checkpoint is not None and self.step >= self.spec.steps

    @property
    def final_step(self) -> int:
        """The step that training will end at: the budget, or the next whole rollout."""
        missing = max(0, self.spec.steps - self.step)
        return self.step + -(-missing // self.rollout) * self.rollout

    def describe(self) -> list[str]:
        """Return the plan as lines for a person."""
        spec, start = self.spec, self.start
        lines = [
            f"label        {spec.algo} ({self.family.title})",
            f"task         {spec.env}, {spec.num_envs} copies",
            f"budget       {spec.steps:,} transitions, {self.rollout:,} between two boundaries",
            f"seed         {spec.seed}    device {spec.device}    threads {spec.threads}",
            f"start        {start.rule}",
        ]
        if start.checkpoint is not None:
            lines.append(f"checkpoint   step {self.step:,}: {start.checkpoint.path}")
        if start.weights is not None:
            lines.append(f"weights      {start.weights}")
        place = start.run.path if start.run else self.root / spec.env / spec.algo
        lines.append(f"{'goes on in' if start.run else 'new run in'}   {place}")
        lines += [f"changes      {key}: {a!r} -> {b!r}" for key, (a, b) in self.changes.items()]
        return lines + [f"note         {note}" for note in self.notes]

    @property
    def changes(self) -> Mapping[str, tuple[Any, Any]]:
        """What differs from the run that is gone on from."""
        return self.settings.changes


def check_rooms(request: TrainRequest) -> str:
    """Check in milliseconds that label and task exist and are installed; returns the label."""
    family, _, algo = registry.family_of(request.algo)
    backend, _ = registry.backend_of(request.env)
    registry.require(family)
    if not _may_run_apart(request):
        registry.require(backend)
    _check_simulator_options(request, backend)
    return algo


def prepare(request: TrainRequest) -> Plan:
    """Check a request and return its plan; nothing is written."""
    algo = check_rooms(request)
    family, _, _ = registry.family_of(algo)
    backend, _ = registry.backend_of(request.env)
    root = (request.logdir or layout.default_root()).absolute()
    if request.smoke:
        root = root / "smoke"
    start = starts.find(request, algo, family, RunStore(root))
    starts.same_task(start, request.env)
    settings = _settings(request, algo, backend, family, start)
    registry.require_backend(backend, settings.env)
    notify.check(settings.run["notify"])
    spec = _spec(request, algo, family, start, settings)
    if request.smoke:
        spec = _smoke(spec, family)
    agent = family.settle(algo, spec.agent_params, spec.num_envs)
    rollout = family.rollout(algo, agent, spec.num_envs)
    spec = _cadence(replace(spec, agent_params=agent), settings, rollout)
    plan = Plan(
        request=request,
        spec=spec,
        start=start,
        root=root,
        family=family,
        settings=settings,
        rollout=rollout,
        notes=start.warnings,
    )
    if plan.done and start.run is None:
        raise UsageError(
            f"run.steps={plan.spec.steps:,} is a total and the checkpoint is at {plan.step:,} "
            "already: ask for more with run.steps=N, or for N more with --additional N"
        )
    return replace(plan, notes=(*plan.notes, *_notes(plan)))


def show_config(request: TrainRequest) -> str:
    """Return the composed configuration with where each value came from."""
    family, _, algo = registry.family_of(request.algo)
    backend, _ = registry.backend_of(request.env)
    return config.show(_settings(request, algo, backend, family, Start(rule="")))


def _settings(
    request: TrainRequest, algo: str, backend: Backend, family: Family, start: Start
) -> config.Composed:
    typed = list(request.overrides)
    typed += [f"run.seed={request.seed}"] if request.seed is not None else []
    typed += [f"run.device={request.device}"] if request.device is not None else []
    if start.spec is None:
        return config.compose(
            algo,
            config.Selected.of(request.env, backend.prefix),
            typed,
            config_dir=request.config_dir,
            unions=family.unions,
            guest=registry.presets(family),
        )
    settings = config.override(_stored(start.spec), typed, unions=family.unions)
    _refuse_structural(family, settings.changes)
    return settings


def _stored(spec: RunSpec) -> dict[str, dict[str, Any]]:
    """Return a spec as the sections it was composed from."""
    run = {key: getattr(spec, key) for key in RUN_KEYS}
    env = {**spec.env_params, "num_envs": spec.num_envs}
    return {"run": run, "env": env, "agent": dict(spec.agent_params)}


def _refuse_structural(family: Family, changes: Mapping[str, tuple[Any, Any]]) -> None:
    """Refuse changes that the stored state cannot follow, with both values."""
    fixed = {"run.seed", "env.num_envs", *(f"agent.{key}" for key in family.structural)}
    for key, (old, new) in changes.items():
        if any(key == name or key.startswith(f"{name}.") for name in fixed):
            raise UsageError(
                f"{key} cannot change when a run goes on: the checkpoint has {old!r}, "
                f"the command says {new!r}; train a new run for it"
            )


def _spec(
    request: TrainRequest, algo: str, family: Family, start: Start, settings: config.Composed
) -> RunSpec:
    run, env = dict(settings.run), dict(settings.env)
    seed = run.pop("seed")
    if start.checkpoint is not None and request.additional is not None:
        run["steps"] = start.checkpoint.step + request.additional
    num_envs = env.pop("num_envs")
    return RunSpec(
        **{
            **run,
            "checkpoint_every": run["checkpoint_every"] or 0,
            "log_every": run["log_every"] or 0,
        },
        algo=algo,
        env=request.env,
        num_envs=num_envs,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        video=request.video,
        perf=request.perf,
        resume_from=_resume_from(start),
        weights_from=str(start.weights) if start.weights else None,
        env_params=env,
        agent_params=settings.agent,
        simulator=dict(request.simulator),
    )


def _resume_from(start: Start) -> str | None:
    """Name the checkpoint so that a run folder can move: relative when it lies inside."""
    if start.checkpoint is None:
        return None
    if start.run is not None:
        return str(start.checkpoint.path.relative_to(start.run.path))
    return str(start.checkpoint.path)


def _smoke(spec: RunSpec, family: Family) -> RunSpec:
    """Shrink a run to seconds: few copies, two rollouts, tiny buffers."""
    agent = _shrunk(spec.agent_params, family.smoke)
    num_envs = min(spec.num_envs, SMOKE_ENVS)
    settled = family.settle(spec.algo, agent, num_envs)
    rollout = family.rollout(spec.algo, settled, num_envs)
    steps = max(SMOKE_ROLLOUTS * rollout, SMOKE_STEPS)
    return replace(spec, num_envs=num_envs, agent_params=agent, steps=min(steps, spec.steps))


def _shrunk(agent: Mapping[str, Any], smoke: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the tiny values of `smoke` where they have the key and a value."""
    shrunk = dict(agent)
    for key in smoke.keys() & {key for key, value in agent.items() if value is not None}:
        below = isinstance(agent[key], Mapping) and isinstance(smoke[key], Mapping)
        shrunk[key] = _shrunk(agent[key], smoke[key]) if below else smoke[key]
    return shrunk


def _cadence(spec: RunSpec, settings: config.Composed, rollout: int) -> RunSpec:
    """Fill in the cadences that were left to us."""
    checkpoint = spec.checkpoint_every or max(rollout, spec.steps // CHECKPOINTS_A_RUN)
    log = spec.log_every or max(rollout, spec.num_envs, spec.steps // LOG_LINES_A_RUN)
    return replace(spec, checkpoint_every=checkpoint, log_every=log)


def _may_run_apart(request: TrainRequest) -> bool:
    """Tell whether the task may have an interpreter of its own, which is sure once composed."""
    typed = any(word.startswith(f"env.{registry.PYTHON}=") for word in request.overrides)
    stored = request.continue_training or request.model is not None
    return typed or stored or request.config_dir is not None


def _check_simulator_options(request: TrainRequest, backend: Backend) -> None:
    refused = sorted(set(request.simulator) - backend.simulator_options)
    if refused:
        names = ", ".join(f"--{name}" for name in refused)
        raise UnsupportedError(
            f"{names}: the backend of --env {request.env} ({backend.title}) has no simulator to "
            "take it; leave it out"
        )


def _notes(plan: Plan) -> list[str]:
    notes = []
    if plan.done:
        notes.append(
            f"the budget of {plan.spec.steps:,} is reached (the checkpoint is at {plan.step:,}): "
            "nothing to do; ask for more with run.steps=N (a total) or --additional N"
        )
    elif plan.final_step != plan.spec.steps:
        notes.append(
            f"training ends at {plan.final_step:,}: a whole number of rollouts of {plan.rollout:,}"
        )
    return notes
