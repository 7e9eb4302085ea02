"""Generators that were captured give the same numbers again, whatever was drawn meanwhile."""

import io
import random

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from srb_train import generators


def draws() -> list[float]:
    """Draw from every generator, an odd number of normal ones so that a spare stays cached."""
    return [
        random.random(),
        random.gauss(0, 1),
        np.random.random(),
        np.random.standard_normal(),
        torch.rand(()).item(),
        torch.randn(()).item(),
    ]


def through_a_file(state):
    """Write arrays and read them back, as a checkpoint does."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@given(seed=st.integers(0, 2**40), before=st.integers(0, 7))
def test_what_is_drawn_after_a_restore_is_what_would_have_been_drawn(seed, before):
    generators.seed_all(seed, threads=1)
    for _ in range(before):
        draws()
    random.gauss(0, 1)
    np.random.standard_normal()
    state = through_a_file(generators.capture())
    expected = [draws() for _ in range(3)]
    generators.seed_all(seed + 1, threads=1)
    generators.restore(state)
    assert [draws() for _ in range(3)] == expected


def test_another_seed_gives_other_numbers():
    generators.seed_all(1, threads=1)
    one = draws()
    generators.seed_all(2, threads=1)
    assert all(a != b for a, b in zip(one, draws(), strict=True))


def test_seeding_fixes_the_threads_of_torch():
    generators.seed_all(0, threads=1)
    assert torch.get_num_threads() == 1
