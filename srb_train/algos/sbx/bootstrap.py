"""What a time limit cuts off is still worth something: its value joins the last reward.

SBX asks its value function once for every such row, each time for a batch of one; here all rows
of a step are asked at once, in a batch of N like the one that ends a rollout.
"""

from collections.abc import Callable

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from srb_train.contracts import Array

CUT = "TimeLimit.truncated"


class Bootstrap(VecEnvWrapper):
    """Adds the discounted value of the last state to the reward of rows that a limit has cut."""

    def __init__(self, venv: VecEnv, gamma: float) -> None:
        """Wrap what the policy sees; `value` is set once there is a value function."""
        super().__init__(venv)
        self._gamma = gamma
        self.value: Callable[[Array], Array] = _worthless

    def reset(self) -> Array:
        """Return what the rows see now."""
        return self.venv.reset()

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, object]]]:
        """Step all rows; SBX is not told which ones were cut, their rewards hold it already."""
        obs, reward, done, infos = self.venv.step_wait()
        rows = [row for row in np.flatnonzero(done) if infos[row][CUT]]
        if rows:
            seen = obs.copy()
            for row in rows:
                seen[row] = infos[row]["terminal_observation"]
                infos[row][CUT] = False
            reward[rows] += self._gamma * self.value(seen)[rows]
        return obs, reward, done, infos


def _worthless(obs: Array) -> Array:
    return np.zeros(len(obs))
