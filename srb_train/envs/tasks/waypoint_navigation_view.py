"""Pictures of waypoint navigation: the arena from above, the route, the tracks and instruments."""

import math
from collections.abc import Sequence

import numpy as np

from srb_train.envs.tasks import canvas, rover_view
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import FAINT, GOOD, INK, WARN, Canvas
from srb_train.envs.tasks.rover_view import PANEL_LEFT, Frame, Row

MARGIN = 1.2  # m of ground that is seen around the arena
FARTHEST = 20.0  # m from the arena to which a straying rover is followed


def draw(scenes: Sequence[Scene], arena: float, reach: float, poses: bool) -> np.ndarray:
    """Return the picture of the last scene; the earlier ones of its episode are its trail.

    `arena` is half the side of the square of waypoints and `reach` how near one has to be come, in
    m; `poses` tells whether they have a direction.
    """
    scene = scenes[-1]
    frame = _frame(scene, arena)
    board = Canvas(rover_view.backdrop())
    rover_view.ground(board, frame, (0.0, 0.0, PANEL_LEFT, float(canvas.HEIGHT)))
    rover_view.trail(board, [frame.place(rover_view.spot(past.state)) for past in scenes])
    _route(board, frame, scenes, reach * frame.scale, poses)
    rover_view.vehicle(board, frame, scene.state)
    rover_view.downhill(board, (44, 420), scene.state)
    rover_view.panel(board, "WAYPOINTS", scene.time, _lines(scene, poses))
    rover_view.wheel_gauges(board, 372, scene.state)
    if scene.verdict is not None:
        rover_view.banner(board, scene.verdict, ("ARRIVED", "FAILED"))
    return board.pixels()


def _frame(scene: Scene, arena: float) -> Frame:
    """Show the arena, and more of the ground where the rover is farther out."""
    farthest = max(abs(part) for part in rover_view.spot(scene.state))
    half = min(max(arena, farthest), arena + FARTHEST) + MARGIN
    middle = (0.5 * PANEL_LEFT, 0.5 * canvas.HEIGHT)
    return Frame(middle, 0.5 * PANEL_LEFT / half, (0.0, 0.0))


def _ahead(scene: Scene) -> np.ndarray:
    """Return (3, n) of the waypoints that are left, the next one first."""
    route = scene.state["route"]
    left = route.shape[1] - round(float(scene.state["reached"]))
    return route[:, :left]


def _route(board: Canvas, frame: Frame, scenes: Sequence[Scene], reach: float, poses: bool) -> None:
    scene = scenes[-1]
    ahead = _ahead(scene)
    places = [frame.place(point) for point in ahead[:2].T]
    board.line([frame.place(rover_view.spot(scene.state)), *places], (*INK, 90), 1.2)
    done = _ahead(scenes[0])[:, : _ahead(scenes[0]).shape[1] - len(places)]
    for point in done[:2].T:
        board.disc(frame.place(point), reach, (*GOOD, 60), GOOD)
    first = scene.state["route"].shape[1] - len(places) + 1
    for number, (place, facing) in enumerate(zip(places, ahead[2], strict=True), first):
        colour = WARN if number == first else INK
        board.disc(place, max(reach, 5.0), (*colour, 70), colour)
        if poses:
            length = 1.6 * max(reach, 9.0)
            tip = (
                place[0] + length * math.cos(float(facing)),
                place[1] - length * math.sin(float(facing)),
            )
            board.line([place, tip], colour, 2.6)
        board.text((place[0] + reach + 7, place[1] - reach - 3), f"{number}", colour, 14, "mm")


def _lines(scene: Scene, poses: bool) -> list[Row]:
    state = scene.state
    total, reached = state["route"].shape[1], round(float(state["reached"]))
    goal_x, goal_y, facing = (float(part) for part in state["route"][:, 0])
    x, y = rover_view.spot(state)
    heading = float(state["heading"])
    speed, turn = float(state["speed"]), float(state["turn"])
    bearing = _degrees(math.atan2(goal_y - y, goal_x - x) - heading)
    lines: list[Row] = [
        ("reached", f"{reached} of {total}", GOOD if reached else INK),
        ("to the next", f"{math.hypot(goal_x - x, goal_y - y):.2f} m", INK),
        ("bearing", f"{bearing:+.0f}°", INK),
        ("speed", f"{speed:+.2f} m/s", INK),
        ("turn rate", f"{math.degrees(turn):+.0f}°/s", INK),
    ]
    if poses:
        lines.insert(3, ("turn to face", f"{_degrees(facing - heading):+.0f}°", INK))
    hidden = [("hidden from it", "", FAINT), *rover_view.ground_lines(state)]
    return lines + hidden


def _degrees(angle: float) -> float:
    return math.degrees(math.remainder(angle, math.tau))
