"""Tasks of Brax, stepped by JAX: `--env brax/<name>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="brax",
    title="Brax",
    machine="srb_train.envs.brax.machine",
    requires=("numpy", "gymnasium", "jax", "brax"),
    extra="brax",
    prefix="brax",
)
