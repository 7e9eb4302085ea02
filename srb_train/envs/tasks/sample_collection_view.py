"""Pictures of sample collection: the arena from above, what the camera sees, and instruments."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from srb_train.envs.tasks import canvas, rover_view
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import BAD, COOL, EDGE, FAINT, GOOD, INK, WARN, Canvas
from srb_train.envs.tasks.rover_view import FIGURES, LETTERS, PANEL_LEFT, Frame, Row
from srb_train.envs.tasks.sample_collection_site import BASE, Site

MARGIN = 1.0  # m of ground that is seen around the arena
FARTHEST = 12.0  # m from the arena to which a straying rover is followed
CAMERA_TOP, CAMERA_SIDE = 318.0, 138  # px
LOW = 2.0  # kJ


def draw(scenes: Sequence[Scene], site: Site, camera: np.ndarray) -> np.ndarray:
    """Return the picture of the last scene; the earlier ones of its episode are its trail.

    `camera` is uint8 (side, side, 3), what the rover sees.
    """
    scene = scenes[-1]
    frame = _frame(scene, site.arena)
    board = Canvas(rover_view.backdrop())
    rover_view.ground(board, frame, (0.0, 0.0, PANEL_LEFT, float(canvas.HEIGHT)))
    rover_view.trail(board, [frame.place(rover_view.spot(past.state)) for past in scenes])
    _things(board, frame, scene.state)
    rover_view.vehicle(board, frame, scene.state)
    rover_view.downhill(board, (44, 420), scene.state)
    rover_view.panel(board, "SAMPLES", scene.time, _lines(scene, site))
    _charge(board, scene.state, site)
    _camera(board, camera)
    if scene.verdict is not None:
        rover_view.banner(board, scene.verdict, ("COLLECTED", "FAILED"))
    return board.pixels()


def _frame(scene: Scene, arena: float) -> Frame:
    """Show the arena, and more of the ground where the rover is farther out."""
    x, y = rover_view.spot(scene.state)
    half = MARGIN + float(np.clip(max(abs(x), abs(y)), arena, arena + FARTHEST))
    centre = (0.5 * PANEL_LEFT, 0.5 * canvas.HEIGHT)
    return Frame(centre, 0.5 * PANEL_LEFT / half, (0.0, 0.0))


def _things(board: Canvas, frame: Frame, state: Mapping[str, np.ndarray]) -> None:
    """Draw the base, the rocks, and the samples that still lie there."""
    middle, scale = frame.place((0.0, 0.0)), frame.scale
    board.disc(middle, BASE * scale, (*WARN, 60), WARN)
    board.disc(middle, 0.25 * BASE * scale, (*WARN, 120))
    for place, radius in zip(state["rocks"].T, state["radius"], strict=True):
        (x, y), size = frame.place(place), float(radius) * scale
        board.disc((x + 0.2 * size, y + 0.3 * size), size, (50, 34, 26, 140))
        board.disc((x, y), size, (104, 96, 92))
        board.disc((x - 0.2 * size, y - 0.25 * size), 0.6 * size, (138, 128, 122))
    for place, waiting in zip(state["samples"].T, state["waiting"], strict=True):
        if waiting > 0.5:
            board.disc(frame.place(place), max(5.0, 0.12 * scale), COOL, INK)


def _lines(scene: Scene, site: Site) -> list[Row]:
    state = scene.state
    load, delivered = round(float(state["load"])), round(float(state["delivered"]))
    speed, turn = float(state["speed"]), float(state["turn"])
    home = math.hypot(*rover_view.spot(state))
    return [
        ("delivered", f"{delivered} of {site.samples}", GOOD if delivered else INK),
        ("loaded", f"{load} of {site.capacity}", COOL if load else INK),
        ("to the base", f"{home:.1f} m", INK),
        ("speed", f"{speed:+.2f} m/s", INK),
        ("turn rate", f"{math.degrees(turn):+.0f}°/s", INK),
        *rover_view.ground_lines(state),
    ]


def _charge(board: Canvas, state: Mapping[str, np.ndarray], site: Site) -> None:
    """Draw what is left of the battery."""
    charge = float(state["charge"])
    board.text((LETTERS, 270), "charge", FAINT, 13)
    board.text((FIGURES, 270), f"{charge:.1f} kJ", INK, 13, "rm")
    colour = BAD if charge < LOW else COOL
    board.bar((LETTERS, 281), (FIGURES - LETTERS, 14), charge / site.charge[1], colour)


def _camera(board: Canvas, picture: np.ndarray) -> None:
    """Paste what the camera sees into the panel."""
    corner = (LETTERS - 1, CAMERA_TOP - 1)
    board.text((LETTERS, CAMERA_TOP - 12), "camera", FAINT, 13)
    board.box(corner, (corner[0] + CAMERA_SIDE + 1, corner[1] + CAMERA_SIDE + 1), None, EDGE)
    side = CAMERA_SIDE * canvas.SHARPNESS
    shown = Image.fromarray(picture).resize((side, side), Image.Resampling.NEAREST)
    place = (round(LETTERS * canvas.SHARPNESS), round(CAMERA_TOP * canvas.SHARPNESS))
    board.image.paste(shown, place)
