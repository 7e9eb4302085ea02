"""Who may see what: the privileged part of observations is for a critic that trains.

An actor must do without it, as it will have to in the world; so does everybody whose label cannot
show it to the critic alone.
"""

from collections.abc import Callable, Mapping

from gymnasium import spaces

from srb_train import registry
from srb_train.contracts import PRIVILEGED, Array, BatchedEnv, Step
from srb_train.errors import UnsupportedError


class Sighted:
    """A `BatchedEnv` around another one, without the privileged part of its observations."""

    def __init__(self, env: BatchedEnv) -> None:
        """Wrap an environment whose observations are a Dict with such a part."""
        parts = {key: part for key, part in env.observation_space.items() if key != PRIVILEGED}
        if not parts:
            raise UnsupportedError(
                f"all that this task shows is {PRIVILEGED!r}, which no actor may see: "
                "add what the actor is to act on"
            )
        self._env = env
        self.num_envs = env.num_envs
        self.observation_space = spaces.Dict(parts)
        self.action_space = env.action_space
        self.array = env.array
        self.device = env.device
        self.max_episode_steps = env.max_episode_steps
        self.render_fps = env.render_fps
        self.draws_endings = env.draws_endings

    def reset(self, seed: int) -> Array:
        """Start all rows anew."""
        return _without(self._env.reset(seed))

    def step(self, action: Array) -> Step:
        """Step all rows."""
        step = self._env.step(action)
        final = None if step.final_obs is None else _without(step.final_obs)
        return step._replace(obs=_without(step.obs), final_obs=final)

    def state_dict(self) -> dict[str, Array] | None:
        """Return the state of the wrapped environment."""
        return self._env.state_dict()

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Put the wrapped environment back."""
        self._env.load_state_dict(state)

    def render(self, row: int = 0) -> Array | None:
        """Draw one row of the wrapped environment."""
        return self._env.render(row)

    def close(self) -> None:
        """Close the wrapped environment."""
        self._env.close()


def for_training(env: BatchedEnv, algo: str, say: Callable[[str], None]) -> BatchedEnv:
    """Return what a label trains on: all of a task, or all but what it has no critic for."""
    if not _has_privileged(env):
        return env
    family, label, name = registry.family_of(algo)
    blinded = Sighted(env)
    if label.privileged:
        say(f"observations: {PRIVILEGED} is for the critic of {name} alone, not for its actor")
        return env
    others = [other for other, facts in family.labels.items() if facts.privileged]
    hint = f"; {', '.join(others)} can" if others else ""
    say(f"observations: {PRIVILEGED} is left out, {name} cannot show it to a critic alone{hint}")
    return blinded


def for_acting(env: BatchedEnv) -> BatchedEnv:
    """Return what a trained policy acts on: nothing privileged, whoever has trained it."""
    return Sighted(env) if _has_privileged(env) else env


def _has_privileged(env: BatchedEnv) -> bool:
    space = env.observation_space
    return isinstance(space, spaces.Dict) and PRIVILEGED in space.spaces


def _without(obs: Mapping[str, Array]) -> Array:
    return {key: part for key, part in obs.items() if key != PRIVILEGED}
