"""What Isaac Sim's app is launched with."""

from collections.abc import Mapping
from typing import Any

from srb_train.envs.isaaclab import PLATE

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def arguments(params: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the app's arguments: the options that were given, headless where nothing can show.

    `params` holds the simulator options by their names, and the `device` of the simulator.
    """
    given = {key: params[key] for key in sorted(PLATE.simulator_options) if key in params}
    shown = any(environ.get(name) for name in DISPLAYS)
    return {"device": params["device"], "headless": not shown, **given}
