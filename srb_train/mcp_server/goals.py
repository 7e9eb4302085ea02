"""Tools that ask whether a run has reached something: at once, or by waiting for it."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from srb_train import operations
from srb_train.mcp_server import arguments as args
from srb_train.mcp_server import bounds
from srb_train.mcp_server.answers import Completion, FirstMetrics, NewCheckpoints, Reached
from srb_train.mcp_server.slices import Look, Wait, aside, until
from srb_train.mcp_server.views import REWARD, checkpoint_file, reward_trend
from srb_train.operations import Goal
from srb_train.operations.reach import Reach
from srb_train.operations.trends import trends

TREND = 5
LOG_LINES = 15
Timeout = Annotated[
    float,
    Field(
        ge=0,
        le=args.LONGEST_WAIT,
        description="Seconds to wait at most. Without a progress token a call returns after 50 s "
        "with still_running true: call it again.",
    ),
]


@dataclass(frozen=True)
class Goals:
    """The tools that ask and wait, within a reach."""

    reach: Reach

    async def wait_for_first_metrics(
        self,
        context: Context,
        run_id: args.RunId,
        timeout: Timeout = 600.0,
        poll_interval: args.PollInterval = 1.0,
    ) -> FirstMetrics:
        """Wait until a run has measured something, which tells that training works.

        Use it right after force_training. It ends early when the run ends. Next: get_metrics,
        check_step, wait_for_completion.
        """
        run, waited = await self._wait(
            context, run_id, Goal(first_metric=True), (timeout, poll_interval)
        )
        return await aside(partial(self._first, run_id, run, waited))

    async def wait_for_completion(
        self,
        context: Context,
        run_id: args.RunId,
        timeout: Timeout = 14400.0,
        poll_interval: args.PollInterval = 2.0,
    ) -> Completion:
        """Wait until a run has ended in any way; completed is true only if it says so itself.

        Use it to chain trainings. With a progress token it reports every few seconds and waits for
        all of timeout; else it returns after 50 s with still_running true: call it again.
        """
        run, waited = await self._wait(context, run_id, Goal(done=True), (timeout, poll_interval))
        return await aside(partial(self._completion, run_id, run, waited))

    def check_step(
        self,
        run_id: args.RunId,
        target_step: Annotated[int, Field(ge=0, description="Environment transitions.")],
    ) -> Reached:
        """Tell at once whether a run has reached a step, with its return and the trend of it."""
        return self._reached(run_id, Goal(step=target_step))

    def check_reward(
        self,
        run_id: args.RunId,
        target_reward: Annotated[float, Field(description="Mean return of an episode.")],
    ) -> Reached:
        """Tell at once whether the mean return of the newest episodes has reached a value."""
        return self._reached(run_id, Goal(mean_return=target_reward))

    def check_completion(self, run_id: args.RunId) -> Completion:
        """Tell at once whether a run is complete, or has ended in another way, and how.

        A stopped, failed or killed run has ended but is not completed; last_logs tells why.
        """
        run = self.reach.run(run_id).path
        return self._completion(run_id, run, None)

    def check_checkpoint(
        self,
        run_id: args.RunId,
        known_checkpoints: Annotated[
            list[str] | None,
            Field(
                max_length=10_000,
                description="Checkpoints that are known already, as all_checkpoints named them.",
            ),
        ] = None,
    ) -> NewCheckpoints:
        """Tell at once which checkpoints a run has, and which of them are new."""
        run = self.reach.run(run_id).path
        rows = operations.checkpoints(str(run), self.reach.logs)["checkpoints"]
        known = set(known_checkpoints or ())
        new = [row for row in rows if row["path"] not in known]
        return NewCheckpoints(
            run_id=run_id,
            new_checkpoint=bool(new),
            new_files=[checkpoint_file(row) for row in new[-bounds.CHECKPOINTS :]],
            all_checkpoints=[row["path"] for row in rows[-bounds.CHECKPOINTS :]],
            total_checkpoints=len(rows),
            status=operations.check(str(run), Goal(done=True), self.reach.logs)["status"],
        )

    async def _wait(
        self, context: Context, run_id: str, goal: Goal, times: tuple[float, float]
    ) -> tuple[Path, Wait]:
        run = await aside(lambda: self.reach.run(run_id).path)
        seconds, poll = times
        look = partial(self._look, run_id, run, goal)
        return run, await until(context, look, seconds=seconds, poll=poll)

    def _look(self, run_id: str, run: Path, goal: Goal) -> Look:
        row = operations.check(str(run), goal, self.reach.logs)
        return Look(row["reached"] or row["ended"], _told(run_id, row))

    def _reached(self, run_id: str, goal: Goal) -> Reached:
        run = self.reach.run(run_id).path
        row = operations.check(str(run), goal, self.reach.logs)
        return Reached(
            run_id=run_id,
            reached=row["reached"],
            target_step=goal.step,
            target_reward=goal.mean_return,
            current_step=row["step"],
            current_reward=row["return"],
            reward_trend=reward_trend(self.reach, run, TREND),
            status=row["status"],
            ended=row["ended"],
            eta_seconds=row["eta_seconds"],
        )

    def _first(self, run_id: str, run: Path, waited: Wait) -> FirstMetrics:
        row = operations.check(str(run), Goal(first_metric=True), self.reach.logs)
        first = self._first_point(run) if row["reached"] else {}
        message = None
        if not row["reached"]:
            message = f"it is {row['status']} ({row['reason']}) and has measured nothing"
        return FirstMetrics(
            run_id=run_id,
            ready=row["reached"],
            status=row["status"],
            first_step=first.get("step"),
            first_reward=first.get("value"),
            metric_keys=row["tags"][: bounds.KEYS],
            ended=row["ended"],
            still_running=waited.still_running and not row["reached"],
            timed_out=waited.timed_out and not row["reached"],
            last_logs=self._last_logs(run) if row["ended"] and not row["reached"] else [],
            message=message,
        )

    def _first_point(self, run: Path) -> dict[str, Any]:
        """Return the first mean return, else the first point of any metric."""
        available = trends(str(run), self.reach.logs, tags=(), last_n=0)["available"]
        tag = REWARD if REWARD in available else available[0]
        points = operations.run_metrics(str(run), self.reach.logs, tags=[tag])["metrics"][tag]
        first: dict[str, Any] = points[0]
        return first if tag == REWARD else {"step": first["step"]}

    def _completion(self, run_id: str, run: Path, waited: Wait | None) -> Completion:
        row = operations.check(str(run), Goal(done=True), self.reach.logs)
        shown = operations.show_run(str(run), self.reach.logs)
        return Completion(
            run_id=run_id,
            completed=row["reached"],
            ended=row["ended"],
            status=row["status"],
            reason=row["reason"],
            current_step=row["step"],
            budget=row["budget"],
            current_reward=row["return"],
            reward_trend=reward_trend(self.reach, run, TREND),
            eta_seconds=row["eta_seconds"],
            return_code=shown["exit_code"],
            still_running=not row["ended"],
            timed_out=waited is not None and waited.timed_out and not row["ended"],
            last_logs=self._last_logs(run) if row["ended"] else [],
        )

    def _last_logs(self, run: Path) -> list[str]:
        found = operations.tail(str(run), self.reach.logs, last_n=LOG_LINES)
        return bounds.lines(found["lines"], LOG_LINES)[0]


def _told(run_id: str, row: dict[str, Any]) -> str:
    """Return one line about a run that is waited for."""
    of = "" if row["budget"] is None else f" of {row['budget']:,}"
    value = "" if row["return"] is None else f", return {row['return']:.4g}"
    rate = "" if row["rate"] is None else f", {row['rate']:,.0f} steps/s"
    eta = "" if row["eta_seconds"] is None else f", {row['eta_seconds']:,.0f} s to go"
    return f"run {run_id}: {row['status']}, step {row['step']:,}{of}{value}{rate}{eta}"
