"""Pictures of landing: the descent from the side, seen along the y axis, with instruments."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image

from srb_train.envs.tasks import canvas, lander
from srb_train.envs.tasks.batch import Scene
from srb_train.envs.tasks.canvas import BAD, COOL, EDGE, FAINT, GOOD, INK, WARN, Canvas, Point

PANEL_LEFT = 476.0
GROUND = 416.0  # px from the top
MIDDLE = 238.0  # px of the pad's centre
SMALLEST = 22.0  # px to a metre of vehicle, at least, so that it can be seen from afar

GOLD, DARK_GOLD = np.array([226, 178, 84]), np.array([92, 66, 34])
SILVER, DARK_SILVER = np.array([222, 226, 236]), np.array([82, 88, 104])
LIGHT = np.array([-0.55, -0.62, 0.56])


class Frame(NamedTuple):
    """Where the world lies in the picture."""

    scale: float
    """px a metre."""

    def place(self, point: np.ndarray) -> Point:
        """Return the pixel of a point of the world."""
        return MIDDLE + float(point[0]) * self.scale, GROUND - float(point[2]) * self.scale


class Vehicle:
    """The lander's shape in the picture: larger than life where it would be too small to see."""

    def __init__(self, scene: Scene, frame: Frame) -> None:
        """Take its place and attitude from a scene."""
        w, x, y, z = (float(part) for part in scene.state["attitude"])
        self.rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        self.scale = max(frame.scale, SMALLEST)
        self.centre = frame.place(scene.state["position"])

    def place(self, body: Sequence[float] | np.ndarray) -> Point:
        """Return the pixel of a point of the body, which is drawn on the ground, not below."""
        x, _, z = self.rotation @ np.asarray(body)
        lift = (self.scale * lander.FOOT_DEPTH + self.centre[1]) - GROUND
        return self.centre[0] + x * self.scale, self.centre[1] - max(lift, 0.0) - z * self.scale


def draw(scenes: Sequence[Scene]) -> np.ndarray:
    """Return the picture of the last scene; the earlier ones of its episode are its trail."""
    scene = scenes[-1]
    x, _, z = (float(part) for part in scene.state["position"])
    frame = Frame(min((GROUND - 56.0) / (max(z, 6.0) + 2.0), 214.0 / (max(abs(x), 5.0) + 3.0)))
    board = Canvas(_sky())
    _ground(board, frame)
    _trail(board, [frame.place(past.state["position"]) for past in scenes])
    vehicle = Vehicle(scene, frame)
    if scene.verdict is None:
        _dust(board, vehicle, scene)
        _flame(board, vehicle, float(scene.state["throttle"]))
    _lander(board, vehicle)
    _ruler(board, frame, z)
    _panel(board, scenes)
    if scene.verdict is not None:
        _banner(board, scene.verdict)
    return board.pixels()


@cache
def _sky() -> Image.Image:
    board = Canvas(canvas.gradient((5, 7, 15), (30, 33, 48)))
    random = np.random.default_rng(7)
    for x, y, size in random.uniform((0, 0, 0.3), (PANEL_LEFT, GROUND, 1.0), (150, 3)):
        shade = int(90 + 150 * size * random.uniform(0.4, 1.0))
        board.disc((x, y), 0.9 * size, (shade, shade, min(255, shade + 14)))
    board.disc((76, 74), 19, (58, 110, 186))
    board.disc((71, 70), (9, 6), (196, 214, 232))
    board.disc((82, 81), (6, 4), (96, 150, 110))
    board.disc((84, 69), 19, (7, 9, 18, 150))
    return board.image


def _ground(board: Canvas, frame: Frame) -> None:
    random = np.random.default_rng(3)
    hills = [
        (float(x), GROUND - 5 - 9 * abs(math.sin(x * 0.013)) - 4 * random.random())
        for x in np.linspace(0, PANEL_LEFT, 60)
    ]
    board.polygon([(0, GROUND + 2), *hills, (PANEL_LEFT, GROUND + 2)], (62, 63, 68))
    board.polygon([(0, GROUND), (PANEL_LEFT, GROUND), (PANEL_LEFT, 480), (0, 480)], (98, 97, 94))
    for x, depth, size in random.uniform((0, 12, 8), (PANEL_LEFT, 60, 26), (26, 3)):
        across, up = size, size * (0.1 + depth * 0.003)
        board.disc((x, GROUND + depth), (across, up), (78, 77, 76))
        board.disc((x + 1.5, GROUND + depth + 1.4), (across * 0.86, up * 0.7), (108, 107, 103))
    edge = lander.PAD_RADIUS * frame.scale
    board.disc((MIDDLE, GROUND + 5), (edge, max(3.0, 0.07 * edge)), (52, 58, 60))
    board.box((MIDDLE - edge, GROUND), (MIDDLE + edge, GROUND + 4), (150, 156, 160))
    third = edge / 3.0
    board.box((MIDDLE - third, GROUND), (MIDDLE + third, GROUND + 4), GOOD)
    for side in (-1, 1):
        board.disc((MIDDLE + side * edge, GROUND - 2), 6, (*GOOD, 70))
        board.disc((MIDDLE + side * edge, GROUND - 2), 2.4, GOOD)


