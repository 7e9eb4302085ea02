"""Tasks of UniLab: `--env unilab/<task>`."""

from srb_train.contracts import Backend

PLATE = Backend(
    name="unilab",
    title="UniLab",
    machine="srb_train.envs.unilab.machine",
    requires=("numpy", "gymnasium", "unilab"),
    extra="",
    prefix="unilab",
    resumable=False,
    own_interpreter='"unilab[mujoco]"',
)
