"""The app: launched once, before all else, and the process ends with it."""

import json
import os
import sys

TYPES = {
    "headless": bool,
    "livestream": int,
    "enable_cameras": bool,
    "xr": bool,
    "device": str,
    "experience": str,
    "rendering_mode": str,
    "kit_args": str,
}


class AppLauncher:
    launched = None

    def __init__(self, launcher_args=None, **kwargs):
        given = {**(launcher_args or {}), **kwargs}
        if AppLauncher.launched is not None:
            raise RuntimeError("the app is launched once a process")
        for name, value in given.items():
            if name not in TYPES or type(value) is not TYPES[name]:
                raise ValueError(f"invalid argument {name}={value!r}")
        if sys.argv[1:]:
            raise RuntimeError(f"the app reads the command line: {sys.argv[1:]}")
        AppLauncher.launched = given
        print(f"launched with {json.dumps(given, sort_keys=True)}", flush=True)
        self.app = App()


class App:
    def close(self):
        print("the app is closed", flush=True)
        os._exit(0)


def require_app():
    if AppLauncher.launched is None:
        raise RuntimeError("imported before the app was launched")
