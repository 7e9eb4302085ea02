"""The toy family: the cross-entropy method in NumPy alone, small enough to test the house with."""

from srb_train.algos.toy.settings import rollout, settle
from srb_train.contracts import Family, Label

PLATE = Family(
    name="toy",
    title="NumPy cross-entropy method",
    machine="srb_train.algos.toy.machine",
    requires=(),
    extra="",
    labels={
        "toy_cem": Label(
            title="Cross-entropy method over linear policies",
            actions=("continuous", "discrete"),
            on_policy=True,
        ),
    },
    unions={"elites": ("int",)},
    smoke={"horizon": 20},
    settle=settle,
    rollout=rollout,
    devices=("cpu",),
)
