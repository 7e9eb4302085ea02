"""A person watches a policy: steps, pauses, pictures and counts, without a screen to look at."""

import os
import socket
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from PIL import Image

from srb_train import video
from srb_train.errors import MissingDependency, SrbError, UnsupportedError, UsageError
from srb_train.evaluate import RandomPolicy, ZeroPolicy, evaluate
from srb_train.playback_request import View
from srb_train.registry import make_env
from srb_train.viewers import Status, choice, grid, port
from srb_train.viewers.opening import opened
from srb_train.viewers.session import DEBT, Pace, Session, Wish

FRAME = np.arange(8 * 10 * 3, dtype=np.uint8).reshape(8, 10, 3)


class Clock:
    """Seconds that pass only when somebody waits, or when it is told so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Person:
    """A viewer that remembers what was shown, and presses what a script says at a picture."""

    kind, place, live = "window", None, True

    def __init__(self, clock, script=None, *, slow=0.0):
        self.speed = 1.0
        self.clock = clock
        self.script = script or {}
        self.slow = slow
        self.seen = []
        self.pictures = []
        self.waits = 0

    def show(self, picture, status):
        self.pictures.append(picture)
        self.seen.append(status)
        self.clock.now += self.slow

    def wait(self, seconds):
        assert 0 <= seconds <= 0.05
        self.clock.now += max(seconds, 1e-4)
        self.waits += 1

    def pressed(self):
        if self.waits > 20_000:
            return ["close"]
        return self.script.pop(len(self.seen), [])


def session(person, env, **wish):
    policy = RandomPolicy(env.action_space, env.num_envs, 0)
    asked = Wish(episodes=wish.pop("episodes", None), seed=wish.pop("seed", 3))
    return Session(policy, env, person, asked, person.clock)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def pole():
    with closing(make_env("cartpole", 1, {})) as env:
        yield env


@pytest.fixture
def poles():
    with closing(make_env("cartpole", 3, {})) as env:
        yield env


def test_what_is_watched_is_what_an_evaluation_counts(clock, poles):
    watched = session(Person(clock), poles, episodes=4).run()
    counted = evaluate(RandomPolicy(poles.action_space, 3, 0), poles, 4, 3)
    assert watched.episodes == counted.episodes
    assert (watched.stop_reason, watched.requested, watched.steps) == (
        "completed",
        4,
        counted.steps,
    )


def test_steps_come_in_real_time_times_the_speed(clock, pole):
    person = Person(clock)
    person.speed = 2.0
    begun = clock.now
    seen = session(person, pole, episodes=1).run()
    # 50 steps a second, twice as fast; then the end stands for a while.
    assert clock.now - begun == pytest.approx(seen.steps / 100 + video.ENDING_SECONDS, abs=0.06)
    assert len(person.seen) == seen.steps + 1


def test_an_end_stands_for_a_while_before_the_next_episode(clock, pole):
    person = Person(clock)
    seen = session(person, pole, episodes=2).run()
    first = seen.episodes[0].length
    begun = clock.now
    assert [status.step for status in person.seen[first : first + 2]] == [first, 1]
    assert person.seen[first].done == 1 and person.seen[first + 1].episode == 2
    assert begun - 100.0 == pytest.approx(seen.steps / 50 + 2 * video.ENDING_SECONDS, abs=0.1)


def test_the_line_beside_the_picture_tells_the_return_and_the_successes(clock, pole):
    person = Person(clock)
    seen = session(person, pole, episodes=2).run()
    last = person.seen[-1]
    assert last.total == seen.episodes[1].total
    assert (last.done, last.successes) == (2, seen.successes)
    assert "2 ended, 0 with success" in last.parts()
    assert person.seen[0].parts() == ["episode 1", "step 0", "return 0", "speed 1x"]


def test_a_pause_holds_and_single_steps_go_on_from_there(clock, pole):
    presses = {5: ["pause"], 6: ["step", "step"], 8: ["close"]}
    person = Person(clock, presses)
    seen = session(person, pole).run()
    assert [status.step for status in person.seen] == [0, 1, 2, 3, 4, 4, 5, 6]
    assert [status.paused for status in person.seen] == [False] * 5 + [True] * 3
    assert (seen.steps, seen.stop_reason, seen.episodes, seen.requested) == (6, "stopped", (), 0)
    assert "paused" in person.seen[-1].parts()


def test_a_pause_is_ended_by_the_same_button(clock, pole):
    person = Person(clock, {3: ["pause", "pause"], 8: ["close"]})
    session(person, pole).run()
    assert [status.step for status in person.seen] == [0, 1, 2, 2, 2, 3, 4, 5]


def test_a_reset_begins_another_episode_and_counts_nothing(clock, poles):
    person = Person(clock, {4: ["reset"]})
    seen = session(person, poles, episodes=3).run()
    steps = [status.step for status in person.seen[:6]]
    assert steps == [0, 1, 2, 3, 0, 1]
    assert (person.pictures[0] != person.pictures[4]).any()
    assert seen.stop_reason == "completed" and sorted(one.row for one in seen.episodes) == [0, 1, 2]
    assert all(one.total == one.length for one in seen.episodes)


def test_an_endless_session_goes_on_until_it_is_stopped(clock, pole):
    person = Person(clock)
    seen = session(person, pole).run(stopped=lambda: len(person.seen) > 120)
    assert seen.stop_reason == "stopped"
    assert len(seen.episodes) > 1
    assert seen.as_dict()["complete"]


def test_drawing_that_takes_too_long_costs_pictures_and_not_time(clock, pole):
    person = Person(clock, slow=0.05)
    begun = clock.now
    seen = session(person, pole, episodes=3).run()
    real = seen.steps / 50 + 3 * video.ENDING_SECONDS
    assert clock.now - begun < real + 2 * DEBT
    assert len(person.seen) < seen.steps * 0.7
    assert person.seen[-1].step == seen.episodes[-1].length


def test_a_delay_is_not_made_up_for_in_one_burst(clock):
    pace = Pace(50, clock)
    clock.now += 10
    pace.went(1.0)
    assert pace.left() == pytest.approx(-DEBT)
    assert pace.behind(1.0)
    pace.hold(1.5)
    assert pace.left() == pytest.approx(1.5)


def test_a_task_without_pictures_cannot_be_watched(clock):
    with (
        closing(make_env("gymnasium/CartPole-v1", 1, {"render": False})) as env,
        pytest.raises(UnsupportedError, match="draws no pictures"),
    ):
        session(Person(clock), env).run()


def test_rows_stand_in_a_grid():
    assert grid.tiled([FRAME]) is FRAME
    sheet = grid.tiled([FRAME, FRAME, FRAME])
    assert sheet.shape == (20, 24, 3)
    assert (sheet[:8, :10] == FRAME).all() and (sheet[:8, 14:] == FRAME).all()
    assert (sheet[12:, :10] == FRAME).all() and np.ptp(sheet[12:, 14:]) == 0


def test_a_wide_grid_is_made_smaller():
    large = np.zeros((480, 1200, 3), np.uint8)
    assert grid.tiled([large] * 4).shape == (2 * 240 + 4, 2 * 600 + 4, 3)


@pytest.mark.parametrize(("aspect", "shape"), [(2.0, (8, 16)), (0.5, (20, 10)), (1.25, (8, 10))])
def test_margins_give_a_picture_the_shape_of_a_page(aspect, shape):
    fitted = grid.fitted(FRAME, aspect)
    assert fitted.shape[:2] == shape
    top, left = (shape[0] - 8) // 2, (shape[1] - 10) // 2
    assert (fitted[top : top + 8, left : left + 10] == FRAME).all()


def test_a_taken_port_names_its_holder_and_the_next_free_one():
    with socket.socket() as server:
        server.bind((port.HOST, 0))
        server.listen(1)
        taken = server.getsockname()[1]
        assert not port.is_free(taken)
        with pytest.raises(
            UsageError, match=f"--port {taken}: taken by process {os.getpid()}"
        ) as said:
            port.require_free(taken)
    free = int(str(said.value).rsplit("--port ", 1)[1].split()[0])
    assert free > taken and port.is_free(free)
    port.require_free(taken)


@pytest.mark.parametrize(
    ("where", "environ", "platform", "first"),
    [
        (None, {}, "linux", "browser"),
        (None, {"DISPLAY": ":0"}, "linux", "window"),
        (None, {"WAYLAND_DISPLAY": "wayland-0"}, "linux", "window"),
        (None, {}, "darwin", "window"),
        ("file", {"DISPLAY": ":0"}, "linux", "file"),
        ("browser", {"DISPLAY": ":0"}, "linux", "browser"),
    ],
)
def test_the_surroundings_choose_where_nobody_does(where, environ, platform, first):
    assert choice.first(where, environ, platform) == first


def test_without_the_server_of_pages_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r'pip install "srb-train\[view\]"'):
        choice.require_browser(8080)


def view(where, **more):
    return View(**{"where": where, "episodes": 1, "speed": 1.0, "port": 8080, "film": None, **more})


def test_a_window_without_a_display_is_an_error_with_the_way_out(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    with (
        pytest.raises(UnsupportedError, match=r"no window: .*--viewer browser or file"),
        opened(view("window"), "cartpole", 50),
    ):
        pass


def test_a_window_that_nobody_insisted_on_gives_way_to_the_browser(monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":4711")
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="viser"), opened(view(None), "cartpole", 50):
        pass
    assert "so the browser it is" in capsys.readouterr().err


def test_a_film_holds_every_step_and_the_end(tmp_path, pole, monkeypatch):
    monkeypatch.setattr("srb_train.viewers.session.ENDING_SECONDS", 0.2)
    with opened(view("file", film=str(tmp_path / "film.gif"), speed=0.5), "pole", 50) as film:
        seen = Session(ZeroPolicy(pole.action_space, 1), pole, film, Wish(episodes=1, seed=0)).run()
    assert film.place == str(tmp_path / "film.gif")
    with Image.open(film.place) as picture:
        # The end stands for a while, as one long frame or as many equal ones.
        assert picture.n_frames > seen.steps
        assert picture.info["duration"] == 40
    assert os.listdir(tmp_path) == ["film.gif"]


def test_a_film_of_what_has_no_end_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("srb_train.viewers.session.ENDLESS_CLIP", 5)
    with closing(make_env("gymnasium/CartPole-v1", 2, {})) as env:
        env.max_episode_steps = None
        with opened(view("file", film=str(tmp_path / "film.gif")), "pole", 50) as film:
            wish = Wish(episodes=2, seed=0)
            seen = Session(ZeroPolicy(env.action_space, 2), env, film, wish).run()
    assert (seen.stop_reason, seen.steps, seen.max_steps) == ("step_budget", 5, 5)


def test_an_empty_film_is_an_error_and_leaves_nothing(tmp_path):
    status = Status(episode=1, step=0, total=0.0, done=0, successes=None, paused=False, speed=1.0)
    with (
        pytest.raises(SrbError, match="of one colour"),
        opened(view("file", film=str(tmp_path / "film.gif")), "black", 50) as film,
    ):
        film.show(np.zeros((8, 8, 3), np.uint8), status)
    assert os.listdir(tmp_path) == []


def test_the_light_half_imports_no_toolkit_and_no_arrays():
    code = "import sys, srb_train.viewers.choice; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"tkinter", "viser", "numpy", "PIL"} & set(done.stdout.split())
