"""The tasks that come with it: importing this registers them."""

import gymnasium
from isaaclab.app import require_app

require_app()

gymnasium.register(
    id="Isaac-Stand-Cart-v0",
    entry_point="isaaclab.envs:CartEnv",
    disable_env_checker=True,
    kwargs={"env_cfg_entry_point": "isaaclab.envs:CartCfg"},
)
