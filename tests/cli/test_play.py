"""`srb agent play`: what is asked for is shown, and the summary tells what was seen."""

import json
import os
import signal
import socket
import sys

import pytest
from PIL import Image

from srb_train.cli import main, render
from srb_train.runs import files
from srb_train.viewers import choice, port
from tests.cases.conftest import runs, until

PLAY = ("agent", "play")
POLE = ("--policy", "random", "--env", "cartpole")
SQUARE = ("--env", "gymnasium/faults:ConstantReward-v0")
"""A task of small pictures, whose episodes have ten steps."""


@pytest.fixture
def refused(capsys):
    """Run a command that must be refused before anything is started; returns what it said."""

    def run(*words):
        assert main([*PLAY, *map(str, words)]) == 2
        out, said = capsys.readouterr()
        assert out == "" and len(said.splitlines()) == 1
        return said

    return run


def test_a_film_without_a_run_and_its_summary(srb, tmp_path):
    words = ("--policy", "random", *SQUARE, "--out", "square.gif", "--episodes", 2)
    done = srb(*PLAY, *words, check=True)
    assert "rand" in done.stdout and "2 of 2" in done.stdout
    assert f"{tmp_path}/square.gif" in done.stdout
    with Image.open(tmp_path / "square.gif") as picture:
        # The first picture, and one after each step but the last, which shows another episode.
        assert picture.n_frames == 20
    assert os.listdir(tmp_path) == ["square.gif"]


def test_a_film_of_a_run_goes_among_its_videos(srb, tmp_path):
    logs = tmp_path / "logs"
    toy = ("--algo", "toy_cem", *SQUARE)
    size = ("env.num_envs=2", "agent.horizon=10", "run.steps=200")
    srb("agent", "train", *toy, *size, "--logdir", logs, check=True)
    (run,) = runs(logs)
    words = (*PLAY, *toy, "--logdir", logs, "--viewer", "file", "--num_envs", 4, "--json")
    found = json.loads(srb(*words, check=True).stdout)
    assert found["video"] == str(run.path / "videos" / "play-200.mp4")
    assert os.path.getsize(found["video"]) > 1000
    assert (found["run"], found["step"], found["num_envs"]) == (run.name, 200, 4)
    assert (found["viewer"], found["episodes_completed"], found["exit_code"]) == ("file", 4, 0)
    assert sorted(os.listdir(run.path / "videos")) == ["play-200.mp4"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_what_was_seen(start_srb, tmp_path, number, code):
    slow = ("--env", "gymnasium/faults:Slow-v0", "env.kwargs.seconds=0.01")
    words = (*PLAY, "--policy", "zero", *slow, "--out", tmp_path / "slow.mp4", "--episodes", 100000)
    child = start_srb(*words, "--json")
    until(lambda: list(tmp_path.glob(f"{files.TEMPORARY}*")), "the first picture")
    child.send_signal(number)
    output, _ = child.communicate(timeout=20)
    assert child.returncode == code, output
    found = json.loads(output)
    assert (found["stop_reason"], found["exit_code"]) == ("stopped", code)
    assert "Traceback" not in output
    assert os.listdir(tmp_path) == ["slow.mp4"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "which policy?"),
        (("--policy", "zero"), "--env is missing"),
        ((*POLE, "--algo", "toy_cem"), "--policy random and --algo exclude each other"),
        ((*POLE, "--out", "film.avi"), ".mp4 or .gif"),
        ((*POLE, "--out", "film.gif", "--viewer", "browser"), "--out is a film"),
        ((*POLE, "--viewer", "file", "--num_envs", 37), "room for 36"),
        ((*POLE, "--viewer", "file", "env.lenght=2"), "env.lenght"),
        ((*POLE, "--speed", "0"), "--speed"),
        (("--model", "nowhere", "--viewer", "file"), "nowhere"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line(refused, words, part):
    assert part in refused(*words)


def test_the_browser_needs_its_package_and_a_free_port(refused, monkeypatch):
    present = choice.importlib.util.find_spec
    hidden = lambda name: None if name == choice.SERVER else present(name)  # noqa: E731
    monkeypatch.setattr(choice.importlib.util, "find_spec", hidden)
    assert 'pip install "srb-train[view]"' in refused(*POLE, "--viewer", "browser")
    monkeypatch.setattr(choice.importlib.util, "find_spec", present)
    monkeypatch.setitem(sys.modules, "viser", sys.modules["json"])
    with socket.socket() as server:
        server.bind((port.HOST, 0))
        server.listen(1)
        taken = server.getsockname()[1]
        said = refused(*POLE, "--viewer", "browser", "--port", taken)
    assert f"taken by process {os.getpid()}" in said
    assert "is free" in said


def test_a_window_without_a_display_says_so(srb):
    done = srb(*PLAY, *POLE, "--viewer", "window", DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no window" in done.stderr
    assert "--viewer browser or file" in done.stderr


def test_a_summary_without_an_ended_episode_has_no_empty_figures():
    none = dict.fromkeys(("success_rate", "path", "return_interval", "min_return", "max_return"))
    found = {"algo": "zero", "env": "landing", "num_envs": 1, "seed": 0, "complete": True, **none}
    said = render.evaluation({**found, "episodes_completed": 0, "episodes_requested": 0})
    assert "0 of 0" in said and "return" not in said and "length" not in said