def _trail(board: Canvas, places: Sequence[Point]) -> None:
    for age, (start, end) in enumerate(zip(places[-2::-1], places[:0:-1], strict=False)):
        board.line([start, end], (*COOL, max(36, 190 - 2 * age)), 1.6)


def _dust(board: Canvas, vehicle: Vehicle, scene: Scene) -> None:
    height = float(scene.state["position"][2]) - lander.FOOT_DEPTH
    strength = float(scene.state["throttle"]) * max(0.0, 1.0 - height / 9.0)
    if strength <= 0.02:
        return
    x, scale = vehicle.centre[0], vehicle.scale
    for spread in (4.6, 3.4, 2.3, 1.3):
        opacity = int(70 * strength)
        board.disc((x, GROUND + 1), (spread * scale, 0.42 * scale), (176, 172, 164, opacity))


def _flame(board: Canvas, vehicle: Vehicle, throttle: float) -> None:
    if throttle < 0.02:
        return
    layers = (
        (0.44, 2.6, (255, 120, 40, 120)),
        (0.32, 1.9, (255, 176, 70, 190)),
        (0.18, 1.1, (255, 244, 214, 235)),
    )
    for half, length, colour in layers:
        tip = -0.72 - length * (0.25 + 0.75 * throttle)
        shape = [(-half * 0.7, -0.72), (-half, -0.95), (0, tip), (half, -0.95), (half * 0.7, -0.72)]
        board.polygon([_beside(vehicle, across, z) for across, z in shape], colour)


def _beside(vehicle: Vehicle, across: float, z: float) -> Point:
    """Return the pixel of a point on the thrust axis, moved across it in the picture."""
    x, _, up = vehicle.rotation[:, 2]
    length = (math.hypot(x, up) + 1e-6) / vehicle.scale
    px, py = vehicle.place((0.0, 0.0, z))
    return px + across * up / length, min(py + across * x / length, GROUND + 3.0)


