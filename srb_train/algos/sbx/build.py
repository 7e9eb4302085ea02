"""A label and its settings become an SBX model; what SBX would refuse is told in our words."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import flax.linen
import jax
import numpy as np
import sbx
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import VecEnv

from srb_train.algos.sb3 import bridge, build
from srb_train.algos.sbx import PLATE
from srb_train.algos.sbx.bootstrap import Bootstrap
from srb_train.contracts import Array, BatchedEnv
from srb_train.errors import UnsupportedError

ALGORITHMS: Mapping[str, type[BaseAlgorithm]] = {
    "sbx_ppo": sbx.PPO,
    "sbx_dqn": sbx.DQN,
    "sbx_ddpg": sbx.DDPG,
    "sbx_td3": sbx.TD3,
    "sbx_sac": sbx.SAC,
    "sbx_tqc": sbx.TQC,
    "sbx_droq": sbx.SAC,
    "sbx_crossq": sbx.CrossQ,
    "sbx_simba": sbx.SAC,
}
CONVOLUTIONS = "CnnPolicy"

_STATIC = ("cls", "gradient_steps", "policy_delay", "n_target_quantiles")


def wrap(
    label: str, env: BatchedEnv, agent: Mapping[str, Any], say: Callable[[str], None]
) -> VecEnv:
    """Return the environment as SBX trains on it."""
    venv = bridge.wrap(env, agent, say)
    return Bootstrap(venv, agent["gamma"]) if PLATE.labels[label].on_policy else venv


def model(label: str, agent: Mapping[str, Any], venv: VecEnv, *, seed: int | None) -> BaseAlgorithm:
    """Build a fresh model; `seed` None takes one from NumPy's generator."""
    build.check_actions(label, venv.action_space, PLATE)
    words = build.arguments(agent, venv.action_space)
    words["policy_kwargs"] = _policy_kwargs(agent["policy_kwargs"])
    words["policy"] = _policy(label, agent["policy"], venv.observation_space)
    _check_shapes(label, venv)
    built = build.construct(label, ALGORITHMS[label], env=venv, seed=seed, **words)
    if hasattr(built, "policy_delay"):
        _compile_once(built)
    if isinstance(venv, Bootstrap):
        venv.value = partial(_value, built)
    return built


def _compile_once(model: BaseAlgorithm) -> None:
    """Have one program update the policy in every phase of its delay, not one for each phase."""
    update = type(model)._train.__func__.__wrapped__
    names = update.__code__.co_varnames[: update.__code__.co_argcount]
    jitted = jax.jit(update, static_argnames=[name for name in _STATIC if name in names])
    model._train = partial(jitted, type(model))


def _value(model: BaseAlgorithm, obs: Array) -> Array:
    """Return the values (N,) of observations as the policy sees them."""
    seen, _ = model.policy.prepare_obs(obs)
    return np.asarray(model.vf.apply(model.policy.vf_state.params, seen)).ravel()


def _check_shapes(label: str, venv: VecEnv) -> None:
    """Refuse observations and actions that SBX would fail on later, in words of its own."""
    seen, actions = venv.observation_space, venv.action_space
    if isinstance(seen, spaces.Dict):
        odd = [
            key
            for key, space in seen.items()
            if is_image_space(space) or len(space.shape or ()) != 1
        ]
        if odd:
            raise UnsupportedError(
                f"SBX lays the parts of a dict observation side by side, so they must be vectors; "
                f"{', '.join(odd)} of this task are none"
            )
    if label == "sbx_ppo" and isinstance(actions, spaces.Box) and len(actions.shape) != 1:
        raise UnsupportedError(
            f"sbx_ppo takes actions that are one vector, this task has {actions}"
        )


def _policy(label: str, name: str, space: spaces.Space) -> str:
    """Resolve `auto`; images need convolutions, since no other network of SBX scales them."""
    known = list(ALGORITHMS[label].policy_aliases)
    name = build.policy(label, name, f"{build.network(space)}Policy", known)
    if is_image_space(space) and name != CONVOLUTIONS:
        smallest = build.SMALLEST_IMAGE
        raise UnsupportedError(
            f"{label} with {name} takes no images; {CONVOLUTIONS} takes such from "
            f"{smallest} x {smallest} pixels on, this task shows {space.shape}"
        )
    return name


def _policy_kwargs(given: Mapping[str, Any]) -> dict[str, Any]:
    kwargs = deepcopy(dict(given))
    activation = kwargs.pop("activation_fn")
    if activation is not None:
        kwargs["activation_fn"] = getattr(flax.linen, activation)
    return kwargs
