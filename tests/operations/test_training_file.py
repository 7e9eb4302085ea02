"""A training file says what to train, and its settings arrive as they were written."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from srb_train import operations
from srb_train.errors import UnsupportedError, UsageError
from srb_train.operations import TrainRequest
from srb_train.operations.training_file import read_training_file

PLAIN = string.ascii_letters + string.digits + " '\"\\,:[]{}()=#$%&*!|>@`~?.-_/"


def write(path, tree):
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(tree, file)
    return path


def test_every_key_may_be_left_out(tmp_path):
    empty = read_training_file(write(tmp_path / "a.yaml", {}))
    assert (empty.algo, empty.env, empty.overrides) == (None, None, ())
    tree = {"algo": "sb3_ppo", "task": "landing", "agent": {"net": {"layers": [8, 8]}}}
    whole = read_training_file(write(tmp_path / "b.yaml", tree))
    assert (whole.algo, whole.env) == ("sb3_ppo", "landing")
    assert whole.overrides == ("agent.net.layers=[8,8]",)


@pytest.mark.parametrize(
    ("tree", "named"),
    [
        ({"agnet": {}}, "nearest: agent"),
        ({"env": "landing"}, "goes to `task`"),
        ({"algo": ["sb3_ppo"]}, "must be a name"),
        ({"run": {"a b": 1}}, "is no key"),
    ],
)
def test_what_a_file_may_not_hold_is_named(tmp_path, tree, named):
    with pytest.raises(UsageError, match=named):
        read_training_file(write(tmp_path / "a.yaml", tree))


def test_the_configuration_of_an_engine_is_told_from_ours(tmp_path):
    with pytest.raises(UnsupportedError, match="ML-Agents"):
        read_training_file(write(tmp_path / "a.yaml", {"behaviors": {"Balance": {}}}))


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(PLAIN, max_size=12),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.one_of(LEAVES, st.lists(LEAVES, max_size=3)))
def test_a_setting_arrives_as_it_was_written(tmp_path, value):
    tree = {"env": {"kwargs": {"given": value}}}
    found = read_training_file(write(tmp_path / "a.yaml", tree))
    asked = TrainRequest(
        algo="toy_cem",
        env="gymnasium/CartPole-v1",
        logdir=tmp_path,
        overrides=found.overrides,
    )
    assert operations.prepare(asked).spec.env_params["kwargs"] == {"given": value}
