"""Series read in blocks are those that are read line by line, whatever lies between them."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.runs import metrics, series
from srb_train.runs.metrics import RESUMED, MetricsWriter

TAGS = ["a", "b/c", "ä", RESUMED]
point_lines = st.builds(
    lambda tag, step, value: metrics.Record.of(tag, step, 1.5, value).line(),
    st.sampled_from(TAGS),
    st.integers(0, 9),
    st.sampled_from([0.5, -3.0, 1e300, math.nan, math.inf]),
)
strange_lines = st.sampled_from(
    [
        b"\n",
        b"  \n",
        b"nonsense\n",
        b'{"tag":"a","step":1\n',
        b'{"tag":"a","step":1,"wall_time":null,"value":2}\n',
        b'{"step":3,"tag":"a","wall_time":1,"value":2,"more":[1]}\n',
        b'{"tag":"a","step":true,"wall_time":1.0,"value":2.0}\n',
        b'{"tag":7,"step":1,"wall_time":1.0,"value":2.0}\n',
        b"[1\n",
        b"2]\n",
        b"{},{}\n",
        b"\0\0\0\n",
    ]
)


def one_by_one(path, tags=None):
    """Return what the reader of single lines finds, in the same form."""
    found = {}
    for record in metrics.iterate(path, tags=tags):
        found.setdefault(record.tag, []).append(series.point(record))
    return found


@given(
    lines=st.lists(point_lines | strange_lines, max_size=30),
    tags=st.sampled_from([None, ("a",), ("b/c", "ä"), ("b/*",), (RESUMED,)]),
    tail=st.sampled_from([b"", b'{"tag":"a"', b'{"tag":"a","step":5,"wall_time":1.0,"value":1.0}']),
)
def test_blocks_hold_what_single_lines_hold(tmp_path_factory, lines, tags, tail):
    path = tmp_path_factory.mktemp("m") / "metrics.jsonl"
    path.write_bytes(b"".join(lines) + tail)
    assert series.read(path, tags=tags)[0] == one_by_one(path, tags)


@given(lines=st.lists(point_lines | strange_lines, max_size=20))
def test_damage_is_told_as_single_lines_tell_it(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("m") / "metrics.jsonl"
    path.write_bytes(b"".join(lines) + b"\xff{cut")
    assert series.read(path)[1] == metrics.read(path).warnings


def test_many_blocks_with_a_resume_among_them(tmp_path, monkeypatch):
    monkeypatch.setattr(series, "MEBIBYTE", 1000)
    path = tmp_path / "metrics.jsonl"
    writer = MetricsWriter(path)
    for step in range(500):
        writer.write(step, {"a": step, "b": -step})
    writer.resume(100)
    for step in range(101, 300):
        writer.write(step, {"a": step / 2})
    writer.close()
    found, warnings = series.read(path)
    assert (found, warnings) == (one_by_one(path), [])
    assert [len(found["a"]), len(found["b"])] == [300, 101]


def test_a_line_longer_than_a_block_is_damage_and_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(series, "MEBIBYTE", 1000)
    path = tmp_path / "metrics.jsonl"
    line = metrics.Record.of("a", 1, 1.0, 2.0).line()
    path.write_bytes(line + b"\0" * 5000 + b"\n" + line)
    found, warnings = series.read(path)
    assert len(found["a"]) == 2
    assert "unreadable" in warnings[0]


@pytest.mark.parametrize("tags", [None, ("a",)])
def test_an_absent_file_has_no_series(tmp_path, tags):
    assert series.read(tmp_path / "none", tags=tags) == ({}, [])


def test_a_point_is_what_json_can_hold(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(metrics.Record.of("a", 1, 1.0, math.inf).line())
    found, _ = series.read(path)
    assert json.loads(json.dumps(found, allow_nan=False)) == {
        "a": [{"step": 1, "wall_time": 1.0, "value": None, "nonfinite": "inf"}]
    }
