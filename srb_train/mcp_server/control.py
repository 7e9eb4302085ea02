"""Tools that change something: trainings are started, stopped, resumed, files are edited."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import Context

from srb_train import operations
from srb_train.errors import TrainingFailed
from srb_train.mcp_server import arguments as args
from srb_train.mcp_server import bounds, wishes
from srb_train.mcp_server.answers import Began, Cleaned, Orphan, Stopped, Updated
from srb_train.mcp_server.slices import Look, Wait, aside, attend, slice_of, until
from srb_train.mcp_server.wishes import Wish
from srb_train.operations.names import name_of, names, start_named
from srb_train.operations.reach import Reach

LOG_LINES = 20
"""Lines of a log that tell why a training failed."""
BEGUN = ("running", "stopping", "completed", "stopped")
ENDED = ("completed", "stopped", "failed", "lost")
OVER = (*BEGUN, "failed", "lost", "waiting")
FORCE_SECONDS = 25.0
"""What a stop takes beyond its timeout: killing, and the last word in the record."""
PREPARE_SECONDS = 15.0
"""What a resume takes before its worker is waited for: composing and checking."""
READY_POLL = 0.25
MEBIBYTE = 2**20


@dataclass(frozen=True)
class Control:
    """The tools that change something, within a reach."""

    reach: Reach

    async def force_training(
        self,
        context: Context,
        *,
        run_id: args.NewRunId,
        config_path: args.TrainingFile = None,
        algo: args.Algo = None,
        env: args.Env = None,
        overrides: args.Overrides = None,
        num_envs: args.NumEnvs = None,
        torch_device: args.Device = None,
        seed: args.Seed = -1,
        env_path: args.EnvPath = None,
        no_graphics: args.NoGraphics = None,
        time_scale: args.TimeScale = None,
        base_port: args.BasePort = None,
        after: args.After = None,
        wait: args.Wait = True,
        wait_timeout: args.WaitTimeout = 120.0,
    ) -> Began:
        """Start a new training as a process of its own, which outlives this server.

        Say what to train by algo and env, by a training file (config_path), or by both. An id that
        was used before means the new run from now on; what it meant before stays on disk. To go on
        from a checkpoint use resume_training. Next: wait_for_first_metrics, then get_run_status,
        check_step or wait_for_completion.
        """
        wish = Wish(
            config_path=config_path,
            algo=algo,
            env=env,
            overrides=overrides or (),
            num_envs=num_envs,
            device=torch_device,
            seed=seed,
            env_path=env_path,
            after=after,
            engine={"no_graphics": no_graphics, "time_scale": time_scale, "base_port": base_port},
        )
        # A client that leaves now still gets the run that it asked for, under its name.
        with anyio.CancelScope(shield=True):
            found = await aside(partial(self._start, run_id, wish))
        waited = Wait(over=False, timed_out=False)
        if wait:
            look = partial(self._readiness, run_id, Path(found["path"]))
            waited = await until(context, look, seconds=wait_timeout, poll=READY_POLL)
        return await aside(partial(self._forced, run_id, found, waited, config_path))

    def _start(self, run_id: str, wish: Wish) -> dict[str, Any]:
        command = ("srb", "mcp", "force_training", f"run_id={run_id}")
        request = wishes.train_request(wish, self.reach, command)
        self._refuse_outside(operations.prepare(request))
        return start_named(run_id, request, seconds=0.0)

    def _refuse_outside(self, plan: operations.Plan) -> None:
        """Refuse settings that name places which are out of reach, wherever they come from."""
        spec = plan.spec
        self.reach.refuse_outside({"env": spec.env_params, "agent": spec.agent_params})

    def _readiness(self, run_id: str, run: Path) -> Look:
        row = operations.check(str(run), operations.Goal(step=1), self.reach.logs)
        return Look(row["status"] in OVER, f"run {run_id}: {row['status']}, step {row['step']:,}")

    def _forced(
        self, run_id: str, found: dict[str, Any], waited: Wait, config_path: str | None
    ) -> Began:
        shown = operations.show_run(found["path"], self.reach.logs)
        if shown["status"] in ("failed", "lost"):
            raise TrainingFailed(self._why(run_id, shown))
        ready = found["ready"] or shown["status"] in BEGUN
        began = self._began(run_id, {**found, "ready": ready}, shown, waited)
        began["config_path"] = config_path
        return began

    def _began(
        self, run_id: str, found: dict[str, Any], shown: dict[str, Any], waited: Wait
    ) -> Began:
        idle = not found["ready"] and not found["done"]
        # Until its worker begins, the record of a run that goes on tells of its last end.
        status = "starting" if idle and shown["status"] in ENDED else shown["status"]
        return Began(
            run_id=run_id,
            run=shown["run"],
            status=status,
            pid=shown["pid"],
            base_port=None,
            config_path=None,
            results_dir=shown["path"],
            algo=shown["algorithm"],
            env=shown["task"],
            seed=shown["seed"],
            step=shown["step"],
            budget=found["budget"],
            ready=found["ready"],
            done=found["done"],
            still_running=idle,
            timed_out=waited.timed_out and idle,
            replaced=found.get("replaced"),
            message=found["message"],
        )

    def _why(self, run_id: str, shown: dict[str, Any]) -> str:
        """Return why a training could not begin, with the end of its log."""
        found = operations.tail(shown["path"], self.reach.logs, last_n=LOG_LINES)
        log = "\n".join(bounds.lines(found["lines"], LOG_LINES)[0]) or "(it is empty)"
        return (
            f"run {run_id} ({shown['run']}) is {shown['status']}: {shown['reason']}\n"
            f"the end of its log:\n{log}"
        )

    async def resume_training(
        self,
        context: Context,
        *,
        run_id: args.RunId,
        config_path: args.TrainingFile = None,
        num_envs: args.NumEnvs = None,
        no_graphics: args.NoGraphics = None,
        torch_device: args.Device = None,
        time_scale: args.TimeScale = None,
        overrides: args.Overrides = None,
        additional: args.Additional = None,
        wait: args.Wait = True,
        wait_timeout: args.WaitTimeout = 120.0,
    ) -> Began:
        """Go on with a stopped, failed or completed run from its newest checkpoint.

        Its own settings are used; what is given changes them and is recorded. A completed run has
        reached its budget (a total), so raise it: overrides=["run.steps=4e6"], or additional.
        Next: wait_for_completion, check_step.
        """
        run = await aside(lambda: self.reach.run(run_id).path)
        seconds = slice_of(context, wait_timeout) if wait else 0.0
        changes = (config_path, overrides or (), num_envs, torch_device)
        engine = {"no_graphics": no_graphics, "time_scale": time_scale}
        found = await attend(
            context,
            partial(self._resume, run, (changes, engine, additional), seconds),
            seconds=seconds + PREPARE_SECONDS,
            message=f"run {run_id}: going on from its newest checkpoint",
        )
        waited = Wait(over=False, timed_out=wait and seconds >= wait_timeout)
        began = await aside(partial(self._resumed, run_id, run, found, waited))
        began["config_path"] = config_path
        return began

    def _resume(self, run: Path, asked: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        (config_path, overrides, num_envs, device), engine, additional = asked
        source = wishes.source_of(config_path, self.reach)
        shown = operations.show_run(str(run), self.reach.logs)
        wishes.engine_options(engine, shown["task"])
        typed = (*source.file.overrides, *wishes.settings(overrides, num_envs, device))
        changes = [word.lstrip("+") for word in typed if "=" in word]
        self.reach.refuse_outside(operations.typed_changes(changes))
        begun = time.monotonic()
        found = operations.resume(
            str(run), self.reach.logs, overrides=typed, additional=additional, seconds=seconds
        )
        idle = not found["ready"] and not found["done"]
        return {**found, "died": idle and time.monotonic() - begun < seconds}

    def _resumed(self, run_id: str, run: Path, found: dict[str, Any] | None, waited: Wait) -> Began:
        shown = operations.show_run(str(run), self.reach.logs)
        if found is None:
            unknown = {"ready": False, "done": False, "budget": shown["budget"], "message": None}
            return self._began(run_id, unknown, shown, waited)
        if found["died"]:
            raise TrainingFailed(f"{self._why(run_id, shown)}\nit said: {found['message']}")
        return self._began(run_id, found, shown, waited)

    async def stop_training(
        self,
        context: Context,
        *,
        run_id: args.RunId,
        timeout: args.StopTimeout = 30.0,
    ) -> Stopped:
        """Ask a run to save a checkpoint and stop; kill it if that takes longer than timeout.

        Only processes that the run's record proves to be its own are touched. Next:
        resume_training goes on from the checkpoint, export_model says where it is.
        """
        run = await aside(lambda: self.reach.run(run_id).path)
        work = partial(operations.stop, str(run), self.reach.logs, seconds=timeout)
        found = await attend(
            context,
            work,
            seconds=timeout + FORCE_SECONDS,
            message=f"run {run_id}: saving and stopping",
        )
        return await aside(partial(self._stopped, run_id, run, found))

    def _stopped(self, run_id: str, run: Path, found: dict[str, Any] | None) -> Stopped:
        shown = operations.show_run(str(run), self.reach.logs)
        return Stopped(
            run_id=run_id,
            stopped=found is not None and found["stopped"],
            forced=found is not None and found["forced"],
            still_running=found is None,
            status=shown["status"],
            step=shown["step"],
            return_code=shown["exit_code"],
            signal=shown["signal"],
            message="it is still saving; ask check_completion" if found is None else None,
        )

    def cleanup_processes(self, dry_run: args.DryRun = False) -> Cleaned:
        """End processes of runs below the log root that nobody looks after any more.

        A process is ended only if a record names it by number, start time and boot, and its
        supervisor is gone; nothing is judged by its name. Healthy trainings are never touched. Use
        it after a crash, or when a device or a port is still taken.
        """
        found = operations.cleanup(self.reach.logs, kill=not dry_run)
        known = names(self.reach.logs)
        orphans = [(_orphan(row, known), row["killed"]) for row in found["orphans"]]
        killed = [orphan for orphan, gone in orphans if gone]
        alive = [orphan for orphan, gone in orphans if not gone]
        return Cleaned(
            killed=killed,
            failed=[] if dry_run else alive,
            listed=alive if dry_run else [],
            total_found=len(orphans),
            total_killed=len(killed),
            closed=found["closed"],
        )

    def update_config(self, config_path: args.ConfigPath, updates: args.Updates) -> Updated:
        """Deep-merge keys into a YAML file below a config root; comments and order stay.

        Only the named keys change; the file appears whole. A key that no preset has is found by
        force_training, before anything trains. Next: get_config, force_training.
        """
        found = operations.update_config(self.reach.config(config_path), updates)
        return Updated(config_path=found["path"], updated_config=found["config"])


def _orphan(row: dict[str, Any], known: dict[str, str]) -> Orphan:
    children: Sequence[int] = row["children"]
    return Orphan(
        pid=row["pid"],
        run_id=name_of(row["run"], known) or row["run"],
        memory_mb=round(row["bytes"] / MEBIBYTE, 2),
        children=list(children),
    )
