"""People's own tasks, named by where they are: `--env my_tasks.hover:make`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="own",
    title="your own tasks, as module:object",
    machine="srb_train.envs.own.machine",
    requires=("numpy", "gymnasium"),
    extra="",
    prefix="own",
)
