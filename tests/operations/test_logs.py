"""The newest lines of a log are read from its end, and followed until the run has ended."""

from hypothesis import given
from hypothesis import strategies as st

from srb_train.operations import logs


@given(
    lines=st.lists(st.text(st.characters(categories=("L", "N", "Zs")), max_size=40), max_size=60),
    count=st.integers(0, 70),
)
def test_the_newest_lines_are_the_last_ones_of_the_file(tmp_path_factory, lines, count):
    path = tmp_path_factory.mktemp("log") / "train.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    everything = path.read_text(encoding="utf-8").splitlines()
    assert logs._newest(path, count) == (everything[-count:] if count else [])
    assert logs._newest(path, None) == everything


def test_a_long_log_is_read_from_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "MOST_BYTES", 3 * logs.BLOCK_BYTES)
    path = tmp_path / "train.log"
    path.write_text("".join(f"line {number}\n" for number in range(60_000)))
    assert logs._newest(path, 3) == ["line 59997", "line 59998", "line 59999"]
    bounded = logs._newest(path, None)
    assert bounded[-1] == "line 59999"
    assert 1000 < len(bounded) < 60_000
    assert bounded[0].startswith("line ")


def test_a_log_that_is_not_there_has_no_lines(tmp_path):
    assert logs._newest(tmp_path / "train.log", None) == []
