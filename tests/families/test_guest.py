"""A family that lives elsewhere takes one folder: plate, machine, preset and an entry point."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import FAULTS
from tests.families.bench import differences

ROOM = Path(__file__).parent / "guest_room"
WORDS = ("--algo", "guest_climb", "--env", "cartpole", "--logdir", "logs")


@pytest.fixture
def guest(srb):
    """The command line with the guest's folder on the path."""
    path = os.pathsep.join([str(FAULTS), str(ROOM)])
    return lambda *words, **more: srb(*words, PYTHONPATH=path, **more)


def newest(tmp_path) -> Path:
    (run,) = (tmp_path / "logs" / "cartpole" / "guest_climb").glob("2*")
    return run


def last(run: Path) -> Path:
    return max((run / "ckpt").iterdir(), key=lambda folder: int(folder.name))


def test_a_guest_is_listed_with_what_it_can_do(guest):
    rows = json.loads(guest("ls", "algos", "--json", check=True).stdout)["algos"]
    (row,) = [row for row in rows if row["label"] == "guest_climb"]
    assert (row["family"], row["actions"], row["resume"]) == (
        "guest_room", ["continuous"], "exact",
    )  # fmt: skip


def test_a_guest_trains_plays_and_goes_on_exactly(guest, tmp_path):
    typed = ("env.num_envs=4", "run.seed=3", "--hide_ui")
    guest("agent", "train", *WORDS, *typed, "run.steps=1000", check=True)
    run = newest(tmp_path)
    record = json.loads((run / "run.json").read_text())
    assert (record["status"], record["implementation"]) == ("completed", "guest_room")
    played = guest("agent", "eval", *WORDS, "--episodes", "4", "--json", check=True)
    assert json.loads(played.stdout)["episodes_completed"] == 4
    guest("agent", "train", *WORDS, "--continue", "run.steps=2000", "--hide_ui", check=True)
    resumed = last(run)
    whole = ("agent", "train", *WORDS[:-1], "whole", *typed, "run.steps=2000")
    guest(*whole, check=True)
    (other,) = (tmp_path / "whole" / "cartpole" / "guest_climb").glob("2*")
    assert differences(resumed, last(other)) == []


def test_the_settings_of_a_guest_are_checked_like_any_other(guest, tmp_path):
    refused = guest("agent", "train", *WORDS, "agent.horizn=3")
    assert refused.returncode == 2
    assert "agent.horizon" in refused.stderr
    (tmp_path / "mine" / "agent").mkdir(parents=True)
    (tmp_path / "mine" / "agent" / "guest_climb.yaml").write_text("horizon: 7\n")
    shown = guest("config", "show", *WORDS[:4], "--config-dir", "mine", check=True).stdout
    assert "horizon: 7" in shown
    assert "spread: 0.3" in shown
