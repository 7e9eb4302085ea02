"""A policy at work before a viewer: real time, pauses, single steps, episodes counted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from srb_train.contracts import BatchedEnv, Policy, Step
from srb_train.errors import UnsupportedError
from srb_train.evaluate import Episode, Evaluation, StopReason, Tally, quotas
from srb_train.video import ENDING_SECONDS, ENDLESS_CLIP
from srb_train.viewers import Press, Status, Viewer, grid

ENDLESS = 2**62
"""Episodes of a row that goes on until the person has seen enough."""
SLICE = 0.05
"""Seconds after which a waiting session looks again whether it is to end."""
DEBT = 0.5
"""Seconds that a session may lag behind and still make up for by drawing less."""
RAREST = 0.2
"""Seconds between two pictures, at most, of a session that lags behind."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a person wants to see; without a number of episodes, until the viewer is closed."""

    episodes: int | None
    seed: int


class Pace:
    """When the next step is due: real time times a speed, without bursts after a delay."""

    def __init__(self, fps: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin now; `clock` counts seconds."""
        self._seconds = 1.0 / fps
        self._clock = clock
        self._due = clock()

    def left(self) -> float:
        """Return the seconds until the next step, negative when it is late."""
        return self._due - self._clock()

    def went(self, speed: float) -> None:
        """Set when the step after this one is due."""
        self._due = max(self._due + self._seconds / speed, self._clock() - DEBT)

    def hold(self, seconds: float) -> None:
        """Let what is shown stand for a while."""
        self._due = max(self._due, self._clock()) + seconds

    def behind(self, speed: float) -> bool:
        """Tell whether a whole step was lost."""
        return self.left() < -self._seconds / speed


class Session:
    """Steps all rows of an environment and shows them, until enough episodes have ended."""

    def __init__(
        self,
        policy: Policy,
        env: BatchedEnv,
        viewer: Viewer,
        wish: Wish,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; the environment is reset when it runs."""
        self._policy, self._env, self._viewer, self._wish = policy, env, viewer, wish
        self._clock = clock
        self._pace = Pace(env.render_fps, clock)
        endless = np.full(env.num_envs, ENDLESS)
        self._left = endless if wish.episodes is None else quotas(wish.episodes, env.num_envs)
        self._budget = (env.max_episode_steps or ENDLESS_CLIP) * int(self._left.max())
        self._episodes: list[Episode] = []
        self._tally = Tally(self._left)
        self._begun = 0
        self._steps = 0
        self._paused = self._closed = False
        self._single = 0
        self._obs: Any = None
        self._picture: np.ndarray | None = None
        self._drawn_at = 0.0

    def run(self, stopped: Callable[[], bool] = lambda: False) -> Evaluation:
        """Show until the wish is fulfilled, the viewer is closed, or `stopped` says so."""
        self._begin()
        while (reason := self._reason(stopped)) is None:
            for press in self._viewer.pressed():
                self._obey(press)
            if self._is_due():
                self._advance()
            left = SLICE if self._paused else self._pace.left()
            self._viewer.wait(min(SLICE, max(0.0, left)))
        wanted = self._wish.episodes
        return Evaluation(
            requested=len(self._episodes) if wanted is None else wanted,
            episodes=tuple(self._episodes),
            seed=self._wish.seed,
            num_envs=self._env.num_envs,
            steps=self._steps,
            max_steps=self._steps if self._viewer.live else self._budget,
            stop_reason=reason,
        )

    def _reason(self, stopped: Callable[[], bool]) -> StopReason | None:
        if self._tally.complete and not (self._viewer.live and self._pace.left() > 0):
            return "completed"
        if self._closed or stopped():
            return "stopped"
        # A person can close what has no end; a film cannot.
        spent = not self._viewer.live and self._steps >= self._budget
        return "step_budget" if spent else None

    def _obey(self, press: Press) -> None:
        if press == "close":
            self._closed = True
        elif press == "reset":
            self._begin()
        elif press == "step":
            self._paused = True
            self._single += 1
        else:
            self._paused = not self._paused
            self._pace.hold(0.0)
            self._show()

    def _is_due(self) -> bool:
        if self._closed or self._tally.complete:
            return False  # what is shown last stands for as long as it should
        if self._single:
            self._single -= 1
            return True
        return not self._paused and (not self._viewer.live or self._pace.left() <= 0)

    def _begin(self) -> None:
        """Start all rows anew; every reset sees other starts."""
        rows = self._env.num_envs
        self._obs = self._env.reset(self._wish.seed + self._begun * rows)
        self._begun += 1
        self._policy.reset(np.ones(rows, dtype=bool))
        self._tally = Tally(self._left)
        self._total, self._length = 0.0, 0
        self._number = sum(episode.row == 0 for episode in self._episodes) + 1
        self._draw()

    def _advance(self) -> None:
        result = self._env.step(self._policy.act(self._obs))
        self._obs = result.obs
        self._steps += 1
        self._total += float(result.reward[0])
        self._length += 1
        self._pace.went(self._viewer.speed)
        ended = self._count(result)
        self._picture_of(ended)
        if ended and ended[0]:
            self._number += 1
            self._total, self._length = 0.0, 0

    def _count(self, result: Step) -> list[bool]:
        """Count the episodes that ended; returns which rows' did, empty for none."""
        found = self._tally.add(result)
        self._episodes += found
        for episode in found:
            self._left[episode.row] -= 1
        if result.final_obs is None:
            return []
        ended = [bool(flag) for flag in (result.terminated | result.truncated)]
        self._policy.reset(np.array(ended))
        return ended

    def _picture_of(self, ended: list[bool]) -> None:
        """Draw what a step has led to; where nothing is in the way, endings stand for a while."""
        tells = self._env.draws_endings
        if ended and not tells and self._tally.complete:
            return  # the picture would be of an episode that nobody asked for
        hurried = self._viewer.live and not self._paused
        late = hurried and self._pace.behind(self._viewer.speed)
        if late and not ended and self._clock() - self._drawn_at < RAREST:
            return
        self._draw()
        if ended and tells and self._env.num_envs == 1:
            self._linger()

    def _linger(self) -> None:
        self._pace.hold(ENDING_SECONDS)
        if not self._viewer.live:
            for _ in range(round(ENDING_SECONDS * self._env.render_fps)):
                self._show()

    def _draw(self) -> None:
        pictures = [self._env.render(row) for row in range(self._env.num_envs)]
        if any(picture is None for picture in pictures):
            raise UnsupportedError(
                "this task draws no pictures (an environment must be able to render rgb_array), "
                "so there is nothing to see"
            )
        self._picture = grid.tiled([np.asarray(picture) for picture in pictures])
        self._drawn_at = self._clock()
        self._show()

    def _show(self) -> None:
        told = [one.success for one in self._episodes if one.success is not None]
        status = Status(
            episode=self._number,
            step=self._length,
            total=self._total,
            done=len(self._episodes),
            successes=sum(told) if told else None,
            paused=self._paused,
            speed=self._viewer.speed,
        )
        if self._picture is not None:
            self._viewer.show(self._picture, status)
