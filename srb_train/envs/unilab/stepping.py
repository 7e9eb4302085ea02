"""UniLab's environments, whose steps return one state, in the words of Isaac Lab's interface."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from srb_train.envs.tensor_rows import Ends, Groups, picked


class Stepping:
    """What `TensorRows` asks of an environment, asked of one of UniLab's."""

    def __init__(self, env: Any) -> None:
        """Take over an environment and bring it to its first state."""
        self._env = env
        # The first reset of all would begin without the seed that it is given.
        env.init_state()
        groups = env.obs_groups_spec.items()
        boxes: dict[str, spaces.Space] = {
            name: spaces.Box(-np.inf, np.inf, (size,), np.float32) for name, size in groups
        }
        self.single_observation_space = spaces.Dict(boxes)
        self.single_action_space = env.action_space
        self.num_envs: int = env.num_envs
        self.device = str(env.device)
        self.max_episode_length: int = env.max_episode_length
        self.step_dt: float = env.step_dt

    @property
    def unwrapped(self) -> "Stepping":
        """Return what knows the spaces."""
        return self

    def reset(self, *, seed: int) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """Start all rows anew from a seed."""
        observation, _ = self._env.reset(seed=seed)
        return observation, {}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance all rows; ended ones are restarted within the step."""
        state = self._env.step(action)
        return state.obs, state.reward, state.terminated, state.truncated, {}

    def last(self, groups: Groups, ends: Ends) -> Any:
        """Return what ended rows saw last, which UniLab keeps for one step."""
        return picked(groups.read(self._env.state.final_observation), ends.rows)

    def render(self) -> None:
        """Draw nothing: UniLab plays back whole episodes, in programs of its own."""
        return

    def close(self) -> None:
        """Close the environment."""
        self._env.close()
