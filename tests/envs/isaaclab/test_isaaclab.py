"""Isaac Lab behind the contract, against a stand-in that has its calls and fails on wrong use.

Isaac Sim itself needs an RTX GPU and was never run here.
"""

import json
import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from srb_train import apart, registry, soundness
from srb_train.envs.isaaclab import PLATE, launch
from srb_train.errors import MissingDependency, UsageError

pytest.importorskip("torch")

STAND_IN = Path(__file__).parent / "stand_in"
TASK = "isaaclab/Isaac-Stand-Cart-v0"
PARAMS = {"id": TASK, "device": "cpu", "groups": ["policy"], "action_limit": 1.0, "cfg": {}}
HERE = {"device": "cuda:1"}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """Let children find the stand-in, and take a display from them."""
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    for name in launch.DISPLAYS:
        monkeypatch.delenv(name, raising=False)


def make(num_envs=4, simulator=None, **params):
    return apart.make_env(TASK, num_envs, {**PARAMS, **params}, simulator or {})


def test_the_app_runs_before_its_modules_are_imported_and_ends_its_process(capfd):
    with closing(make()) as env:
        obs = env.reset(3)
        step = env.step(np.zeros((4, 1), np.float32))
    assert obs.shape == (4, 2) and obs.dtype == np.float32
    assert step.reward.dtype == np.float32 and step.terminated.dtype == bool
    assert (env.device, env.max_episode_steps, env.render_fps) == ("cpu", 20, 50)
    said = capfd.readouterr().out
    order = ["launched with", "stands for what they saw last", "environment is closed", "app is"]
    places = [said.index(words) for words in order]
    assert places == sorted(places)


@pytest.mark.slow
def test_simulator_options_reach_the_app(capfd):
    options = {"livestream": 2, "enable_cameras": True, "kit_args": "--/a=1 --b"}
    with closing(make(simulator=options)) as env:
        env.reset(0)
        assert env.render().shape == (48, 64, 3)
    launched = capfd.readouterr().out.split("launched with ")[1].splitlines()[0]
    assert json.loads(launched) == {**options, "device": "cpu", "headless": True}


def test_the_app_is_headless_unless_something_can_show_it():
    assert launch.arguments(HERE, {}) == {"device": "cuda:1", "headless": True}
    assert launch.arguments(HERE, {"DISPLAY": ":0"})["headless"] is False
    assert launch.arguments({**HERE, "headless": True}, {"DISPLAY": ":0"})["headless"] is True
    assert launch.arguments({**HERE, "xr": True, "groups": []}, {})["xr"] is True


@pytest.mark.slow
def test_without_cameras_there_are_no_pictures():
    with closing(make()) as env:
        env.reset(0)
        assert env.render() is None


def test_what_a_row_saw_before_its_last_step_stands_for_what_it_saw_last():
    with closing(make(8)) as env:
        seen = env.reset(5)
        ends = {"lost": 0, "cut": 0}
        for number in range(60):
            action = np.full((8, 1), 1.0 if number % 2 else -0.2, np.float32)
            step = env.step(action)
            done = step.terminated | step.truncated
            assert not (step.terminated & step.truncated).any()
            if done.any():
                assert np.array_equal(step.final_obs, seen[done])
                assert (step.obs[done, 1] == 0.0).all()
            else:
                assert step.final_obs is None
            ends["lost"] += int(step.terminated.sum())
            ends["cut"] += int(step.truncated.sum())
            seen = step.obs
    assert min(ends.values()) > 0


@pytest.mark.slow
def test_several_groups_are_a_dict_whose_first_is_the_state():
    with closing(make(groups=["policy", "critic"])) as env:
        obs = env.reset(1)
        space = env.observation_space
        step = env.step(np.full((4, 1), 0.5, np.float32))
    assert isinstance(space, spaces.Dict) and list(space) == sorted(obs)
    assert obs["state"].shape == (4, 2) and obs["critic"].shape == (4, 2)
    assert (step.obs["critic"][:, 1] == 0.5).all()


@pytest.mark.slow
def test_a_group_that_is_not_there_is_an_error_that_names_those_that_are():
    with pytest.raises(UsageError, match="critic, policy"):
        make(groups=["polisy"])


@pytest.mark.slow
def test_a_misspelt_task_is_an_error_that_names_the_nearest():
    with pytest.raises(UsageError, match="nearest: Isaac-Stand-Cart-v0"):
        apart.make_env("isaaclab/Isaac-Stand-Cat-v0", 2, PARAMS)


@pytest.mark.slow
def test_settings_of_the_task_go_to_their_places():
    with closing(make(cfg={"episode_length_s": 1.0, "sim": {"dt": 0.05}})) as env:
        assert (env.max_episode_steps, env.render_fps) == (10, 10)
    with pytest.raises(UsageError, match=r"env\.cfg\.sim\.dtt.*nearest: dt"):
        make(cfg={"sim": {"dtt": 0.05}})


@pytest.mark.slow
def test_actions_without_bounds_get_the_limit_that_is_set():
    with closing(make(action_limit=2.5)) as env:
        assert env.action_space == spaces.Box(-2.5, 2.5, (1,), np.float32)
    with closing(make(action_limit=None)) as env:
        assert np.isinf(env.action_space.high).all()


def test_without_isaac_lab_the_error_says_how_it_is_installed(monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    with pytest.raises(MissingDependency, match=r"needs isaaclab, .*env\.python="):
        registry.require(PLATE)


@pytest.mark.slow
def test_the_contract_holds():
    found = soundness.sound(make)
    assert [one for one in found if one.state == "fail"] == []


@pytest.mark.slow
def test_a_run_records_the_devices_of_simulator_and_learner(srb, tmp_path):
    words = ("--algo", "toy_cem", "--env", TASK, "env.device=cpu", "env.num_envs=4", "--smoke")
    options = ("--headless", "--logdir", tmp_path)
    path = f"{STAND_IN}{os.pathsep}{os.environ['PYTHONPATH']}"
    srb("agent", "train", *words, *options, check=True, PYTHONPATH=path)
    (run,) = (tmp_path / "smoke" / TASK / "toy_cem").iterdir()
    metadata = json.loads((run / "metadata.json").read_text())
    assert metadata["environment"]["device"] == "cpu"
    assert json.loads((run / "run.json").read_text())["device"] == "cpu"
    assert "launched with" in (run / "train.log").read_text()
    manifests = [json.loads(path.read_text()) for path in run.glob("ckpt/*/manifest.json")]
    assert {manifest["grade"] for manifest in manifests} == {"continued"}
