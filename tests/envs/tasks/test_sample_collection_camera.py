"""What the camera sees: where things appear is computed by hand, and who hides whom."""

import math

import numpy as np
import pytest

from srb_train.envs.tasks.sample_collection_camera import (
    AWAY,
    BASE_COLOUR,
    CELL,
    FADE,
    GRAIN,
    GROUND,
    HAZE,
    HEIGHT,
    ROCK_COLOUR,
    SAMPLE_COLOUR,
    SAMPLE_UP,
    TILE,
    TILT,
    Camera,
    take,
    texture,
)

SIZE = 64
FAR = (500.0, 500.0)


def scene(samples=(FAR, FAR), rocks=((FAR, 0.4),) * 3, x=30.0, y=0.0, heading=0.0):
    """One rover, away from the base, among samples, and rocks with a radius each."""
    return {
        "x": np.array([x], dtype=np.float32),
        "y": np.array([y], dtype=np.float32),
        "heading": np.array([heading], dtype=np.float32),
        "samples": np.array(samples, dtype=np.float32).T[..., None],
        "waiting": np.ones((len(samples), 1), dtype=np.float32),
        "rocks": np.array([place for place, _ in rocks], dtype=np.float32).T[..., None],
        "radius": np.array([[radius] for _, radius in rocks], dtype=np.float32),
    }


def rows(*scenes):
    """Several scenes as one state."""
    return {name: np.concatenate([one[name] for one in scenes], -1) for name in scenes[0]}


def photograph(*scenes, size=SIZE):
    return take(Camera(size), rows(*scenes))


def pixel(ahead, left, up, size=SIZE):
    """Return the (row, column) at which a pinhole of 90 degrees shows a point, by hand."""
    focal = size / 2 / math.tan(math.radians(45.0))
    depth = ahead * math.cos(TILT) + (HEIGHT - up) * math.sin(TILT)
    below = (HEIGHT - up) * math.cos(TILT) - ahead * math.sin(TILT)
    return size / 2 + focal * below / depth, size / 2 - focal * left / depth


def painted(picture, colour):
    """Return the mask of pixels that have a colour, in whatever light."""
    told = picture.astype(float)
    wanted = np.array(colour, dtype=float)
    light = (told @ wanted) / (wanted @ wanted)
    return (abs(told - light[..., None] * wanted).max(-1) < 2.5) & (light > 0.3)


@pytest.mark.parametrize(
    ("ahead", "left"), [(1.0, 0.0), (2.0, 0.7), (2.0, -0.9), (3.5, 2.0), (0.6, 0.2), (5.0, -3.0)]
)
@pytest.mark.parametrize("heading", [0.0, 2.0, -40.0])
def test_a_sample_appears_where_a_pinhole_shows_it(ahead, left, heading):
    x = 30.0 + ahead * math.cos(heading) - left * math.sin(heading)
    y = ahead * math.sin(heading) + left * math.cos(heading)
    (picture,) = photograph(scene(samples=((x, y), FAR), heading=heading))
    there = np.argwhere(painted(picture, SAMPLE_COLOUR))
    row, column = pixel(ahead, left, SAMPLE_UP)
    assert len(there)
    middle = 0.5 * (there.min(0) + there.max(0)) + 0.5
    assert middle == pytest.approx([row, column], abs=1.3)


