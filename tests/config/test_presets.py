"""Every shipped preset: composes with every shipped environment, and is what its class takes."""

import inspect

import hydra
import pytest
from omegaconf import OmegaConf

from srb_train import config, registry
from srb_train.config import SECTIONS

AGENTS = config.presets("agent")
ENVS = config.presets("env")
TUNED = sorted((config.config_root() / "tuned").rglob("*.yaml"))
PREFIXES = {backend.prefix for backend in registry.backends().values()} | {"gymnasium"}


def selected(preset: str) -> config.Selected:
    prefix = preset if preset in PREFIXES else ""
    return config.Selected.of(f"{preset}/Some-v0" if prefix else preset, prefix)


def unions_of(algo: str) -> dict[str, tuple[str, ...]]:
    known = registry.labels()
    return dict(known[algo][0].unions) if algo in known else {}


@pytest.mark.parametrize("algo", AGENTS)
def test_a_preset_composes_with_every_environment(algo):
    for env in ENVS:
        found = config.compose(algo, selected(env), [], config_dir=None, unions=unions_of(algo))
        tuned = f"configs/tuned/{env}/{algo}.yaml"
        assert found.run["steps"] == 1_000_000 or found.origins["run.steps"] == tuned
        assert found.env["num_envs"] >= 1
        for section in SECTIONS:
            assert getattr(found, section)
        assert all(
            (config.config_root().parent / origin).is_file()
            for key, origin in found.origins.items()
            if key != "env.id"
        )


@pytest.mark.parametrize("path", TUNED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_tuned_file_reaches_its_composition(path):
    env = path.parent.relative_to(config.config_root() / "tuned").as_posix()
    prefix = env.split("/")[0] if "/" in env else ""
    found = config.compose(
        path.stem,
        config.Selected.of(env, prefix),
        [],
        config_dir=None,
        unions=unions_of(path.stem),
    )
    shipped = f"configs/{path.relative_to(config.config_root()).as_posix()}"
    assert shipped in found.origins.values()


@pytest.mark.parametrize("algo", AGENTS)
def test_hydra_itself_composes_the_same_values(algo):
    with hydra.initialize_config_dir(str(config.config_root()), version_base="1.3"):
        theirs = hydra.compose("train", ["env=gymnasium", f"agent={algo}", "env.id=Some-v0"])
    found = config.compose(algo, selected("gymnasium"), [], config_dir=None, unions=unions_of(algo))
    ours = {section: getattr(found, section) for section in SECTIONS}
    assert ours == OmegaConf.to_container(theirs)


def test_each_file_begins_with_what_it_is():
    for path in config.config_root().rglob("*.yaml"):
        assert path.read_text().startswith("# "), path


OWN = {"normalize_observation", "normalize_reward", "clip_obs", "action_noise_std"}


@pytest.mark.parametrize("algo", [name for name in AGENTS if name.startswith("sb3_")])
def test_an_sb3_preset_holds_only_arguments_of_its_class_and_policy(algo):
    taken = constructor(algo)
    agent = config.compose(
        algo, selected("gymnasium"), [], config_dir=None, unions=unions_of(algo)
    ).agent
    assert set(agent) - OWN <= set(inspect.signature(taken).parameters)
    aliases = taken.policy_aliases
    policy = aliases["MlpLstmPolicy" if "MlpLstmPolicy" in aliases else "MlpPolicy"]
    assert set(agent["policy_kwargs"]) <= set(inspect.signature(policy).parameters)


def constructor(algo: str) -> type:
    """Return the framework's class of a label."""
    sb3 = pytest.importorskip("stable_baselines3")
    contrib = pytest.importorskip("sb3_contrib")
    name = algo.removeprefix("sb3_")
    special = {"ppo_lstm": "RecurrentPPO", "crossq": "CrossQ"}
    title = special.get(name, name.upper())
    return getattr(sb3, title, None) or getattr(contrib, title)
