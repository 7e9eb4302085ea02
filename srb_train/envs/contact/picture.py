"""Pictures of one row of a model, drawn by MuJoCo, with or without a display."""

import os
from pkgutil import resolve_name
from typing import Any

import mujoco
import numpy as np

from srb_train.envs.contact.physics import FULL
from srb_train.errors import UnsupportedError

CAMERA = "view"
HEIGHT, WIDTH = 360, 480


class Painter:
    """An OpenGL context off the screen, and a scene of one model seen by its camera `view`."""

    def __init__(self, model: Any, controls: int) -> None:
        """Open a context; raise `UnsupportedError` where nothing can be drawn."""
        self._model, self._controls = model, controls
        self._data = mujoco.MjData(model)
        self._scene = mujoco.MjvScene(model, maxgeom=2000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = model.camera(CAMERA).id
        self._window, self._context = _opened(model)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)

    def draw(self, state: np.ndarray, control: np.ndarray) -> np.ndarray:
        """Return uint8 (HEIGHT, WIDTH, 3) of a row's state (S,) and control (C,)."""
        mujoco.mj_setState(self._model, self._data, state, FULL)
        mujoco.mj_setState(self._model, self._data, control, self._controls)
        mujoco.mj_forward(self._model, self._data)
        mujoco.mjv_updateScene(
            self._model,
            self._data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        self._window.make_current()
        frame = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
        area = mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(frame, None, area, self._context)
        return frame[::-1].copy()

    def close(self) -> None:
        """Give back the context."""
        self._window.make_current()
        self._context.free()
        self._window.free()


def _opened(model: Any) -> tuple[Any, Any]:
    """Open what MUJOCO_GL names; where it names nothing and there is no display, EGL.

    Returns the window of OpenGL, and MuJoCo's context in it.
    """
    named = os.environ.get("MUJOCO_GL", "")
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    kind = "mujoco.gl_context" if named or screen else "mujoco.egl"
    try:
        window = resolve_name(f"{kind}:GLContext")(WIDTH, HEIGHT)
        window.make_current()
        return window, mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    # OpenGL's bindings say in five ways that there is nothing to draw with.
    except (ImportError, AttributeError, RuntimeError, OSError, mujoco.FatalError) as error:
        raise UnsupportedError(
            f"no picture: {kind} cannot draw here ({error}); install Mesa's EGL (apt: libegl1) and "
            "set MUJOCO_GL=egl, or go on without pictures"
        ) from error