@pytest.mark.parametrize(("ahead", "radius"), [(2.0, 0.3), (3.0, 0.5), (5.0, 0.8)])
def test_a_rock_is_as_wide_as_the_tangents_at_its_ball(ahead, radius):
    (picture,) = photograph(scene(rocks=(((30.0 + ahead, 0.0), radius), (FAR, 1.0), (FAR, 1.0))))
    # The haze above the horizon has the colour of rocks somewhere.
    mask = painted(picture, ROCK_COLOUR) & (picture != photograph(scene())[0]).any(-1)
    columns = np.flatnonzero(mask.any(0))
    # In the plane of the image's horizontal axis and the optical axis a ball is a circle.
    depth = ahead * math.cos(TILT) + HEIGHT * math.sin(TILT)
    half = 32.0 * math.tan(math.asin(radius / depth))
    assert len(columns) == pytest.approx(2.0 * half, abs=2.0)
    top = np.flatnonzero(mask.any(1))[0]
    below = HEIGHT * math.cos(TILT) - ahead * math.sin(TILT)
    edge = math.atan2(below, depth) - math.asin(radius / math.hypot(below, depth))
    assert top == pytest.approx(32.0 + 32.0 * math.tan(edge), abs=1.0)
    row = pixel(ahead - radius, 0.0, 0.0)[0]
    assert np.flatnonzero(mask[:, SIZE // 2])[-1] + 1 == pytest.approx(row, abs=1.0)


def test_the_horizon_lies_where_the_tilt_puts_it():
    camera = Camera(SIZE)
    horizon = SIZE / 2 - SIZE / 2 * math.tan(TILT)
    assert camera.first // SIZE == math.ceil(horizon - 0.5)
    ups = camera.rays[2].reshape(SIZE, SIZE)
    assert (ups[: math.ceil(horizon - 0.5)] >= 0.0).all()
    assert (ups[math.ceil(horizon - 0.5) :] < 0.0).all()
    one, other = photograph(scene(heading=0.0), scene(x=44.0, y=5.0, heading=1.0))
    sky = camera.first // SIZE
    assert np.array_equal(one[:sky], other[:sky])
    assert (one[sky + 4 :] != other[sky + 4 :]).any(-1).mean() > 0.5, "the ground has a texture"


def test_every_ray_is_a_unit_vector_and_the_corners_are_45_degrees_off():
    camera = Camera(SIZE)
    assert np.hypot(np.hypot(*camera.rays[:2]), camera.rays[2]) == pytest.approx(1.0, abs=1e-6)
    axis = np.array([math.cos(TILT), 0.0, -math.sin(TILT)])
    middle = camera.rays.reshape(3, SIZE, SIZE)[:, SIZE // 2]
    off = np.degrees(np.arccos(np.clip(axis @ middle.astype(float), -1.0, 1.0)))
    assert off[0] == pytest.approx(math.degrees(math.atan(31.5 / 32.0)), abs=0.1)


def test_a_nearer_rock_hides_a_sample_and_a_farther_one_does_not():
    behind = scene(samples=((33.0, 0.0), FAR), rocks=(((32.0, 0.0), 0.5), (FAR, 1.0), (FAR, 1.0)))
    before = scene(samples=((31.2, 0.0), FAR), rocks=(((32.2, 0.0), 0.5), (FAR, 1.0), (FAR, 1.0)))
    alone = scene(samples=((33.0, 0.0), FAR))
    hidden, shown, free = (painted(one, SAMPLE_COLOUR) for one in photograph(behind, before, alone))
    assert not hidden.any()
    assert shown.sum() > 15
    assert free.any()
    assert painted(photograph(before)[0], ROCK_COLOUR).any()


def test_things_at_the_back_beyond_the_edges_and_taken_are_not_seen():
    (empty,) = photograph(scene())
    for place in ((27.0, 0.0), (30.5, 3.0), (29.9, -0.5)):
        (picture,) = photograph(scene(samples=(place, FAR)))
        assert np.array_equal(picture, empty)
    taken = scene(samples=((32.0, 0.0), FAR))
    taken["waiting"][0] = 0.0
    assert np.array_equal(photograph(taken)[0], empty)


def test_the_base_is_a_plate_about_the_origin():
    (picture,) = photograph(scene(x=-3.0))
    mask = painted(picture, BASE_COLOUR)
    near, far = pixel(2.2, 0.0, 0.0)[0], pixel(3.8, 0.0, 0.0)[0]
    rows_seen = np.flatnonzero(mask[:, SIZE // 2])
    assert rows_seen[-1] == pytest.approx(near, abs=1.5)
    assert rows_seen[0] == pytest.approx(far, abs=1.0)
    columns = np.flatnonzero(mask.any(0))
    left = pixel(3.0, 0.8, 0.0)[1]
    assert columns[0] == pytest.approx(left, abs=1.5)
    assert columns[-1] == pytest.approx(SIZE - 1 - left, abs=1.5)


@pytest.mark.parametrize(("row", "column"), [(30, 10), (40, 32), (50, 50), (63, 0)])
def test_the_ground_shows_the_texture_of_the_place_that_a_ray_meets(row, column):
    x, y, heading = 30.0, -4.0, 1.2
    (picture,) = photograph(scene(x=x, y=y, heading=heading))
    right, down = (column + 0.5 - 32.0) / 32.0, (row + 0.5 - 32.0) / 32.0
    reach = HEIGHT / (math.sin(TILT) + down * math.cos(TILT))
    ahead, left = reach * (math.cos(TILT) - down * math.sin(TILT)), -reach * right
    x += ahead * math.cos(heading) - left * math.sin(heading)
    y += ahead * math.sin(heading) + left * math.cos(heading)
    across, upwards = (int((part + AWAY) / CELL) % TILE for part in (x, y))
    grain = GRAIN * math.exp(-math.hypot(ahead, left) / FADE) * texture()[across * TILE + upwards]
    mist = math.exp(-7.0 * HEIGHT / math.hypot(HEIGHT, ahead, left))
    expected = [mist * h + (1.0 - mist) * g + grain for h, g in zip(HAZE, GROUND, strict=True)]
    assert picture[row, column].astype(float) == pytest.approx(expected, abs=1.01)


def test_what_is_lit_faces_the_sun():
    rock = (((32.0, 0.0), 0.5), (FAR, 1.0), (FAR, 1.0))
    (picture,) = photograph(scene(rocks=rock))
    mask = painted(picture, ROCK_COLOUR)
    bright = picture.sum(-1) * mask
    left, right = bright[:, : SIZE // 2], bright[:, SIZE // 2 :]
    assert left.sum() > 1.2 * right.sum(), "the sun stands to the left of who looks along x"


def test_rows_do_not_see_each_other():
    scenes = [
        scene(samples=((31.0 + 0.1 * row, 0.3), FAR), heading=0.1 * row, x=30.0)
        for row in range(40)
    ]
    together = photograph(*scenes, size=36)
    for row in (0, 7, 31, 32, 39):
        assert np.array_equal(together[row], photograph(scenes[row], size=36)[0])


def test_a_rover_inside_of_what_it_sees_still_gets_a_picture():
    for place in ((30.0, 0.0), (30.1, 0.05)):
        (picture,) = photograph(
            scene(rocks=((place, 2.0), (FAR, 1.0), (FAR, 1.0)), samples=(place, FAR))
        )
        assert picture.shape == (SIZE, SIZE, 3)
