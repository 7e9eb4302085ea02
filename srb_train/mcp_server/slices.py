"""Waiting in slices: a call comes back before clients give up, and the run goes on either way.

A client that asked for progress is told every few seconds and may wait as long as it wants. Any
other gets an answer within one slice, and waits again if it likes. Cancelling a wait ends the
wait, never the run.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context

from srb_train.errors import SrbError

SLICE_SECONDS = 50.0
"""Below the limit of 60 s that clients give a call unless told otherwise."""
PULSE_SECONDS = 5.0
"""Between two messages of progress."""

T = TypeVar("T")


class Look(NamedTuple):
    """What one look at a run has shown."""

    over: bool
    """Whether there is nothing more to wait for."""
    message: str
    """One line about how far it is."""


class Wait(NamedTuple):
    """How a wait ended."""

    over: bool
    timed_out: bool
    """Whether all the time that was asked for has passed."""

    @property
    def still_running(self) -> bool:
        """Whether waiting again makes sense."""
        return not self.over


async def aside(work: Callable[[], T]) -> T:
    """Let a thread read files, so that no other call is held up."""
    done: T = await anyio.to_thread.run_sync(work)
    return done


async def until(context: Context, look: Callable[[], Look], *, seconds: float, poll: float) -> Wait:
    """Look again and again until it is over or the slice has passed."""
    begun = anyio.current_time()
    patience = slice_of(context, seconds)
    end = begun + patience
    looked, told = -poll, -PULSE_SECONDS
    message = ""
    while True:
        passed = anyio.current_time() - begun
        if passed - looked >= poll or anyio.current_time() >= end:
            over, message = await aside(look)
            looked = passed
            if over:
                return Wait(over=True, timed_out=False)
        left = end - anyio.current_time()
        if left <= 0:
            return Wait(over=False, timed_out=patience >= seconds)
        if passed - told >= PULSE_SECONDS:
            await context.report_progress(passed, seconds, message)
            told = passed
        await anyio.sleep(min(poll, PULSE_SECONDS, left))


async def attend(
    context: Context, work: Callable[[], T], *, seconds: float, message: str
) -> T | None:
    """Let a thread work, and tell of it meanwhile; None when the slice passed before it was done.

    The thread goes on by itself then, and so it does when the call is cancelled.
    """
    done: list[T | SrbError] = []

    async def carry_out() -> None:
        done.append(await anyio.to_thread.run_sync(lambda: _kept(work), abandon_on_cancel=True))
        tasks.cancel_scope.cancel()

    begun = anyio.current_time()
    with anyio.move_on_after(slice_of(context, seconds)):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(carry_out)
            while True:
                await context.report_progress(anyio.current_time() - begun, seconds, message)
                await anyio.sleep(PULSE_SECONDS)
    if not done:
        return None
    if isinstance(done[0], SrbError):
        raise done[0]
    return done[0]


def _kept(work: Callable[[], T]) -> T | SrbError:
    """Return a failure as a value, which a task group would wrap."""
    try:
        return work()
    except SrbError as error:
        return error


def slice_of(context: Context, seconds: float) -> float:
    """Return for how many of these seconds one call may wait."""
    return seconds if _wants_progress(context) else min(seconds, SLICE_SECONDS)


def _wants_progress(context: Context) -> bool:
    meta = context.request_context.meta
    return bool(meta) and meta.get("progress_token") is not None
