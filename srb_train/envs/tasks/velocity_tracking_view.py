"""Pictures of velocity tracking: the rover from above, and both speeds against their commands."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from srb_train.envs.tasks import rover_view
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import (
    BAD,
    COOL,
    EDGE,
    FAINT,
    GOOD,
    INK,
    PANEL,
    WARN,
    Canvas,
    Point,
)
from srb_train.envs.tasks.rover_view import PANEL_LEFT, Frame, Row

Pair = tuple[float, float]

COMMAND, MOTION = ("wanted_speed", "wanted_turn"), ("speed", "turn")

SCALE = 84.0  # px a metre
CHARTS_TOP, CHART_HEIGHT = 262.0, 88.0  # px
CHART_LEFT, CHART_RIGHT = 40.0, 464.0  # px
FORESIGHT = 4.0  # s of the arcs that show where a speed and a turn rate lead


class Chart(NamedTuple):
    """Where a quantity stands over time in the picture."""

    top: float
    """px."""
    duration: float
    """s across."""
    limit: float
    """What the upper edge stands for; the lower is its negative."""

    def place(self, time: float, value: float) -> Point:
        """Return the pixel of a value at a time."""
        share = max(-1.0, min(1.0, value / self.limit))
        across = CHART_LEFT + (CHART_RIGHT - CHART_LEFT) * time / self.duration
        return across, self.top + 0.5 * CHART_HEIGHT * (1.0 - share)


def draw(scenes: Sequence[Scene], duration: float, limits: Pair, near: Pair) -> np.ndarray:
    """Return the picture of the last scene, with charts of its episode so far.

    `duration` is the episode's in s; `limits` are the highest commands and `near` the errors that
    count as none, of the speed in m/s and of the turn rate in rad/s.
    """
    scene = scenes[-1]
    state = scene.state
    x, y = rover_view.spot(state)
    frame = Frame((0.5 * PANEL_LEFT, 0.5 * CHARTS_TOP), SCALE, (x, y))
    board = Canvas(rover_view.backdrop())
    rover_view.ground(board, frame, (0.0, 0.0, PANEL_LEFT, CHARTS_TOP))
    rover_view.trail(board, [frame.place(rover_view.spot(past.state)) for past in scenes])
    rover_view.vehicle(board, frame, state)
    board.line(_arc(frame, state, COMMAND), WARN, 2.6)
    board.line(_arc(frame, state, MOTION), COOL, 2.6)
    rover_view.downhill(board, (44, 204), state)
    board.box((-6, CHARTS_TOP), (PANEL_LEFT, 486), PANEL, EDGE)
    names = ("speed, m/s", "turn rate, rad/s")
    for part, (name, limit) in enumerate(zip(names, limits, strict=True)):
        chart = Chart(CHARTS_TOP + 16.0 + 106.0 * part, duration, 1.6 * limit)
        _chart(board, chart, name, limit)
        _curves(board, chart, scenes, part)
    rover_view.panel(board, "VELOCITIES", scene.time, _lines(scene, near))
    rover_view.wheel_gauges(board, 372, state)
    if scene.verdict is not None:
        rover_view.banner(board, scene.verdict, ("TRACKED", "MISSED"))
    return board.pixels()


def _arc(frame: Frame, state: dict[str, np.ndarray], motion: tuple[str, str]) -> list[Point]:
    """Return where a speed and a turn rate would lead from here, in pixels."""
    speed, turn = (float(state[name]) for name in motion)
    x, y = rover_view.spot(state)
    heading = float(state["heading"])
    places, step = [frame.place((x, y))], FORESIGHT / 20
    for _ in range(20):
        heading += 0.5 * step * turn
        x, y = x + step * speed * math.cos(heading), y + step * speed * math.sin(heading)
        heading += 0.5 * step * turn
        places.append(frame.place((x, y)))
    return places


def _chart(board: Canvas, chart: Chart, name: str, limit: float) -> None:
    board.box((CHART_LEFT, chart.top), (CHART_RIGHT, chart.top + CHART_HEIGHT), (8, 10, 18), EDGE)
    board.line([chart.place(0.0, 0.0), chart.place(chart.duration, 0.0)], EDGE, 1)
    for value in (-limit, 0.0, limit):
        board.text((CHART_LEFT - 5, chart.place(0.0, value)[1]), f"{value:.2g}", FAINT, 10, "rm")
    board.text((CHART_LEFT + 6, chart.top + 9), name, FAINT, 10)
    for place, (word, colour) in enumerate((("command", WARN), ("rover", COOL))):
        board.text((CHART_RIGHT - 70 + 68 * place, chart.top + 9), word, colour, 10, "rm")


def _curves(board: Canvas, chart: Chart, scenes: Sequence[Scene], part: int) -> None:
    """Draw the command as stairs and the measured value as a line."""
    wanted = [(scene.time, float(scene.state[COMMAND[part]])) for scene in scenes]
    stairs = [chart.place(*wanted[0])]
    for (_, before), (time, now) in pairwise(wanted):
        stairs += [chart.place(time, before), chart.place(time, now)]
    board.line(stairs, WARN, 1.6)
    had = [chart.place(scene.time, float(scene.state[MOTION[part]])) for scene in scenes]
    board.line(had, COOL, 1.6)


def _lines(scene: Scene, near: Pair) -> list[Row]:
    state = scene.state
    speed, turn = (float(state[name]) for name in MOTION)
    wanted_speed, wanted_turn = (float(state[name]) for name in COMMAND)
    steps = max(float(state["age"]), 1.0)
    share = 100.0 * float(state["near"]) / steps
    speed_rms = math.sqrt(float(state["speed_squares"]) / steps)
    turn_rms = math.sqrt(float(state["turn_squares"]) / steps)
    off_speed, off_turn = abs(speed - wanted_speed), abs(turn - wanted_turn)
    return [
        ("speed", f"{speed:+.2f} / {wanted_speed:+.2f}", _soft(off_speed, near[0])),
        ("turn", f"{turn:+.2f} / {wanted_turn:+.2f}", _soft(off_turn, near[1])),
        ("on the mark", f"{share:.0f} %", INK),
        ("mean error", f"{speed_rms:.2f} m/s", INK),
        ("", f"{turn_rms:.2f} rad/s", INK),
        ("hidden from it", "", FAINT),
        *rover_view.ground_lines(state),
    ]


def _soft(value: float, limit: float) -> tuple[int, int, int]:
    return GOOD if value <= limit else BAD
