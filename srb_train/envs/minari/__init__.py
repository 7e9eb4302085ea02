"""The environment that a Minari dataset was recorded in: `--env minari/<dataset>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="minari",
    title="Minari",
    machine="srb_train.envs.minari.machine",
    requires=("numpy", "gymnasium", "minari"),
    extra="minari",
    prefix="minari",
)
