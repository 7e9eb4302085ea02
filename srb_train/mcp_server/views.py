"""Tools that look at runs and files and change nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from srb_train import operations
from srb_train.errors import UsageError
from srb_train.mcp_server import arguments as args
from srb_train.mcp_server import bounds, wishes
from srb_train.mcp_server.answers import (
    CheckpointFile,
    Compared,
    Config,
    Exported,
    Listed,
    Logs,
    Measured,
    ModelFile,
    Point,
    Row,
    Series,
    Status,
)
from srb_train.operations.names import names
from srb_train.operations.reach import Reach
from srb_train.operations.trends import trends

MEBIBYTE = 2**20
REWARD = "episode/return"
SHOWN_KEYS = (
    REWARD,
    "episode/length",
    "episode/success_rate",
    "*loss*",
    "*learning_rate*",
)
"""The metrics that are shown when none were named."""
OTHER_WORDS = {
    "Environment/Cumulative Reward": REWARD,
    "Environment/Episode Length": "episode/length",
    "Policy/Learning Rate": "*learning_rate*",
    "Losses/Policy Loss": "*policy_loss*",
    "Losses/Value Loss": "*value_loss*",
}
"""What others call the same metrics."""
STATES = {
    "running": ("reserved", "waiting", "starting", "running", "stopping"),
    "completed": ("completed",),
    "failed": ("failed", "lost"),
    "stopped": ("stopped",),
}
"""Words that a list is filtered by, and the states that each takes in."""
ROW_FIELDS = {
    "run": "run",
    "status": "status",
    "algo": "algorithm",
    "env": "task",
    "step": "step",
    "budget": "budget",
    "reward": "return",
    "success_rate": "success",
    "created_at": "created_at",
    "ended_at": "ended_at",
}
"""Field of a listed run -> field of the operation's row."""
STATUS_FIELDS = {
    "run": "run",
    "status": "status",
    "reason": "reason",
    "pid": "pid",
    "algo": "algorithm",
    "env": "task",
    "seed": "seed",
    "device": "device",
    "num_envs": "num_envs",
    "latest_step": "step",
    "budget": "budget",
    "steps_per_second": "rate",
    "eta_seconds": "eta_seconds",
    "elapsed_seconds": "elapsed_seconds",
    "latest_reward": "return",
    "success_rate": "success",
    "return_code": "exit_code",
    "signal": "signal",
    "started_at": "started_at",
    "ended_at": "ended_at",
    "overrides": "overrides",
    "results_dir": "path",
}
"""Field of a status -> field of what the operation shows."""


