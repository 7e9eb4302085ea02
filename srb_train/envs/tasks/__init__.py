"""Our own tasks, which need nothing but NumPy: `--env landing`, `--env cartpole`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="tasks",
    title="embedded tasks",
    machine="srb_train.envs.tasks.machine",
    requires=("numpy", "gymnasium", "PIL"),
    extra="",
    names=(
        "landing",
        "cartpole",
        "rendezvous",
        "orbital_evasion",
        "waypoint_navigation",
        "velocity_tracking",
        "sample_collection",
    ),
)
