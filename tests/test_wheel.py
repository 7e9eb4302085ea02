"""The wheel holds what a user without a checkout needs, and nothing of the workshop."""

import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> set[str]:
    """Build the wheel and return the names of its files."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*build, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_preset_is_inside(names):
    presets = {path.relative_to(ROOT).as_posix() for path in (ROOT / "configs").rglob("*.yaml")}
    assert {f"srb_train/{preset}" for preset in presets} <= names


def test_it_is_typed_and_has_its_command(names):
    assert "srb_train/py.typed" in names
    assert any(name.endswith("entry_points.txt") for name in names)


def test_every_module_is_inside_and_nothing_else(names):
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "srb_train").rglob("*.py")}
    assert modules <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"srb_train"}