def _lander(board: Canvas, vehicle: Vehicle) -> None:
    feet = [
        (sx * lander.FOOT_RADIUS, sy * lander.FOOT_RADIUS, -lander.FOOT_DEPTH)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    feet.sort(key=lambda foot: -float(vehicle.rotation[1] @ np.array(foot)))
    for foot in feet[:2]:
        _leg(board, vehicle, foot, (112, 116, 128))
    _prism(board, vehicle, (0.16, -0.5), (0.34, -0.78), (SILVER * 0.5, DARK_SILVER * 0.6))
    _prism(board, vehicle, (0.95, -0.45), (0.98, 0.16), (GOLD, DARK_GOLD))
    _prism(board, vehicle, (0.82, 0.16), (0.56, 0.62), (SILVER, DARK_SILVER))
    for foot in feet[2:]:
        _leg(board, vehicle, foot, (206, 210, 220))
    board.line([vehicle.place((0.3, 0, 0.6)), vehicle.place((0.3, 0, 1.02))], (200, 204, 214), 1.2)
    board.disc(vehicle.place((0.3, 0, 1.02)), 0.07 * vehicle.scale, BAD)


def _leg(board: Canvas, vehicle: Vehicle, foot: Sequence[float], colour: canvas.Colour) -> None:
    x, y, z = foot
    thick = max(1.4, 0.085 * vehicle.scale)
    board.line([vehicle.place((0.72 * x, 0.72 * y, -0.1)), vehicle.place(foot)], colour, thick)
    board.line([vehicle.place((0.45 * x, 0.45 * y, -0.45)), vehicle.place(foot)], colour, thick / 2)
    pad = [vehicle.place((x + 0.2 * side, y, z)) for side in (-1, 1)]
    board.line(pad, colour, thick * 1.3)


def _prism(
    board: Canvas,
    vehicle: Vehicle,
    low: tuple[float, float],
    high: tuple[float, float],
    colours: tuple[np.ndarray, np.ndarray],
) -> None:
    """Draw an eight-sided body between two rings (radius, z), far faces first."""
    (r_low, z_low), (r_high, z_high) = low, high
    corners = [math.pi / 4 * (side + 0.5) for side in range(9)]
    faces = []
    for a, b in pairwise(corners):
        ring = [(r_low, z_low, a), (r_low, z_low, b), (r_high, z_high, b), (r_high, z_high, a)]
        points = [(r * math.cos(angle), r * math.sin(angle), z) for r, z, angle in ring]
        middle = 0.5 * (a + b)
        normal = vehicle.rotation @ np.array([math.cos(middle), math.sin(middle), 0.0])
        faces.append((float(normal[1]), normal, points))
    for top, z, r in ((1.0, z_high, r_high), (-1.0, z_low, r_low)):
        points = [(r * math.cos(angle), r * math.sin(angle), z) for angle in corners[:-1]]
        normal = vehicle.rotation @ np.array([0.0, 0.0, top])
        faces.append((float(normal[1]), normal, points))
    for depth, normal, points in sorted(faces, key=lambda face: -face[0]):
        if depth < 0.05:
            lit = 0.18 + 0.82 * max(0.0, float(normal @ LIGHT))
            shade = colours[1] + (colours[0] - colours[1]) * lit
            board.polygon([vehicle.place(point) for point in points], tuple(shade.astype(int)))


def _ruler(board: Canvas, frame: Frame, height: float) -> None:
    step = next(size for size in (2, 5, 10, 20, 50, 100, 200) if size * frame.scale >= 34)
    for mark in range(0, int((GROUND - 40) / frame.scale) + 1, step):
        y = GROUND - mark * frame.scale
        board.line([(6, y), (13, y)], FAINT, 1)
        board.text((17, y), f"{mark}", FAINT, 10)
    y = max(GROUND - height * frame.scale, 10)
    board.polygon([(4, y), (13, y - 4), (13, y + 4)], WARN)


def _panel(board: Canvas, scenes: Sequence[Scene]) -> None:
    scene = scenes[-1]
    state = scene.state
    board.box((PANEL_LEFT, -6), (646, 486), canvas.PANEL, EDGE)
    board.text((490, 22), "LANDING", INK, 16)
    board.text((628, 22), f"{scene.time:.1f} s", FAINT, 13, "rm")
    _top_view(board, scenes)
    (x, y, z), (v_x, v_y, v_z) = state["position"], state["velocity"]
    tilt = math.degrees(math.acos(min(1.0, max(-1.0, Vehicle(scene, Frame(1.0)).rotation[2, 2]))))
    side, reach = math.hypot(v_x, v_y), math.hypot(x, y)
    rows = (
        ("height", f"{max(z - lander.FOOT_DEPTH, 0):.1f} m", INK),
        ("to the pad", f"{reach:.1f} m", _soft(reach, lander.PAD_RADIUS)),
        ("sink rate", f"{-v_z:.1f} m/s", _soft(abs(v_z), lander.SOFT_DOWN)),
        ("side speed", f"{side:.1f} m/s", _soft(side, lander.SOFT_SIDE)),
        ("tilt", f"{tilt:.1f}°", _soft(math.radians(tilt), lander.SOFT_TILT)),
    )
    for place, (name, value, colour) in enumerate(rows):
        board.text((490, 206 + 29 * place), name, FAINT, 13)
        board.text((628, 206 + 29 * place), value, colour, 16, "rm")
    fuel, throttle = float(state["propellant"]), float(state["throttle"])
    _gauge(board, 362, "throttle", f"{100 * throttle:.0f} %", throttle, WARN)
    low = fuel < 0.15 * lander.FULL_TANK
    share = fuel / lander.FULL_TANK
    _gauge(board, 416, "propellant", f"{fuel:.1f} kg", share, BAD if low else COOL)


def _gauge(
    board: Canvas, y: float, name: str, value: str, share: float, colour: canvas.Colour
) -> None:
    board.text((490, y), name, FAINT, 13)
    board.text((628, y), value, INK, 13, "rm")
    board.bar((490, y + 12), (138, 15), share, colour)


def _soft(value: float, limit: float) -> canvas.Colour:
    return GOOD if value <= limit else WARN


def _top_view(board: Canvas, scenes: Sequence[Scene]) -> None:
    left, top, size = 490.0, 44.0, 138.0
    board.box((left, top), (left + size, top + size), (8, 10, 18), EDGE)
    centre = (left + size / 2, top + size / 2)
    track = [scene.state["position"][:2].astype(float) for scene in scenes]
    widest = max(15.0, *(1.15 * float(abs(spot).max()) for spot in track[-1:]))
    scale = (size / 2 - 4) / widest
    limit = size / 2 - 3
    places = [
        (centre[0] + _held(spot[0] * scale, limit), centre[1] - _held(spot[1] * scale, limit))
        for spot in track
    ]
    board.disc(centre, lander.PAD_RADIUS * scale, (30, 62, 46), GOOD)
    board.disc(centre, 1.5, GOOD)
    if len(places) > 1:
        board.line(places, (*COOL, 150), 1.3)
    (x, y), velocity = places[-1], scenes[-1].state["velocity"]
    reach = 3.0 * scale
    board.line([(x, y), (x + velocity[0] * reach, y - velocity[1] * reach)], WARN, 1.4)
    board.disc((x, y), 3.2, INK)
    board.text((left + 6, top + size - 9), "from above", FAINT, 10)


def _held(value: float, limit: float) -> float:
    return min(max(float(value), -limit), limit)


def _banner(board: Canvas, success: bool) -> None:
    colour, words = (GOOD, "LANDED") if success else (BAD, "FAILED")
    board.box((MIDDLE - 84, 30), (MIDDLE + 84, 70), (12, 16, 26, 225), colour)
    board.text((MIDDLE, 50), words, colour, 22, "mm")
