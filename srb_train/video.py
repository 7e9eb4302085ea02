"""Videos of a policy at work: frames go to an encoder as they are drawn, the file appears whole.

MP4 needs the extra `video` (an ffmpeg inside a Python package); without it, or where the name ends
in .gif, the result is a GIF.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from PIL import Image

from srb_train.contracts import BatchedEnv, Policy
from srb_train.errors import SrbError, UnsupportedError
from srb_train.runs import files

GIF = ".gif"
ENDLESS_CLIP = 1_000
"""Frames of a clip of a task that has no time limit."""
GIF_FRAMES = 300
"""Frames that a GIF may hold; a longer clip keeps every second one, then every fourth, …"""
ENDING_SECONDS = 1.5
_VISIBLE = 8
_ENCODER_SECONDS = 60.0


class Encoder(Protocol):
    """Takes equal frames (height, width, 3) and makes a file of them."""

    def add(self, frame: np.ndarray) -> None:
        """Encode one more frame."""

    def finish(self) -> None:
        """Complete the file."""

    def abandon(self) -> None:
        """Stop at once; the file may be left incomplete."""


def record(
    policy: Policy,
    env: BatchedEnv,
    path: Path,
    *,
    seed: int,
    max_steps: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Path | None:
    """Film row 0 until its episode ends or for `max_steps`; returns the file that was written.

    None when `stopped` said so, which is asked for every frame; nothing is left behind then. A
    task without a picture is an `UnsupportedError`. Without the extra `video` the file ends in
    .gif, whatever `path` says.
    """
    steps = max_steps or env.max_episode_steps or ENDLESS_CLIP
    obs = env.reset(seed)
    policy.reset(np.ones(env.num_envs, dtype=bool))
    with Recorder(path, env.render_fps) as recorder:
        for _ in range(steps):
            if stopped():
                recorder.discard()
                return None
            recorder.capture(env)
            result = env.step(policy.act(obs))
            obs = result.obs
            # Row 0 already stands in its next episode, which is not part of this clip.
            if result.terminated[0] or result.truncated[0]:
                if env.draws_endings:
                    _hold(recorder, env)
                break
    return recorder.path


def _hold(recorder: "Recorder", env: BatchedEnv) -> None:
    """Let the picture of how the episode ended stand for a while."""
    picture = env.render()
    if picture is None:
        return
    for _ in range(max(1, round(ENDING_SECONDS * env.render_fps))):
        recorder.add(picture)


class Recorder:
    """A video being written; leaving its `with` block publishes the file, an error removes it."""

    def __init__(self, path: Path, fps: int) -> None:
        """Prepare to write `path`, .mp4 or .gif; a GIF for want of ffmpeg is said in one line."""
        wanted = path.suffix != GIF
        self._ffmpeg = _ffmpeg() if wanted else None
        self.path = path.with_suffix(".mp4" if self._ffmpeg else GIF)
        self.frames = 0
        self._fps = fps
        self._hidden = self.path.parent / f"{files.TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}"
        self._encoder: Encoder | None = None
        self._shape: tuple[int, ...] = ()
        self._seen = False
        self._discarded = False
        if wanted and self._ffmpeg is None:
            print(
                f"no ffmpeg for MP4 (pip install 'srb-train[video]'): writing {self.path.name}",
                file=sys.stderr,
                flush=True,
            )

    def __enter__(self) -> Self:
        """Enter the block after which the file stands."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Publish the file, or remove what was written if the block failed."""
        try:
            if kind is None and not self._discarded:
                self._publish()
        finally:
            self.discard()

    def capture(self, env: BatchedEnv, row: int = 0) -> None:
        """Draw one row of an environment and add the picture."""
        frame = env.render(row)
        if frame is None:
            raise UnsupportedError(
                "this task has no picture (an environment must be able to render rgb_array), "
                "so there can be no video of it"
            )
        self.add(frame)

    def add(self, frame: np.ndarray) -> None:
        """Add a picture, uint8 (height, width, 3), of the size of the first one."""
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise UnsupportedError(
                f"a frame is {frame.dtype} {frame.shape}; a video needs uint8 (height, width, 3)"
            )
        frame = _even(frame)
        if self._encoder is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._shape = frame.shape
            self._encoder = self._open(frame)
        if frame.shape != self._shape:
            raise UnsupportedError(f"frames changed from {self._shape} to {frame.shape}")
        self._seen = self._seen or _shows_something(frame)
        self._encoder.add(frame)
        self.frames += 1

    def discard(self) -> None:
        """Stop the encoder and remove what was written; a published file stays."""
        self._discarded = True
        if self._encoder is not None:
            self._encoder.abandon()
            self._encoder = None
        self._hidden.unlink(missing_ok=True)

    def _open(self, frame: np.ndarray) -> Encoder:
        if self._ffmpeg is not None:
            return _Mp4(self._ffmpeg, self._hidden, frame.shape, self._fps)
        return _Gif(self._hidden, self._fps)

    def _publish(self) -> None:
        if self._encoder is None:
            raise SrbError(f"{self.path}: not one frame was drawn, so there is no video")
        if not self._seen:
            raise SrbError(
                f"{self.path}: all {self.frames} frames are of one colour, so there is no video; "
                "is there a renderer that works without a display (MUJOCO_GL=egl)?"
            )
        self._encoder.finish()
        self._encoder = None
        if not self._hidden.exists() or self._hidden.stat().st_size == 0:
            raise SrbError(f"{self.path}: the encoder wrote nothing")
        self._hidden.replace(self.path)
        files.sync_folder(self.path.parent)


