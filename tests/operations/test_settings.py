"""Words of a command are settings, or errors that name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.errors import UsageError
from srb_train.operations.settings import typed_settings

KEYS = st.from_regex(r"\A[a-z_][a-z0-9_]{0,8}(\.[a-z0-9_]{1,8}){0,3}\Z")


@given(st.lists(st.tuples(st.sampled_from(["", "+", "++"]), KEYS, st.text())))
def test_whatever_sets_a_key_is_a_setting_and_keeps_its_place(parts):
    words = tuple(f"{prefix}{key}={value}" for prefix, key, value in parts)
    assert typed_settings(words) == words


def test_every_stray_word_is_named_and_settings_are_not():
    with pytest.raises(UsageError) as caught:
        typed_settings(["env.num_envs=4", "fast", "agent.gamma", "=3"])
    said = str(caught.value)
    assert all(repr(word) in said for word in ("fast", "agent.gamma", "=3"))
    assert "'env.num_envs=4'" not in said


def test_an_address_is_no_setting_and_its_password_is_not_repeated():
    with pytest.raises(UsageError) as caught:
        typed_settings(["https://bot:Zx9Qm2Lk7Pv4@git.example.org/a?b=1"])
    assert "git.example.org" in str(caught.value)
    assert "Zx9Qm2Lk7Pv4" not in str(caught.value)
