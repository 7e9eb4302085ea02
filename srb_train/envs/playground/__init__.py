"""Tasks of MuJoCo Playground, stepped by JAX: `--env playground/<name>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="playground",
    title="MuJoCo Playground",
    machine="srb_train.envs.playground.machine",
    requires=("numpy", "gymnasium", "jax", "mujoco_playground"),
    extra="playground",
    prefix="playground",
)