class _Mp4:
    """H.264 by an ffmpeg process that is fed through a pipe."""

    def __init__(self, ffmpeg: str, path: Path, shape: tuple[int, ...], fps: int) -> None:
        height, width = shape[:2]
        source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps} -i -"
        target = "-an -c:v libx264 -pix_fmt yuv420p -threads 1 -movflags +faststart -f mp4"
        self._process = subprocess.Popen(
            [ffmpeg, "-y", "-loglevel", "error", *source.split(), *target.split(), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A Ctrl-C is for the caller, who decides whether the clip is completed.
            start_new_session=True,
        )

    def add(self, frame: np.ndarray) -> None:
        """Write the pixels into the pipe."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(frame.tobytes())
        except OSError as error:
            raise self._failure() from error

    def finish(self) -> None:
        """Close the pipe and wait for the file."""
        failure = self._failure()
        if self._process.returncode != 0:
            raise failure

    def abandon(self) -> None:
        """Kill ffmpeg if it still runs."""
        self._process.kill()
        self._process.communicate()

    def _failure(self) -> SrbError:
        """Wait for the end and return what was wrong, if it was."""
        try:
            _, said = self._process.communicate(timeout=_ENCODER_SECONDS)
        except subprocess.TimeoutExpired:
            return SrbError(f"ffmpeg did not finish in {_ENCODER_SECONDS:.0f} s")
        reason = said.decode("utf-8", "replace").strip()[:500] or "it gave no reason"
        return SrbError(f"ffmpeg failed with code {self._process.returncode}: {reason}")


class _Gif:
    """An animation by Pillow, which wants all frames at once; they are kept with 256 colours."""

    def __init__(self, path: Path, fps: int) -> None:
        self._path = path
        self._milliseconds = 1000 / fps
        self._kept: list[Image.Image] = []
        self._stride = 1
        self._count = 0

    def add(self, frame: np.ndarray) -> None:
        """Keep the frame if it is its turn, and thin out when there are too many."""
        if self._count % self._stride == 0:
            self._kept.append(Image.fromarray(frame).quantize())
        self._count += 1
        if len(self._kept) > GIF_FRAMES:
            self._kept = self._kept[::2]
            self._stride *= 2

    def finish(self) -> None:
        """Write the file."""
        first, *rest = self._kept
        # Viewers slow everything below 20 ms down to 100 ms.
        duration = max(20, round(self._milliseconds * self._stride))
        with self._path.open("wb") as file:
            first.save(file, "GIF", save_all=True, append_images=rest, duration=duration, loop=0)

    def abandon(self) -> None:
        """Forget the frames."""
        self._kept.clear()


def _ffmpeg() -> str | None:
    """Return the path of ffmpeg, None without the extra; only the extra knows where it lies."""
    if find_spec("imageio_ffmpeg") is None:
        return None
    try:
        found: str = resolve_name("imageio_ffmpeg:get_ffmpeg_exe")()
    except RuntimeError:
        # The package is there, but for a machine it brings no ffmpeg for.
        return None
    return found


def _even(frame: np.ndarray) -> np.ndarray:
    """Repeat the last line or column of an odd picture: H.264 has half as many colours."""
    odd_height, odd_width = frame.shape[0] % 2, frame.shape[1] % 2
    if not odd_height and not odd_width:
        return frame
    return np.pad(frame, ((0, odd_height), (0, odd_width), (0, 0)), mode="edge")


def _shows_something(frame: np.ndarray) -> bool:
    """Tell a picture from a plain surface, within the noise of a renderer."""
    return int(np.ptp(frame, axis=(0, 1)).max()) > _VISIBLE
