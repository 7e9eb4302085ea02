"""Plate of a family that lives outside the product: one folder."""

from srb_train.contracts import Family, Label


def settle(label, agent, num_envs):
    """Take the settings as they are."""
    return dict(agent)


def rollout(label, agent, num_envs):
    """Return the transitions of one trial."""
    return agent["horizon"] * num_envs


PLATE = Family(
    name="guest_room",
    title="Hill climbing from elsewhere",
    machine="guest_room.machine",
    requires=("numpy",),
    extra="",
    labels={
        "guest_climb": Label(title="Hill climbing", actions=("continuous",), on_policy=True),
    },
    settle=settle,
    rollout=rollout,
    smoke={"horizon": 10},
    devices=("cpu",),
)
