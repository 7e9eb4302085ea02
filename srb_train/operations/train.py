"""Train: reserve a run's folder, or go on in one, and watch its worker to the end."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import srb_train
from srb_train import redact, supervisor
from srb_train.config import SECTIONS
from srb_train.operations.prepare import Plan, check_rooms, prepare
from srb_train.operations.requests import TrainRequest
from srb_train.runs import chain, lifecycle, provenance, status
from srb_train.runs.store import Run, RunStore
from srb_train.supervisor import Display, Worker

Show = Callable[[Plan], AbstractContextManager[Display]]
"""Lends a display for a plan."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a training command ended."""

    run: Run
    exit_code: int
    plan: Plan


def train(request: TrainRequest, show: Show, environ: Mapping[str, str] = os.environ) -> Outcome:
    """Carry out a request in the foreground; a run whose budget is reached is left alone.

    The worker is started before the request is composed and checked, for importing a framework
    takes longer than all the rest.
    """
    algo = check_rooms(request)
    with supervisor.standby(algo, request.env, environ=environ) as early:
        plan = prepare(request)
        if plan.start.run is not None:
            if plan.done:
                return Outcome(run=plan.start.run, exit_code=0, plan=plan)
            with plan.start.run.claim():
                pass  # whoever trains it now is named before anything is started
        with _fitting(early, plan, environ) as worker, show(plan) as display:
            run, order = place(plan, environ)
            code = supervisor.supervise(worker, run, order, display, environ)
    return Outcome(run=run, exit_code=code, plan=plan)


@contextmanager
def _fitting(early: Worker, plan: Plan, environ: Mapping[str, str]) -> Iterator[Worker]:
    """Lend the early worker, or another where the spec wants other thread pools."""
    spec = plan.spec
    if spec.threads == early.threads:
        yield early
        return
    with supervisor.standby(spec.algo, spec.env, spec.threads, environ) as worker:
        yield worker


def place(plan: Plan, environ: Mapping[str, str] = os.environ) -> tuple[Run, Path]:
    """Make the plan's folder, or take the one it goes on in, and write the worker's order."""
    run = plan.start.run or _create(plan, environ)
    return run, lifecycle.place_order(run, _order(plan, environ))


def repl(run: Run, shell: str | None) -> int:
    """Open an interactive shell on a run, its policy and its environment; returns its code."""
    command = [sys.executable, "-m", "srb_train.console", str(run.path)]
    return subprocess.run(command + ([shell] if shell else []), check=False).returncode


def _order(plan: Plan, environ: Mapping[str, str]) -> dict[str, Any]:
    also = redact.known(environ)
    after, suffixes = plan.start.after, plan.family.weights if plan.start.inherits else ()
    return {
        "spec": plan.spec.as_dict(),
        "changes": redact.tree({key: list(pair) for key, pair in plan.changes.items()}, also),
        "overrides": redact.arguments(plan.settings.overrides, also),
        "command": redact.arguments(plan.request.command, also),
        "params": _params(plan, also),
        "after": {"run": str(after.path), "suffixes": list(suffixes)} if after else None,
    }


def _params(plan: Plan, also: frozenset[str]) -> dict[str, str]:
    """Return the sections of the configuration as YAML, computed values filled in."""
    spec = plan.spec
    run = {key: getattr(spec, key) for key in plan.settings.run}
    settled = replace(plan.settings, run=run, agent=dict(spec.agent_params))
    return {
        section: "".join(redact.text(line, also) + "\n" for line in text.splitlines())
        for section in SECTIONS
        if (text := settled.as_yaml(section))
    }


def _create(plan: Plan, environ: Mapping[str, str]) -> Run:
    """Reserve a folder and write everything that is known before training."""
    known = provenance.collect(Path(srb_train.__file__).resolve().parents[1], environ)
    order = _order(plan, environ)
    return RunStore(plan.root).create(
        plan.spec, _facts(plan, order, known), _metadata(plan, order, known), order["params"]
    )


def _facts(plan: Plan, order: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of run.json that a spec does not say."""
    platform, source = known["platform"], known["srb"]
    assets = source["git_submodules"] or {}
    return {
        "implementation": plan.family.name,
        "overrides": order["overrides"],
        "command": order["command"],
        "srb_commit": source["git_commit"],
        "srb_dirty": source["git_dirty"],
        "srb_assets_commit": next((part["commit"] for part in assets.values()), None),
        "simulator": {name: platform[name] for name in ("isaac_sim", "isaac_lab")},
        "image_id": platform["image_id"],
        "arch": known["system"]["arch"],
        "gpu": platform["gpu"],
        "driver": platform["driver"],
        "after": chain.awaited(plan.start.after, plan.start.inherits) if plan.start.after else None,
        "resumed_from": _resumed_from(plan),
        # Until a worker has begun, the run lives as long as this process does.
        "supervisor_pid": os.getpid(),
        "supervisor_started": status.process_started(os.getpid()),
    }


def _resumed_from(plan: Plan) -> dict[str, Any] | None:
    checkpoint = plan.start.checkpoint
    if checkpoint is None:
        return None
    return {
        "run": str(checkpoint.path.parent.parent),
        "checkpoint": str(checkpoint.path),
        "step": checkpoint.step,
    }


def _metadata(plan: Plan, order: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the long record: what was asked, what it became, and on what machine."""
    spec = plan.spec
    return {
        **known,
        "run": {
            "algorithm": spec.algo,
            "env_id": spec.env,
            "workflow": spec.algo,
            "command_line_args": order["command"],
            "cli_reproduce": _reproduce(plan, order),
            "hydra_overrides": order["overrides"],
            "seed": spec.seed,
            "video_enable": spec.video,
            "perf": spec.perf,
            "continue_training": plan.request.continue_training,
            "model_path": plan.request.model,
            "config_dir": str(plan.request.config_dir) if plan.request.config_dir else None,
            "simulator_options": dict(spec.simulator),
            "start": plan.start.rule,
            "final_step": plan.final_step,
        },
        "environment": {"num_envs": spec.num_envs, "params": dict(spec.env_params)},
        "agent": dict(spec.agent_params),
        "origins": plan.settings.origins,
        "demonstrations": None,
        "lineage": _resumed_from(plan),
    }


def _reproduce(plan: Plan, order: Mapping[str, Any]) -> str:
    """Return a command that asks for the same run without any file but the presets."""
    spec = plan.spec
    words = ["srb", "agent", "train", "--algo", spec.algo, "--env", spec.env]
    words += [word for word in order["overrides"] if not word.startswith("run.seed=")]
    return shlex.join([*words, f"run.seed={spec.seed}"])
