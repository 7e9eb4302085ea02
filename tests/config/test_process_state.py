"""One composition leaves nothing behind, and the light half imports nothing heavy."""

import subprocess
import sys
import threading

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.version import VersionBase
from omegaconf import OmegaConf

from srb_train import config

PENDULUM = config.Selected.of("gymnasium/Pendulum-v1", "gymnasium")


def composed(*typed: str) -> config.Composed:
    return config.compose("sb3_ppo", PENDULUM, typed, config_dir=None, unions={})


def test_a_second_composition_knows_nothing_of_the_first(tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/sb3_ppo.yaml").write_text("gamma: 0.5\n")
    before = composed()
    config.compose("sb3_ppo", PENDULUM, ["run.steps=9"], config_dir=tmp_path, unions={})
    assert composed() == before


def test_the_hosts_own_hydra_goes_on(tmp_path):
    (tmp_path / "host.yaml").write_text("answer: 42\n")
    OmegaConf.register_new_resolver("ours_only_here", lambda: 1, replace=True)
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.2"):
        version, store = VersionBase.instance().getbase(), dict(ConfigStore.instance().repo)
        composed()
        assert hydra.compose("host").answer == 42
        assert VersionBase.instance().getbase() == version
        assert ConfigStore.instance().repo == store
        assert OmegaConf.has_resolver("ours_only_here")
    OmegaConf.clear_resolver("ours_only_here")
    assert not GlobalHydra.instance().is_initialized()


def test_resolvers_that_hydra_registers_are_taken_away_again():
    script = (
        "from omegaconf import OmegaConf\n"
        "from srb_train import config\n"
        "env = config.Selected.of('gymnasium/Pendulum-v1', 'gymnasium')\n"
        "config.compose('sb3_ppo', env, [], config_dir=None, unions={})\n"
        "print([OmegaConf.has_resolver(n) for n in ('now', 'hydra', 'python_version')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[False, False, False]", done.stderr


def test_compositions_in_several_threads_do_not_meet():
    gammas: dict[int, float] = {}

    def one(index: int) -> None:
        gammas[index] = composed(f"agent.gamma=0.{index + 1}").agent["gamma"]

    threads = [threading.Thread(target=one, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gammas == {index: (index + 1) / 10 for index in range(4)}


def test_listing_presets_imports_neither_hydra_nor_yaml():
    script = (
        "import sys\n"
        "from srb_train import config\n"
        "assert 'sb3_ppo' in config.presets('agent')\n"
        "heavy = {'hydra', 'omegaconf', 'yaml', 'numpy', 'torch', 'gymnasium'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
