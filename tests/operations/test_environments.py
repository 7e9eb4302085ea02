"""Tasks are shown, measured, checked and begun through child processes."""

import subprocess
import sys

import pytest

from srb_train import operations
from srb_train.errors import SrbError, UsageError


def test_a_task_is_shown_with_its_meaning_and_a_picture(tmp_path):
    picture = tmp_path / "landing.png"
    found = operations.show_env("landing", ("env.difficulty=full",), frame=picture)
    assert found["settings"]["difficulty"] == "full"
    assert found["resumable"]
    assert found["max_episode_steps"] == 300
    assert "lander" in found["is"].lower()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_task_is_measured_at_several_sizes():
    found = operations.bench_env("cartpole", copies=(1, 64), seconds=0.05)
    assert [row["copies"] for row in found["rates"]] == [1, 64]
    slow, fast = (row["steps_per_second"] for row in found["rates"])
    assert fast > slow > 0
    assert all(row["random_policy_seconds"] > 0 for row in found["rates"])


def test_a_new_task_is_sound_passes_its_test_and_trains(tmp_path, monkeypatch, srb):
    found = operations.new_env("hover_low", tmp_path)
    assert found["env"] == "hover_low:make"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checked = operations.check_env("hover_low:make")
    assert (checked["state"], len(checked["findings"])) == ("ok", 8)
    own = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_hover_low.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert own.returncode == 0, own.stdout
    typed = ("env.kwargs={goal: 8.0}", "env.num_envs=4", "run.steps=400", "agent.horizon=20")
    words = (
        "agent",
        "train",
        "--algo",
        "toy_cem",
        "--env",
        "hover_low:make",
        "--logdir",
        "logs",
        *typed,
    )
    srb(*words, check=True, PYTHONPATH=str(tmp_path))
    (run,) = (tmp_path / "logs" / "hover_low:make" / "toy_cem").glob("2*")
    assert '"completed"' in (run / "run.json").read_text()
    with pytest.raises(UsageError, match="is there already"):
        operations.new_env("hover_low", tmp_path)


def test_one_gymnasium_environment_of_ones_own_is_stepped_in_copies(tmp_path, monkeypatch):
    (tmp_path / "single.py").write_text(
        "from gymnasium.envs.classic_control import PendulumEnv\n"
        "def make(g=10.0):\n"
        "    return PendulumEnv(g=g)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = operations.show_env("single:make", ("env.kwargs={g: 5.0}", "env.max_episode_steps=50"))
    assert found["max_episode_steps"] == 50
    assert operations.check_env("single:make", ("env.max_episode_steps=50",))["state"] != "fail"


@pytest.mark.parametrize(
    "name", ["no_such_module:make", "math:no_such", "math:pi", "math:", "math:floor"]
)
def test_an_object_that_is_no_task_is_refused(name, capfd):
    with pytest.raises(SrbError) as refused:
        operations.show_env(name)
    said = str(refused.value) + capfd.readouterr().err
    assert "Traceback" not in said
    assert name in said


@pytest.mark.parametrize("name", ["Hover", "two words", "../up", ""])
def test_a_name_that_is_no_module_is_refused(name, tmp_path):
    with pytest.raises(UsageError):
        operations.new_env(name, tmp_path)
