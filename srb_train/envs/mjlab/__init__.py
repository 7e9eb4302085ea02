"""Tasks of mjlab, which are MuJoCo Warp behind Isaac Lab's interface: `--env mjlab/<id>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="mjlab",
    title="mjlab",
    machine="srb_train.envs.mjlab.machine",
    requires=("numpy", "gymnasium", "mjlab"),
    extra="",
    prefix="mjlab",
    resumable=False,
    own_interpreter="mjlab gymnasium",
)
