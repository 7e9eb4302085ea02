"""Overrides on top of what a run has stored, as on a resume."""

import pytest

from srb_train import config
from srb_train.errors import UsageError

BASE = {
    "run": {"steps": 1000, "seed": 5, "device": "cpu"},
    "env": {"num_envs": 4, "kwargs": {}},
    "agent": {"learning_rate": "lin_1e-3", "batch_size": 32, "policy_kwargs": {"net_arch": [64]}},
}
UNIONS = {"learning_rate": ("float", "str"), "policy_kwargs.net_arch": ("mapping",)}


def test_a_change_is_applied_and_listed_with_both_values():
    found = config.override(
        BASE, ["agent.learning_rate=1e-4", "agent.policy_kwargs.net_arch=[8]"], unions=UNIONS
    )
    assert found.agent["learning_rate"] == 0.0001
    assert found.changes == {
        "agent.learning_rate": ("lin_1e-3", 0.0001),
        "agent.policy_kwargs.net_arch": ([64], [8]),
    }
    assert found.origins["agent.learning_rate"] == "command line"
    assert found.origins["run.seed"] == "the stored run"


def test_what_is_not_typed_stays_and_the_stored_tree_is_not_touched():
    found = config.override(BASE, ["run.steps=2e3", "env.kwargs.g=1.5"], unions=UNIONS)
    assert found.run == {"steps": 2000, "seed": 5, "device": "cpu"}
    assert found.env == {"num_envs": 4, "kwargs": {"g": 1.5}}
    assert found.agent == BASE["agent"]
    assert found.changes == {"run.steps": (1000, 2000), "env.kwargs.g": (None, 1.5)}
    assert BASE["run"]["steps"] == 1000
    assert BASE["env"]["kwargs"] == {}


def test_typing_the_stored_value_changes_nothing():
    assert config.override(BASE, ["run.steps=1000"], unions=UNIONS).changes == {}


def test_stored_networks_of_two_parts_go_on_being_one_value():
    sizes = {"pi": [8], "vf": [4]}
    base = {**BASE, "agent": {"policy_kwargs": {"net_arch": sizes}}}
    assert config.override(base, [], unions=UNIONS).agent["policy_kwargs"]["net_arch"] == sizes


@pytest.mark.parametrize(
    ("typed", "must_say"),
    [
        ("agent.learning_rat=1", ["agent.learning_rate"]),
        ("agent.batch_size=a", ["agent.batch_size='a'", "int", "32", "the stored run"]),
        ("run.steps=0", ["run.steps=0", "at least 1"]),
        ("env.id=x", ["--env"]),
    ],
)
def test_the_same_checks_hold_as_for_a_fresh_run(typed, must_say):
    with pytest.raises(UsageError) as caught:
        config.override(BASE, [typed], unions=UNIONS)
    for part in must_say:
        assert part in str(caught.value)
