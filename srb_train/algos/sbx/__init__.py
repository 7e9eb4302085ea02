"""Door plate of Stable Baselines Jax: nine labels on the bridge of Stable-Baselines3."""

from functools import partial

from srb_train.algos.sbx import settings
from srb_train.contracts import Family, Label

_BOTH = ("continuous", "discrete")
_pixels = partial(Label, observations=("vector", "image"))
_continuous = partial(Label, actions=("continuous",), on_policy=False)
_dicts = partial(_continuous, observations=("vector", "dict"))

PLATE = Family(
    name="sbx",
    title="Stable Baselines Jax",
    machine="srb_train.algos.sbx.machine",
    requires=("torch", "stable_baselines3", "sb3_contrib", "jax", "sbx"),
    extra="sbx",
    packages=("jax", "flax", "optax", "sbx-rl", "stable-baselines3"),
    labels={
        "sbx_ppo": _pixels(title="Proximal Policy Optimization", actions=_BOTH, on_policy=True),
        "sbx_dqn": _pixels(title="Deep Q-Network", actions=("discrete",), on_policy=False),
        "sbx_ddpg": _continuous(title="Deep Deterministic Policy Gradient"),
        "sbx_td3": _dicts(title="Twin Delayed DDPG"),
        "sbx_sac": _dicts(title="Soft Actor-Critic"),
        "sbx_tqc": _dicts(title="Truncated Quantile Critics"),
        "sbx_droq": _dicts(title="DroQ, SAC with dropout"),
        "sbx_crossq": _dicts(title="CrossQ"),
        "sbx_simba": _dicts(title="SimBa, SAC with residual networks"),
    },
    unions=settings.UNIONS,
    structural=settings.STRUCTURAL,
    settle=settings.settle,
    rollout=settings.rollout,
    smoke=settings.SMOKE,
)
