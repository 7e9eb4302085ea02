"""Tasks of the DeepMind Control Suite: `--env dm_control/<domain>-<task>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="dm_control",
    title="DeepMind Control Suite",
    machine="srb_train.envs.dm_control.machine",
    requires=("numpy", "gymnasium", "dm_control"),
    extra="dm-control",
    prefix="dm_control",
)
