"""Tasks of Isaac Lab: `--env isaaclab/<id>`, or `isaaclab/<module>:<id>` for those of a module."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="isaaclab",
    title="Isaac Lab",
    machine="srb_train.envs.isaaclab.machine",
    requires=("numpy", "gymnasium", "isaaclab"),
    extra="",
    prefix="isaaclab",
    simulator_options=frozenset(
        ("headless", "livestream", "rendering_mode", "xr", "enable_cameras", "kit_args")
    ),
    resumable=False,
    own_interpreter='"isaaclab[isaacsim]"',
    own_process=True,
)
