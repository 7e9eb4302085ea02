"""Any installed Gymnasium environment: `--env gymnasium/<id>` or `gymnasium/<module>:<id>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="gymnasium",
    title="Gymnasium",
    machine="srb_train.envs.gymnasium.machine",
    requires=("gymnasium",),
    extra="classic",
    prefix="gymnasium",
)
