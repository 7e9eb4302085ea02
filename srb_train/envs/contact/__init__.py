"""Our own tasks whose physics are contacts, computed by MuJoCo: `--env peg_in_hole`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="contact",
    title="contact tasks (MuJoCo)",
    machine="srb_train.envs.contact.machine",
    requires=("numpy", "gymnasium", "mujoco", "PIL"),
    extra="mujoco",
    names=("peg_in_hole", "locomotion"),
)
