"""Tasks of EnvPool, whose rows run in threads of C++: `--env envpool/<id>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="envpool",
    title="EnvPool",
    machine="srb_train.envs.envpool.machine",
    requires=("numpy", "gymnasium", "envpool"),
    extra="envpool",
    prefix="envpool",
    resumable=False,
)
