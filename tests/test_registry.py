"""The desk finds rooms by their names and says what is missing in one line."""

import dataclasses

import pytest

from srb_train import registry
from srb_train.errors import MissingDependency, UsageError


def test_labels_are_found_in_any_case_and_with_dashes():
    assert registry.family_of("SB3-PPO")[2] == "sb3_ppo"


def test_an_unknown_label_names_the_nearest():
    with pytest.raises(UsageError, match=r"sb3_pppo.*sb3_ppo"):
        registry.family_of("sb3_pppo")


def test_embedded_tasks_have_plain_names_and_others_a_prefix():
    assert registry.backend_of("landing")[1] == "landing"
    backend, name = registry.backend_of("gymnasium/ns/Thing-v0")
    assert (backend.name, name) == ("gymnasium", "ns/Thing-v0")


@pytest.mark.parametrize("env", ["landin", "gymnasium/", "gymnasium", "", "/landing"])
def test_an_unknown_task_is_an_error_that_says_what_there_is(env):
    with pytest.raises(UsageError, match="gymnasium/<id>"):
        registry.backend_of(env)


def test_a_missing_framework_comes_with_the_command_that_installs_it():
    plate = dataclasses.replace(registry.families()["sb3"], requires=("no_such_framework",))
    with pytest.raises(
        MissingDependency, match=r'no_such_framework.*pip install "srb-train\[sb3\]"'
    ):
        registry.require(plate)


def test_every_label_has_a_preset_and_every_preset_of_a_label_a_plate():
    from srb_train import config

    assert sorted(registry.labels()) == config.presets("agent")


def test_references_are_resolved_under_secret_names_only(monkeypatch):
    monkeypatch.setenv("TASK_KEY", "opensesame")
    given = {"api_key": "env:TASK_KEY", "note": "env:TASK_KEY", "deep": {"token": "env:TASK_KEY"}}
    assert registry.resolved("kwargs", given) == {
        "api_key": "opensesame",
        "note": "env:TASK_KEY",
        "deep": {"token": "opensesame"},
    }


def test_a_reference_to_nothing_is_named(monkeypatch):
    monkeypatch.delenv("TASK_KEY", raising=False)
    with pytest.raises(UsageError, match="TASK_KEY"):
        registry.resolved("api_key", "env:TASK_KEY")
