"""The parts of rsl_rl that are used, imported without the trackers that it would bring along.

rsl_rl imports wandb and neptune wherever these are installed: seconds at every start, of packages
that write where nobody asked them to. While it is imported here they look absent. Its runners and
its logger stay out altogether: these need a git executable, print, and put the uncommitted changes
of the user's repository into a log.
"""

import sys
from typing import Any, cast

_TRACKERS = ("wandb", "neptune")


def _hide() -> list[str]:
    """Make the trackers that nobody has imported look absent; returns their names."""
    hidden = [name for name in _TRACKERS if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = cast(Any, None)
    return hidden


def _show(hidden: list[str]) -> list[str]:
    """Let what `_hide` hid be imported again; returns the names."""
    return [name for name in hidden if sys.modules.pop(name, None) is None]


# An import statement can be prepared at module level only.
_HIDDEN = _hide()

from rsl_rl.algorithms import PPO, Distillation  # noqa: E402
from rsl_rl.models import CNNModel, MLPModel, RNNModel  # noqa: E402
from rsl_rl.modules import (  # noqa: E402
    BetaDistribution,
    GaussianDistribution,
    HeteroscedasticGaussianDistribution,
)

_SHOWN = _show(_HIDDEN)

Algorithm = PPO | Distillation

__all__ = [
    "PPO",
    "Algorithm",
    "BetaDistribution",
    "CNNModel",
    "Distillation",
    "GaussianDistribution",
    "HeteroscedasticGaussianDistribution",
    "MLPModel",
    "RNNModel",
]
