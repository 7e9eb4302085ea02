"""What a family's bridge costs: microseconds that it adds to a batch step of 512 copies.

The environment below it gives the same arrays again and again, so what is measured is the bridge.
"""

import gc
from collections.abc import Callable

import numpy as np
import torch
from gymnasium import spaces

from benchmarks import clock
from srb_train.algos.rsl_rl import bridge as rsl_rl
from srb_train.algos.sb3 import bridge as sb3
from srb_train.algos.skrl import bridge as skrl
from srb_train.contracts import Step

COPIES = 512
CUT = 8
"""Rows that a limit ends in a step with endings."""
OBSERVED, MOVED = 19, 4
CPU = torch.device("cpu")


class Still:
    """N rows in which nothing happens; `ending` says whether each step cuts some of them."""

    num_envs = COPIES
    observation_space = spaces.Box(-np.inf, np.inf, (OBSERVED,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (MOVED,), np.float32)

    def __init__(self, *, ending: bool) -> None:
        """Prepare the one step that is given."""
        cut = np.arange(COPIES) < (CUT if ending else 0)
        seen = np.zeros((COPIES, OBSERVED), np.float32)
        final = seen[cut] if ending else None
        reward = np.zeros(COPIES, np.float32)
        self._step = Step(seen, reward, np.zeros(COPIES, bool), cut, final, {})
        self.last_obs = seen

    def step(self, action: np.ndarray) -> Step:
        """Give the same step again."""
        return self._step


def measure() -> dict[str, object]:
    """Return the microseconds of each bridge, in steps without and with rows that end."""
    # As in a worker, whose collector does not look at what the frameworks brought.
    gc.collect()
    gc.freeze()
    kinds = {"no row ends": False, f"{CUT} rows are cut": True}
    return {
        "copies": COPIES,
        "microseconds": {
            family: {kind: _cost(build, ending) for kind, ending in kinds.items()}
            for family, build in BRIDGES.items()
        },
    }


def _cost(build: Callable[[Still], Callable[[], object]], ending: bool) -> float:
    step = build(Still(ending=ending))
    return 1e6 / clock.rate(step, 1)


def _sb3(env: Still) -> Callable[[], object]:
    rows = sb3.Bridge(env)
    actions = np.zeros((COPIES, MOVED), np.float32)
    return lambda: (rows.step_async(actions), rows.step_wait())


def _skrl(env: Still) -> Callable[[], object]:
    rows = skrl.Rows(env, "skrl_ppo", CPU)
    actions = torch.zeros(COPIES, MOVED)
    return lambda: rows.step(actions)


def _rsl_rl(env: Still) -> Callable[[], object]:
    rows = rsl_rl.Bridge(env, rsl_rl.groups_of(env.observation_space), CPU)
    actions = torch.zeros(COPIES, MOVED)
    return lambda: rows.step(actions)


BRIDGES = {"sb3 and sbx": _sb3, "skrl": _skrl, "rsl_rl": _rsl_rl}
