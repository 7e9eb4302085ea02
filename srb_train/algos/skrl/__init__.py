"""Door plate of skrl: twelve labels over PyTorch, on CPU or CUDA."""

from functools import partial

from srb_train.algos.skrl import settings
from srb_train.contracts import Family, Label

_SEEN = ("vector", "dict")
_on_policy = partial(Label, actions=("continuous", "discrete"), observations=_SEEN, on_policy=True)
_continuous = partial(Label, actions=("continuous",), observations=_SEEN, on_policy=False)
_discrete = partial(Label, actions=("discrete",), observations=_SEEN, on_policy=False)

PLATE = Family(
    name="skrl",
    title="skrl",
    machine="srb_train.algos.skrl.machine",
    requires=("torch", "skrl"),
    extra="skrl",
    packages=("torch", "skrl"),
    labels={
        "skrl_ppo": _on_policy(title="Proximal Policy Optimization"),
        "skrl_ppo_rnn": _on_policy(title="Recurrent PPO (GRU)", recurrent=True),
        "skrl_a2c": _on_policy(title="Advantage Actor-Critic"),
        "skrl_rpo": _on_policy(title="Robust Policy Optimization", actions=("continuous",)),
        "skrl_trpo": _on_policy(title="Trust Region Policy Optimization"),
        "skrl_cem": _on_policy(title="Cross-Entropy Method", actions=("discrete",)),
        "skrl_amp": _on_policy(title="Adversarial Motion Priors", observations=("vector",)),
        "skrl_sac": _continuous(title="Soft Actor-Critic"),
        "skrl_td3": _continuous(title="Twin Delayed DDPG"),
        "skrl_ddpg": _continuous(title="Deep Deterministic Policy Gradient"),
        "skrl_dqn": _discrete(title="Deep Q-Network"),
        "skrl_ddqn": _discrete(title="Double DQN"),
    },
    unions=settings.UNIONS,
    structural=settings.STRUCTURAL,
    settle=settings.settle,
    rollout=settings.rollout,
    smoke=settings.SMOKE,
    weights=(".pt",),
)
