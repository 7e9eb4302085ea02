"""YAML text that strict and lenient readers read back to the same values."""

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from srb_train import config
from srb_train.config import yaml_text

UNHURRIED = settings(deadline=None)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["1e-4", "yes", "No", "null", "~", "1:30", "0x1f", "lin_1e-3", "a: b", "# c"])
)
TREES = st.dictionaries(
    st.text(min_size=1),
    st.recursive(
        SCALARS | st.lists(SCALARS, max_size=3),
        lambda inner: st.dictionaries(st.text(min_size=1), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@UNHURRIED
@given(TREES)
def test_a_strict_reader_gives_back_the_tree_with_its_types_and_order(tree):
    found = yaml.safe_load(yaml_text.dump(tree))
    assert repr(found) == repr(tree)


@UNHURRIED
@given(SCALARS.filter(lambda value: "${" not in str(value) and value != "???"))
def test_a_lenient_reader_gives_back_the_same_scalar(value):
    found = OmegaConf.create(yaml_text.dump({"key": value}))["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [1e-5, 1e-4, 1e16, -2.5e-300, 0.1, 5e-324])
def test_a_small_number_is_written_with_a_point(value):
    text = yaml_text.scalar(value)
    assert "." in text
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_even_what_no_record_may_hold_reads_back(value):
    assert repr(yaml.safe_load(yaml_text.scalar(value))) == repr(value)


def test_notes_stand_beside_the_values_and_change_nothing():
    tree = {"run": {"steps": 5}, "agent": {"net_arch": [8, 8]}}
    text = yaml_text.dump(tree, {"run.steps": "configs/train.yaml"})
    assert yaml.safe_load(text) == tree
    steps = next(line for line in text.splitlines() if "steps" in line)
    assert steps.startswith("  steps: 5 ")
    assert steps.endswith("# configs/train.yaml")


def test_the_shown_composition_says_where_each_value_came_from():
    pendulum = config.Selected.of("gymnasium/Pendulum-v1", "gymnasium")
    composed = config.compose("sb3_ppo", pendulum, ["agent.gamma=0.5"], config_dir=None, unions={})
    text = config.show(composed)
    assert yaml.safe_load(text) == {
        "run": composed.run,
        "env": composed.env,
        "agent": composed.agent,
    }
    for line in text.splitlines():
        if not line.endswith(":"):
            assert " # " in line
    assert any("gamma: 0.5" in line and "command line" in line for line in text.splitlines())


def test_sections_are_written_in_the_order_of_the_preset():
    pendulum = config.Selected.of("gymnasium/Pendulum-v1", "gymnasium")
    composed = config.compose("sb3_a2c", pendulum, [], config_dir=None, unions={})
    text = composed.as_yaml("agent")
    assert list(yaml.safe_load(text)) == list(composed.agent)
    assert "rms_prop_eps: 1.0e-05\n" in text
    assert yaml.safe_load(text) == composed.agent
