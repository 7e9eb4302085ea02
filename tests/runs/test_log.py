"""train.log is complete while it is small and bounded when it is not."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from srb_train.runs.log import BoundedLog


def test_a_small_log_is_kept_whole_and_appended_to(tmp_path):
    path = tmp_path / "train.log"
    for word in ("one", "two"):
        with BoundedLog(path) as log:
            log.write(word)
    assert path.read_text() == "one\ntwo\n"


@given(count=st.integers(1, 400), head=st.integers(20, 200), tail=st.integers(200, 800))
def test_the_first_and_the_newest_lines_stay(tmp_path_factory, count, head, tail):
    path = tmp_path_factory.mktemp("log") / "train.log"
    with BoundedLog(path, head, tail) as log:
        for number in range(count):
            log.write(f"line {number}")
    lines = path.read_text().splitlines()
    assert path.stat().st_size <= head + tail + 120
    assert lines[0] == "line 0"
    assert lines[-1] == f"line {count - 1}"
    whole = [line for line in lines if line.startswith("line ")]
    numbers = [int(line.removeprefix("line ")) for line in whole]
    assert numbers == sorted(set(numbers))
    assert len(lines) - len(whole) == (len(whole) < count)


def test_a_dropped_middle_is_said_with_its_size(tmp_path):
    path = tmp_path / "train.log"
    with BoundedLog(path, 50, 100) as log:
        for number in range(1000):
            log.write(f"line {number}")
    (said,) = [line for line in path.read_text().splitlines() if "dropped" in line]
    assert any(character.isdigit() for character in said)


def test_a_disk_that_refuses_drops_lines_and_training_goes_on():
    with BoundedLog(Path("/dev/full")) as log:
        log.write("lost")
