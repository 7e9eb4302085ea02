"""Door plate of Stable-Baselines3 and sb3-contrib: twelve labels, on CPU or CUDA."""

from functools import partial

from srb_train.algos.sb3 import settings
from srb_train.contracts import Family, Label

_ALL = ("vector", "dict", "image")
_on_policy = partial(Label, actions=("continuous", "discrete"), observations=_ALL, on_policy=True)
_continuous = partial(Label, actions=("continuous",), observations=_ALL, on_policy=False)
_discrete = partial(Label, actions=("discrete",), observations=_ALL, on_policy=False)

PLATE = Family(
    name="sb3",
    title="Stable-Baselines3",
    machine="srb_train.algos.sb3.machine",
    requires=("torch", "stable_baselines3", "sb3_contrib"),
    packages=("torch", "stable-baselines3", "sb3-contrib"),
    extra="sb3",
    labels={
        "sb3_ppo": _on_policy(title="Proximal Policy Optimization"),
        "sb3_a2c": _on_policy(title="Advantage Actor-Critic"),
        "sb3_ppo_lstm": _on_policy(title="Recurrent PPO", recurrent=True),
        "sb3_trpo": _on_policy(title="Trust Region Policy Optimization"),
        "sb3_ars": _on_policy(title="Augmented Random Search", observations=("vector",)),
        "sb3_dqn": _discrete(title="Deep Q-Network"),
        "sb3_qrdqn": _discrete(title="Quantile Regression DQN"),
        "sb3_ddpg": _continuous(title="Deep Deterministic Policy Gradient"),
        "sb3_td3": _continuous(title="Twin Delayed DDPG"),
        "sb3_sac": _continuous(title="Soft Actor-Critic"),
        "sb3_tqc": _continuous(title="Truncated Quantile Critics"),
        "sb3_crossq": _continuous(title="CrossQ", observations=("vector",)),
    },
    unions=settings.UNIONS,
    structural=settings.STRUCTURAL,
    settle=settings.settle,
    rollout=settings.rollout,
    smoke=settings.SMOKE,
    weights=(".zip",),
)