@dataclass(frozen=True)
class Views:
    """The tools that only look, within a reach."""

    reach: Reach

    def get_run_status(
        self,
        run_id: args.RunId,
        last_n_rewards: args.LastN = 10,
        last_n_checkpoints: args.LastN = 5,
    ) -> Status:
        """Tell everything about a run: how far, how fast, how good, how it ended, its checkpoints.

        The status is derived from the run's processes and its heartbeat, never taken on trust.
        Next: get_metrics for curves, get_training_logs for what it printed.
        """
        run = self.reach.run(run_id).path
        shown = operations.show_run(str(run), self.reach.logs)
        rewards = bounds.POINTS if last_n_rewards < 0 else min(last_n_rewards, bounds.POINTS)
        newest = bounds.newest(shown["checkpoints"], last_n_checkpoints, bounds.CHECKPOINTS)
        last = list(shown["metrics"].items())[: bounds.KEYS]
        known = {mine: shown[field] for mine, field in STATUS_FIELDS.items()}
        found = {
            "run_id": run_id,
            **known,
            "reward_trend": reward_trend(self.reach, run, rewards),
            "checkpoints": list(map(checkpoint_file, newest)),
            "total_checkpoints": len(shown["checkpoints"]),
            "latest_metrics": {tag: point["value"] for tag, point in last},
            "failure": shown["failure"] and str(shown["failure"]["message"]),
            "warnings": shown["warnings"][: bounds.WARNINGS],
        }
        return cast(Status, found)

    def get_metrics(
        self,
        run_id: args.RunId,
        behavior_name: args.BehaviorName = None,
        metric_keys: Annotated[
            list[str] | None,
            Field(
                max_length=100,
                description="Names or patterns (train/*); without any: return, length, success, "
                "losses, learning rate.",
            ),
        ] = None,
        last_n: args.LastN = 20,
    ) -> Measured:
        """Read what a run measured: points of (step, value) for each metric, oldest first.

        available_keys names all there are. With last_n=-1 whole curves come, thinned evenly where
        they are long; a note says so.
        """
        wishes.refuse_behavior(behavior_name)
        run = self.reach.run(run_id).path
        asked = [OTHER_WORDS.get(key, key) for key in metric_keys or SHOWN_KEYS]
        found = trends(str(run), self.reach.logs, tags=asked, last_n=max(last_n, 0))
        series = found["metrics"]
        if last_n < 0 and series:
            whole = operations.run_metrics(str(run), self.reach.logs, tags=list(series))
            series = {tag: list(map(_point, points)) for tag, points in whole["metrics"].items()}
        kept, note = bounds.thinned(series)
        if not found["available"]:
            note = "nothing is measured yet; wait_for_first_metrics tells when that changes"
        return Measured(
            run_id=run_id,
            metrics=kept,
            missing_keys=found["missing"] if metric_keys else [],
            available_keys=found["available"][: bounds.KEYS],
            note=note,
        )

    def get_training_logs(self, run_id: args.RunId, last_n_lines: args.LastN = 50) -> Logs:
        """Return the newest lines that a run has printed, of a living or an ended one.

        Read them first when a run has failed; the last lines say why.
        """
        run = self.reach.run(run_id).path
        most = bounds.LINES if last_n_lines < 0 else min(last_n_lines, bounds.LINES)
        found = operations.tail(str(run), self.reach.logs, last_n=most)
        lines, note = bounds.lines(found["lines"], last_n_lines)
        return Logs(
            run_id=run_id,
            status=found["status"],
            log_path=found["path"],
            log_lines=lines,
            note=note,
        )

    def list_runs(
        self,
        status_filter: Annotated[
            str | None,
            Field(max_length=32, description="running, completed, failed or stopped."),
        ] = None,
        last_n: args.LastN = 20,
        algo: Annotated[str | None, Field(max_length=64, description="Only of this label.")] = None,
        env: Annotated[str | None, Field(max_length=256, description="Only of this task.")] = None,
    ) -> Listed:
        """List runs, newest first, with how each is doing; of every family and every task.

        running takes in those that start or stop, failed those whose processes are gone without a
        word (lost). Next: get_run_status.
        """
        found = operations.list_runs(self.reach.logs, algo=algo, env=env)
        states = _states(status_filter)
        rows = [row for row in found["runs"] if states is None or row["status"] in states]
        known = {place: name for name, place in names(self.reach.logs).items()}
        shown = rows[: bounds.RUNS if last_n < 0 else min(last_n, bounds.RUNS)]
        cut = len(shown) < len(rows) and (last_n < 0 or last_n > bounds.RUNS)
        return Listed(
            runs=[_row(row, known) for row in shown],
            total=len(rows),
            results_dir=found["logdir"],
            warnings=found["warnings"][: bounds.WARNINGS],
            note=f"the newest {len(shown):,} of {len(rows):,}; filter for others" if cut else None,
        )

    def compare_runs(
        self,
        run_ids: Annotated[
            list[args.RunId],
            Field(min_length=2, max_length=bounds.COMPARED, description="Two or more runs."),
        ],
        metric_key: args.MetricKey = REWARD,
        last_n: args.LastN = 20,
    ) -> Compared:
        """Compare a metric of several runs, of any families, at steps that all have reached.

        at_steps holds each run's value at the common steps; differences tells which settings are
        not the same, which is where to look for the reason.
        """
        key = OTHER_WORDS.get(metric_key, metric_key)
        runs = {run_id: self.reach.run(run_id).path for run_id in run_ids}
        if len(set(runs.values())) < 2:
            raise UsageError(f"{', '.join(runs)} are one and the same run: name another one")
        found = operations.compare_runs(
            [str(run) for run in runs.values()], self.reach.logs, tag=key
        )
        trend = bounds.POINTS // len(runs) if last_n < 0 else min(last_n, bounds.POINTS)
        return Compared(
            metric_key=key,
            steps=found["steps"],
            comparison={
                run_id: self._series(run, found, key, trend) for run_id, run in runs.items()
            },
            differences=dict(list(found["differences"].items())[: bounds.KEYS]),
            note=None,
        )

    def _series(self, run: Path, found: dict[str, Any], key: str, trend: int) -> Series:
        place, row = next(
            (place, row) for place, row in found["runs"].items() if row["path"] == str(run)
        )
        summary = found["summaries"][place] or {}
        newest = trends(str(run), self.reach.logs, tags=[key], last_n=trend)["metrics"]
        return Series(
            run=place,
            status=row["status"],
            final_value=summary.get("final"),
            max_value=summary.get("high"),
            min_value=summary.get("low"),
            num_points=summary.get("points", 0),
            final_step=summary.get("final_step"),
            at_steps=found["values"][place],
            trend=newest.get(key, []),
            error=None if summary else f"it has no metric {key}",
        )

    def export_model(
        self,
        run_id: args.RunId,
        behavior_name: args.BehaviorName = None,
        last_n: args.LastN = 5,
    ) -> Exported:
        """Locate the models and checkpoints of a run, newest first; nothing is copied.

        A model is a file that the framework itself loads; a checkpoint is a folder that resume and
        evaluation take (`srb agent eval --model FOLDER`).
        """
        wishes.refuse_behavior(behavior_name)
        run = self.reach.run(run_id).path
        found = operations.export(str(run), self.reach.logs, last_n=None)
        kept = bounds.CHECKPOINTS if last_n < 0 else min(last_n, bounds.CHECKPOINTS)
        return Exported(
            run_id=run_id,
            models=[
                ModelFile(path=row["path"], step=row["step"], size_mb=megabytes(row["bytes"]))
                for row in found["models"][:kept]
            ],
            total_models=found["total_models"],
            checkpoints=[checkpoint_file(row) for row in found["checkpoints"][:kept]],
            total_checkpoints=found["total_checkpoints"],
            results_dir=found["path"],
        )

    def get_config(self, config_path: args.ConfigPath) -> Config:
        """Read a YAML file below a config root; secrets are masked.

        Next: update_config changes keys of it, force_training takes it as config_path.
        """
        found = operations.get_config(self.reach.config(config_path))
        return Config(config_path=found["path"], config=found["config"])


