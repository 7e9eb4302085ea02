"""A user's YAML file keeps its comments, order and quotes when keys of it are changed."""

from pathlib import Path

import pytest

from srb_train import config, operations
from srb_train.errors import UsageError

TEXT = """\
# how mine differs
gamma: 0.99 # a guess
learning_rate: 1.0e-3
policy_kwargs:
  # two layers
  net_arch: [64, 64]
  activation_fn: "tanh"
lists:
  - one # first
  - two
"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT)
    return path


def test_only_the_given_keys_change(file):
    found = operations.update_config(file, {"gamma": 0.98, "policy_kwargs": {"net_arch": [32]}})
    assert found["config"]["policy_kwargs"] == {"net_arch": [32], "activation_fn": "tanh"}
    text = file.read_text()
    gone = set(TEXT.splitlines()) - set(text.splitlines())
    assert gone == {"gamma: 0.99 # a guess", "  net_arch: [64, 64]"}
    for kept in ("# how mine differs", "# a guess", "# two layers", '"tanh"', "- one # first"):
        assert kept in text


def test_new_keys_and_deep_ones_can_be_typed(file):
    changes = operations.typed_changes(["new.deep.rate=1e-4", "flag=true", "name='a=b'"])
    assert changes == {"new": {"deep": {"rate": pytest.approx(1e-4)}}, "flag": True, "name": "a=b"}
    assert operations.update_config(file, changes)["config"]["new"] == {"deep": {"rate": 1e-4}}
    assert operations.get_config(file)["config"]["gamma"] == 0.99


@pytest.mark.parametrize(
    ("text", "said"),
    [("- a\n- b\n", "keys with values"), ("a: [1\n", "line"), ("a: 1\n  b: 2\n", "line")],
)
def test_a_file_that_is_no_mapping_is_refused_and_stays(tmp_path, text, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        operations.update_config(path, {"a": 1})
    assert path.read_text() == text


def test_a_missing_file_names_its_neighbours(file):
    with pytest.raises(UsageError, match=r"mine\.yaml"):
        config.read_file(file.with_name("mien.yaml"))


@pytest.mark.parametrize("word", ["gamma", "=3", "a..b=1"])
def test_a_word_that_sets_no_key_is_named(word):
    with pytest.raises(UsageError, match="sets no key"):
        operations.typed_changes([word])


def test_secrets_of_a_file_are_not_shown(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("api_key: opensesame\n")
    assert "opensesame" not in str(operations.get_config(path))
