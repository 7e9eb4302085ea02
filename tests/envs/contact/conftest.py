"""What the tests of contact tasks are made on."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, in which nothing may have been written at the end."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path("MUJOCO_LOG.TXT").exists()
