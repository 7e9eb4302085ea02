"""Videos are real, whole and gone when they failed."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from srb_train import video
from srb_train.errors import SrbError, UnsupportedError
from srb_train.evaluate import ZeroPolicy
from srb_train.registry import make_env

FAULTS = Path(__file__).parent / "envs" / "gymnasium"


@pytest.fixture(autouse=True)
def faults_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(FAULTS)


@pytest.fixture
def without_ffmpeg(monkeypatch):
    """Hide the extra as if it were not installed."""
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setattr(video, "find_spec", lambda name: None)


def frame(number, height=20, width=30):
    picture = np.full((height, width, 3), 40, np.uint8)
    picture[4:10, number % 20 : number % 20 + 6] = 220
    return picture


def film(path, **options):
    kwargs = options.pop("kwargs", {})
    with closing(make_env("gymnasium/faults:ConstantReward-v0", 2, {"kwargs": kwargs})) as env:
        return video.record(ZeroPolicy(env.action_space, 2), env, path, seed=0, **options)


def mp4_frames(path, width, height):
    """Decode a video; returns what ffmpeg says about it and its frames."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo"]
    done = subprocess.run([*command, "-pix_fmt", "rgb24", "-"], capture_output=True, check=True)
    frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)
    return done.stderr.decode(), frames


def test_one_episode_is_filmed_frame_by_frame(tmp_path):
    path = film(tmp_path / "videos" / "clip.mp4")
    assert path == tmp_path / "videos" / "clip.mp4"
    facts, frames = mp4_frames(path, 48, 34)
    # 33 x 47 pixels become even; the limit of ten steps makes ten pictures.
    assert "48x34" in facts and "20 fps" in facts and "yuv420p" in facts
    assert len(frames) == 10
    assert np.ptp(frames[0]) > 100
    assert os.listdir(path.parent) == ["clip.mp4"]


def test_max_steps_cuts_a_clip(tmp_path):
    path = film(tmp_path / "clip.mp4", max_steps=4)
    assert len(mp4_frames(path, 48, 34)[1]) == 4


def test_a_gymnasium_task_can_be_filmed(tmp_path):
    with closing(make_env("gymnasium/CartPole-v1", 1, {})) as env:
        path = video.record(
            ZeroPolicy(env.action_space, 1), env, tmp_path / "pole.mp4", seed=0, max_steps=5
        )
    assert len(mp4_frames(path, 600, 400)[1]) == 5


def test_a_black_video_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(SrbError, match="all 10 frames are of one colour"):
        film(tmp_path / "clip.mp4", kwargs={"picture": "black"})
    assert os.listdir(tmp_path) == []


def test_a_video_without_a_frame_is_an_error(tmp_path):
    with (
        pytest.raises(SrbError, match="not one frame"),
        video.Recorder(tmp_path / "clip.mp4", 30),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_a_task_without_a_picture_says_so(tmp_path):
    params = {"render": False}
    with closing(make_env("gymnasium/CartPole-v1", 1, params)) as env:
        policy = ZeroPolicy(env.action_space, 1)
        with pytest.raises(UnsupportedError, match="no picture"):
            video.record(policy, env, tmp_path / "clip.mp4", seed=0)
    assert os.listdir(tmp_path) == []


def test_a_stop_ends_at_once_and_leaves_nothing(tmp_path):
    asked = []

    def stopped():
        asked.append(True)
        return len(asked) == 6

    assert film(tmp_path / "clip.mp4", stopped=stopped) is None
    assert len(asked) == 6
    assert os.listdir(tmp_path) == []


def test_an_error_while_drawing_keeps_an_older_video_and_removes_the_new_one(tmp_path):
    path = film(tmp_path / "clip.mp4")
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="drawing"), video.Recorder(path, 30) as recorder:
        recorder.add(frame(0))
        raise RuntimeError("drawing")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["clip.mp4"]


def test_frames_are_handed_on_and_not_kept(tmp_path):
    script = """
import sys, resource, numpy as np
from pathlib import Path
from srb_train.video import Recorder
picture = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
with Recorder(Path(sys.argv[1]), 30) as recorder:
    recorder.add(picture)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        recorder.add(picture)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "clip.mp4")],
        capture_output=True,
        text=True,
        check=True,
    )
    # 200 frames of 180 kB are 36 MB.
    assert int(done.stdout) < 12_000


def test_strange_frames_are_refused(tmp_path):
    for wrong in (np.zeros((4, 4)), np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8)):
        with (
            pytest.raises(UnsupportedError, match="uint8"),
            video.Recorder(tmp_path / "clip.mp4", 30) as recorder,
        ):
            recorder.add(wrong)
    with (
        pytest.raises(UnsupportedError, match="frames changed"),
        video.Recorder(tmp_path / "clip.mp4", 30) as recorder,
    ):
        recorder.add(frame(0))
        recorder.add(frame(1, height=40))
    assert os.listdir(tmp_path) == []


def test_an_encoder_that_fails_is_an_error_with_its_reason(tmp_path, monkeypatch):
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho no space left >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(broken))
    target = tmp_path / "videos" / "clip.mp4"
    with (
        pytest.raises(SrbError, match="code 3: no space left"),
        video.Recorder(target, 30) as recorder,
    ):
        for number in range(500):
            recorder.add(frame(number, 100, 100))
    assert os.listdir(target.parent) == []


def test_a_signal_to_the_group_does_not_end_the_encoder(tmp_path):
    script = """
import os, signal, sys
from pathlib import Path
import numpy as np
from srb_train.video import Recorder
signal.signal(signal.SIGINT, signal.SIG_IGN)
picture = np.zeros((20, 20, 3), np.uint8); picture[:10] = 200
with Recorder(Path(sys.argv[1]), 30) as recorder:
    for number in range(40):
        recorder.add(picture)
        if number == 20:
            os.killpg(0, signal.SIGINT)
"""
    path = tmp_path / "clip.mp4"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], start_new_session=True, check=False
    )
    assert done.returncode == 0
    assert len(mp4_frames(path, 20, 20)[1]) == 40


def test_without_the_extra_the_video_is_a_gif_and_one_line_says_so(
    tmp_path, without_ffmpeg, capsys
):
    path = film(tmp_path / "clip.mp4")
    said = capsys.readouterr().err
    assert path == tmp_path / "clip.gif"
    assert said.count("\n") == 1 and "srb-train[video]" in said and "clip.gif" in said
    with Image.open(path) as picture:
        assert (picture.format, picture.n_frames, picture.size) == ("GIF", 10, (48, 34))
        assert picture.info["duration"] == 50
    assert os.listdir(tmp_path) == ["clip.gif"]


def test_a_long_gif_is_thinned_out_evenly(tmp_path, without_ffmpeg):
    with video.Recorder(tmp_path / "clip.gif", 50) as recorder:
        for number in range(2 * video.GIF_FRAMES + 10):
            recorder.add(frame(number))
    with Image.open(tmp_path / "clip.gif") as picture:
        assert video.GIF_FRAMES / 2 <= picture.n_frames <= video.GIF_FRAMES
        assert picture.info["duration"] in (80, 160)


def test_the_gif_errors_are_those_of_the_mp4(tmp_path, without_ffmpeg):
    with pytest.raises(SrbError, match="of one colour"):
        film(tmp_path / "clip.mp4", kwargs={"picture": "black"})
    assert film(tmp_path / "clip.mp4", stopped=lambda: True) is None
    assert os.listdir(tmp_path) == []


def test_importing_the_module_imports_no_encoder():
    code = "import sys, json, srb_train.video; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"imageio", "imageio_ffmpeg"} & set(json.loads(done.stdout))
