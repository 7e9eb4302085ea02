"""What the rooms of outside simulators promise before any of them is installed."""

import dataclasses
import subprocess
import sys

import pytest

from srb_train import config, registry
from srb_train.errors import MissingDependency

SIMULATORS = ("brax", "dm_control", "envpool", "minari", "playground")


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_task_is_found_by_its_prefix_and_its_preset_composes(name):
    backend, task = registry.backend_of(f"{name}/some-task")
    assert (backend.name, task) == (name, "some-task")
    chosen = config.Selected.of(f"{name}/some-task", backend.prefix)
    typed = ["env.num_envs=3", f"env.python={sys.executable}"]
    composed = config.compose_env(chosen, typed, config_dir=None)
    assert (composed.env["id"], composed.env["num_envs"]) == ("some-task", 3)


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_missing_simulator_comes_with_its_pip_line(name):
    plate = dataclasses.replace(registry.backends()[name], requires=("no_such_simulator",))
    with pytest.raises(MissingDependency, match=rf'pip install "srb-train\[{plate.extra}\]"'):
        registry.require(plate)


def test_plates_import_no_simulator():
    code = "import sys\nfrom srb_train import registry\nregistry.backends()\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    heavy = {"numpy", "jax", "mujoco", "brax", "dm_control", "envpool", "minari"}
    assert loaded & {*heavy, "mujoco_playground"} == set()
