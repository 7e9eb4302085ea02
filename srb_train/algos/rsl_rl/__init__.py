"""Door plate of rsl_rl: PPO with and without memory, and distillation, on CPU or CUDA."""

from functools import partial

from srb_train.algos.rsl_rl import settings
from srb_train.contracts import Family, Label

_ALL = ("vector", "dict", "image")
_label = partial(Label, actions=("continuous",), on_policy=True)

PLATE = Family(
    name="rsl_rl",
    title="rsl_rl",
    machine="srb_train.algos.rsl_rl.machine",
    requires=("torch", "rsl_rl"),
    packages=("torch", "rsl-rl-lib", "tensordict"),
    extra="rsl-rl",
    labels={
        "rsl_rl_ppo": _label(
            title="Proximal Policy Optimization", observations=_ALL, privileged=True
        ),
        "rsl_rl_ppo_rnn": _label(
            title="Recurrent PPO",
            observations=("vector", "dict"),
            recurrent=True,
            privileged=True,
        ),
        "rsl_rl_distillation": _label(title="Distillation of a teacher", observations=_ALL),
    },
    unions=settings.UNIONS,
    structural=settings.STRUCTURAL,
    settle=settings.settle,
    rollout=settings.rollout,
    smoke=settings.SMOKE,
    weights=(".pt",),
)
