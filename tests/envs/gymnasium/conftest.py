"""What the tests of the Gymnasium room share."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def faults_are_importable(monkeypatch):
    """Let `gymnasium/faults:<id>` find the misbehaving environments beside this file."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
