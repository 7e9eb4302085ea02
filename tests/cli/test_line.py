"""A command line before it is parsed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.cli import line
from srb_train.errors import UsageError


@pytest.mark.parametrize("place", range(4))
def test_debug_stands_anywhere(place):
    words = ["agent", "train", "run.steps=5"]
    words.insert(place, "--debug")
    found = line.read(words)
    assert found.debug
    assert found.words == ("agent", "train", "run.steps=5")
    assert found.typed == tuple(words)


@given(st.lists(st.text().filter(lambda word: word not in ("--debug", "--repl"))))
def test_other_words_are_left_as_they_are(words):
    assert line.read(words).words == tuple(words)


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        (["--repl"], ("--repl=any",)),
        (["--repl", "--video"], ("--repl=any", "--video")),
        (["--repl", "bpython"], ("--repl", "bpython")),
        (["--repl=ptpython"], ("--repl=ptpython",)),
        (["--repl", "run.steps=5"], ("--repl=any", "run.steps=5")),
    ],
)
def test_a_shell_may_be_named_or_not(typed, parsed):
    assert line.read(typed).words == parsed


def test_words_behind_two_dashes_are_refused_by_name_and_without_secrets():
    words = line.read(["agent", "train", "--", "--fast", "--token", "Zx9Qm2Lk7Pv4Rt8W"])
    with pytest.raises(UsageError) as caught:
        line.refuse_forwarding(words)
    assert "--fast" in str(caught.value)
    assert "Zx9Qm2Lk7Pv4Rt8W" not in str(caught.value)