def reward_trend(reach: Reach, run: Path, last_n: int) -> list[Point]:
    """Return the newest mean returns of a run, oldest first."""
    found = trends(str(run), reach.logs, tags=[REWARD], last_n=last_n)["metrics"]
    newest: list[Point] = found.get(REWARD, [])
    return newest


def checkpoint_file(row: dict[str, Any]) -> CheckpointFile:
    """Return a checkpoint under the words of the contract."""
    return CheckpointFile(
        file_path=row["path"],
        steps=row["step"],
        reward=row["score"],
        size_mb=megabytes(row["bytes"]),
        latest=row["latest"],
        best=row["best"],
    )


def megabytes(size: int) -> float:
    """Return bytes as MiB with two decimals."""
    return round(size / MEBIBYTE, 2)


def _point(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "wall_time"}


def _states(status_filter: str | None) -> Sequence[str] | None:
    """Return the states that a word takes in; None for all."""
    every = [state for states in STATES.values() for state in states]
    if status_filter is not None and status_filter not in (*STATES, *every):
        raise UsageError(f"status_filter {status_filter!r} is not one of {', '.join(STATES)}")
    return None if status_filter is None else STATES.get(status_filter, (status_filter,))


def _row(row: dict[str, Any], known: dict[str, str]) -> Row:
    found = {mine: row[field] for mine, field in ROW_FIELDS.items()}
    return cast(Row, {"run_id": known.get(row["run"], row["run"]), **found})
