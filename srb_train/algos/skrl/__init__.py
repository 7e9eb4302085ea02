"""Door plate of skrl: twelve labels over PyTorch, on CPU or CUDA."""

from functools import partial

from srb_train.algos.skrl import settings
from srb_train.contracts import Family, Label

_SEEN = ("vector", "dict")
_on_policy = partial(Label, actions=("continuous", "discrete"), observations=_SEEN, on_policy=True)
_asymmetric = partial(_on_policy, privileged=True)
_off_policy = partial(Label, actions=("continuous",), observations=_SEEN, on_policy=False)

PLATE = Family(
    name="skrl",
    title="skrl",
    machine="srb_train.algos.skrl.machine",
    requires=("torch", "skrl"),
    extra="skrl",
    packages=("torch", "skrl"),
    labels={
        "skrl_ppo": _asymmetric(title="Proximal Policy Optimization"),
        "skrl_ppo_rnn": _asymmetric(title="Recurrent PPO (GRU)", recurrent=True),
        "skrl_a2c": _asymmetric(title="Advantage Actor-Critic"),
        "skrl_rpo": _asymmetric(title="Robust Policy Optimization", actions=("continuous",)),
        "skrl_trpo": _asymmetric(title="Trust Region Policy Optimization"),
        "skrl_cem": _on_policy(title="Cross-Entropy Method", actions=("discrete",)),
        "skrl_amp": _on_policy(title="Adversarial Motion Priors", observations=("vector",)),
        "skrl_sac": _off_policy(title="Soft Actor-Critic"),
        "skrl_td3": _off_policy(title="Twin Delayed DDPG"),
        "skrl_ddpg": _off_policy(title="Deep Deterministic Policy Gradient"),
        "skrl_dqn": _off_policy(title="Deep Q-Network", actions=("discrete",)),
        "skrl_ddqn": _off_policy(title="Double DQN", actions=("discrete",)),
    },
    unions=settings.UNIONS,
    structural=settings.STRUCTURAL,
    settle=settings.settle,
    rollout=settings.rollout,
    smoke=settings.SMOKE,
    weights=(".pt",),
)
