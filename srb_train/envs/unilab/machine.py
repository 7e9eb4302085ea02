"""Compose a task of UniLab as its own scripts do, and make N copies of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from unilab.assets import ASSETS_ROOT_PATH
from unilab.assets.hub import ROBOT_ASSET_SPECS
from unilab.base import registry
from unilab.base.config_adapter import EnvConfigAdapter

from srb_train import spelling
from srb_train.contracts import BatchedEnv
from srb_train.envs.tensor_rows import TensorRows, lay
from srb_train.envs.unilab.stepping import Stepping
from srb_train.errors import UsageError

HOME = Path(ASSETS_ROOT_PATH).parent
"""UniLab's package, which its settings take for `src/unilab` of a checkout."""
SETTINGS = HOME / "conf" / "ppo"
"""Any of its trees will do: what differs between them is for its own learners."""
_CHECKOUT = "src/unilab/"


def make(name: str, num_envs: int, params: Mapping[str, Any]) -> BatchedEnv:
    """Build `name`, a task such as `go2_joystick_flat`.

    Params: `sim` (the physics, "mujoco"), `device` of the tensors, `groups` of the observation,
    `action_limit` where actions have no bounds, `cfg` (settings of the task by their paths).
    """
    _check(name, params["sim"])
    with initialize_config_dir(str(SETTINGS), version_base="1.3"):
        cfg = compose("config", [f"task={name}/{params['sim']}"])
    settings = _placed(EnvConfigAdapter(cfg, root_dir=HOME).build_task_env_cfg_override())
    # What is drawn once, when the scene is built, is drawn from here on.
    settings |= {"seed": 0, "collector_tensor_device": params["device"]}
    lay(settings, params.get("cfg") or {})
    _check_meshes(name, settings["scene"]["model_file"])
    env = registry.make(
        str(cfg.training.task_name),
        sim_backend=str(cfg.training.sim_backend),
        env_cfg_override=settings,
        num_envs=num_envs,
    )
    rows = Stepping(env)
    return TensorRows(rows, params["groups"], params["action_limit"], last=rows.last)


def _check(name: str, sim: str) -> None:
    tasks = sorted(path.name for path in (SETTINGS / "task").iterdir() if path.is_dir())
    if name not in tasks:
        raise UsageError(
            f"unilab/{name}: no such task{spelling.nearest(name, tasks)}; there are "
            f"{', '.join(tasks)}"
        )
    sims = sorted({path.stem for path in (SETTINGS / "task" / name).glob("*.yaml")} - {"base"})
    if sim not in sims:
        raise UsageError(f"env.sim={sim!r}: unilab/{name} runs on {', '.join(sims)}")


def _placed(value: Any) -> Any:
    """Return settings whose paths into a checkout lead into the package that is installed."""
    if isinstance(value, Mapping):
        return {key: _placed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_placed(part) for part in value]
    if isinstance(value, str) and value.startswith(_CHECKOUT):
        return str(HOME / value.removeprefix(_CHECKOUT))
    return value


def _check_meshes(name: str, model_file: str) -> None:
    """Refuse to begin a download that nobody has asked for."""
    robot = Path(model_file).parent.name
    for folder, marker, *_ in ROBOT_ASSET_SPECS.get(robot, ()):
        place = HOME / "assets" / folder / marker
        if not place.is_file():
            raise UsageError(
                f"unilab/{name}: {place} is not there; `unilab-pull-assets --robot {robot}` of "
                "its interpreter downloads the meshes"
            )
