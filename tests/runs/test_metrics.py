"""metrics.jsonl: what is written is read, whatever happened in between."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.runs import metrics
from srb_train.runs.metrics import MetricsWriter, Record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def wrote(path: Path, *batches: tuple[int, dict[str, float]]) -> Path:
    writer = MetricsWriter(path, clock=lambda: 1000.5)
    for step, values in batches:
        writer.write(step, values)
    writer.close()
    return path


def steps(path: Path, tag: str, **choices: bool) -> list[int]:
    return [record.step for record in metrics.read(path, **choices).series(tag)]


def test_a_line_is_compact_strict_json_in_the_agreed_order(path):
    wrote(path, (64, {"train/loss": 0.5}))
    assert path.read_bytes() == b'{"tag":"train/loss","step":64,"wall_time":1000.5,"value":0.5}\n'


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_value_that_is_not_finite_is_null_with_its_name(path, text):
    wrote(path, (1, {"q": float(text)}))
    line = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert list(line) == ["tag", "step", "wall_time", "value", "nonfinite"]
    assert (line["value"], line["nonfinite"]) == (None, text)
    (record,) = metrics.read(path).records
    assert record.value is None and str(record.number) == text


def test_a_bare_null_is_a_value_that_nobody_knows(path):
    path.write_text('{"tag":"q","step":1,"wall_time":null,"value":null}\n')
    (record,) = metrics.read(path).records
    assert record == Record("q", 1, None, None, None) and record.number is None


def test_scalars_of_numpy_and_booleans_are_numbers(path):
    wrote(path, (np.int64(3), {"a": np.float32(0.5), "b": True, "c": np.bool_(False), "d": 7}))
    records = metrics.read(path).records
    assert [(record.step, record.value) for record in records] == [(3, 0.5), (3, 1), (3, 0), (3, 7)]


batches = st.lists(
    st.tuples(st.integers(0, 2**53), st.dictionaries(st.text(), st.floats(), max_size=4)),
    max_size=8,
)


@given(batches)
def test_every_tag_and_every_float_comes_back(tmp_path_factory, given_batches):
    path = wrote(tmp_path_factory.mktemp("trip") / "metrics.jsonl", *given_batches)
    found = metrics.read(path, superseded=True)
    asked = [(step, tag, value) for step, values in given_batches for tag, value in values.items()]
    assert [(record.step, record.tag) for record in found.records] == [(s, t) for s, t, _ in asked]
    for record, (_, _, value) in zip(found.records, asked, strict=True):
        assert record.number == value or (math.isnan(record.number) and math.isnan(value))
    assert found.warnings == []
    for line in path.read_bytes().splitlines():
        json.loads(line, parse_constant=pytest.fail)


@given(st.lists(st.one_of(st.binary(max_size=20), st.just(b"\n"), st.just(b'{"tag":"a"}\n'))))
def test_no_content_of_a_file_makes_a_reader_fail(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("noise") / "metrics.jsonl"
    path.write_bytes(b"".join(pieces) + b'\n{"tag":"a","step":1,"wall_time":2.0,"value":3.0}\n')
    record = Record("a", 1, 2.0, 3.0)
    assert metrics.read(path).records[-1] == record
    assert metrics.last(path, "a") == metrics.last_values(path)["a"] == record


@pytest.mark.parametrize(
    "line",
    [
        b'{"tag":"a","step":1,"wall_time":2.0,"value":NaN}',
        b'{"tag":"a","step":1.5,"wall_time":2.0,"value":1.0}',
        b'{"tag":7,"step":1,"wall_time":2.0,"value":1.0}',
        b'{"tag":"a","step":1,"wall_time":2.0}',
        b'{"tag":"a","step":1,"wall_time":2.0,"value":"1"}',
        b"[1]",
        b"\xff\xfe",
        b"\0" * 4096,
    ],
)
def test_a_line_that_is_no_record_is_skipped_and_said(path, line):
    wrote(path, (1, {"a": 1}))
    whole = path.read_bytes()
    path.write_bytes(whole + line + b"\n" + whole + line + b"\n" + whole)
    found = metrics.read(path)
    assert len(found.records) == 3
    assert found.warnings == [f"{path}: 2 unreadable line(s) skipped, first at line 2"]


def test_a_torn_last_line_is_skipped_and_said(path):
    wrote(path, (1, {"a": 1}), (2, {"a": 2}))
    os.truncate(path, path.stat().st_size - 7)
    found = metrics.read(path)
    assert [record.step for record in found.records] == [1]
    assert found.warnings == [f"{path}: the last line, 2, is cut and was skipped"]
    assert metrics.last(path, "a") == found.records[0]


def test_a_last_line_that_lacks_only_its_newline_is_a_record(path):
    wrote(path, (1, {"a": 1}), (2, {"a": 2}))
    os.truncate(path, path.stat().st_size - 1)
    assert steps(path, "a") == [1, 2]
    assert metrics.last(path, "a").step == 2


def test_a_writer_never_glues_its_line_to_a_torn_one(path):
    wrote(path, (1, {"a": 1}), (2, {"a": 2}))
    os.truncate(path, path.stat().st_size - 7)
    wrote(path, (2, {"a": 3}))
    found = metrics.read(path)
    assert [(record.step, record.value) for record in found.records] == [(1, 1), (2, 3)]
    assert found.warnings == [f"{path}: 1 unreadable line(s) skipped, first at line 2"]


def test_an_absent_file_has_no_records(path):
    assert metrics.read(path) == metrics.Metrics([], [])
    assert (metrics.tags(path), metrics.count(path)) == ([], 0)
    assert (metrics.last(path, "a"), metrics.last_values(path)) == (None, {})


def test_a_resume_hides_the_later_steps_above_it_and_keeps_them_in_the_file(path):
    writer = MetricsWriter(path)
    for step in (10, 20, 30):
        writer.write(step, {"a": step})
    writer.resume(20)
    writer.write(30, {"a": 31})
    writer.close()
    assert [record.value for record in metrics.read(path).series("a")] == [10, 20, 31]
    assert [record.value for record in metrics.read(path, superseded=True).series("a")] == [
        10,
        20,
        30,
        31,
    ]
    assert steps(path, metrics.RESUMED) == [20]
    assert metrics.count(path) == 4


def test_the_latest_of_several_resumes_hides_what_earlier_ones_left(path):
    writer = MetricsWriter(path)
    for step in (10, 20, 30):
        writer.write(step, {"a": step})
    writer.resume(20)
    writer.write(40, {"a": 40})
    writer.resume(10)
    writer.write(20, {"a": 21})
    writer.resume(20)
    writer.close()
    assert [record.value for record in metrics.read(path).series("a")] == [10, 21]
    assert steps(path, metrics.RESUMED) == [10, 20]
    assert metrics.last(path, "a").value == 21


marked = st.lists(st.tuples(st.sampled_from(["a", "b", metrics.RESUMED]), st.integers(0, 9)))


@given(marked)
def test_reading_from_either_end_agrees_with_the_rule(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("marks") / "metrics.jsonl"
    writer = MetricsWriter(path)
    standing: list[tuple[str, int]] = []
    for tag, step in lines:
        writer.write(step, {tag: step})
        if tag == metrics.RESUMED:
            standing = [line for line in standing if line[1] <= step]
        standing.append((tag, step))
    writer.close()
    found = metrics.read(path)
    assert [(record.tag, record.step) for record in found.records] == standing
    newest = {record.tag: record for record in found.records}
    assert metrics.last_values(path) == newest
    assert {tag: metrics.last(path, tag) for tag in newest} == newest
    assert metrics.tags(path) == found.tags
    assert metrics.count(path) == len(standing)


def test_tags_are_chosen_by_name_or_pattern(path):
    wrote(path, (1, {"episode/return": 1, "episode/length": 2, "loss[0]": 3, "time/fps": 4}))

    def chosen(tags):
        return metrics.read(path, tags=tags).tags

    assert chosen("episode/*") == ["episode/return", "episode/length"]
    assert chosen(["time/fps", "*/length"]) == ["episode/length", "time/fps"]
    assert chosen("loss[0]") == ["loss[0]"]
    assert chosen([]) == []


def test_a_hidden_line_stays_hidden_when_the_chosen_tags_leave_the_resume_out(path):
    writer = MetricsWriter(path)
    writer.write(30, {"a": 1})
    writer.resume(20)
    writer.close()
    assert metrics.read(path, tags="a").records == []


def test_the_last_values_are_found_at_the_end_of_a_file_too_big_to_read(path):
    hole = 4 << 30
    wrote(path, (1, {"old": 1}))
    os.truncate(path, hole)
    wrote(path, (5, {"a": 1, "b": 2}), (6, {"a": 3}))
    assert path.stat().st_blocks * 512 < 1 << 20
    last = metrics.last_values(path)
    assert {tag: (record.step, record.value) for tag, record in last.items()} == {
        "a": (6, 3),
        "b": (5, 2),
    }
    assert metrics.last(path, "old", budget=1 << 20) is None


def test_lines_longer_than_a_block_are_read_from_the_end(path):
    wrote(path, (1, {"a": 1}), (2, {"long/" * 40_000: 2}), (3, {"b": 3}))
    assert [record.step for record in metrics.last_values(path).values()] == [1, 3, 2]


def test_fifty_thousand_lines_are_written_and_read(path):
    writer = MetricsWriter(path)
    for step in range(10_000):
        writer.write(step, dict.fromkeys("abcde", step / 7))
    writer.close()
    assert metrics.count(path) == 50_000
    assert metrics.last(path, "c").step == 9_999


def test_runs_are_compared_on_the_steps_that_all_have_reached(tmp_path):
    fast = wrote(tmp_path / "fast", *((step, {"r": step}) for step in range(10, 210, 10)))
    slow = wrote(tmp_path / "slow", (50, {"r": 5}), (75, {"r": math.nan}), (100, {"r": -1}))
    other = wrote(tmp_path / "other", (1000, {"loss": 1}))
    table = metrics.compare({"fast": fast, "slow": slow, "other": other}, "r", points=4)
    assert table.steps == [25, 50, 75, 100]
    assert table.values == {
        "fast": [20, 50, 70, 100],
        "slow": [None, 5, None, -1],
        "other": [None] * 4,
    }
    assert table.summaries == {
        "fast": metrics.Summary(points=20, final_step=200, final=200, low=10, high=200),
        "slow": metrics.Summary(points=3, final_step=100, final=-1, low=-1, high=5),
        "other": None,
    }


def test_a_comparison_of_nothing_is_empty(tmp_path):
    table = metrics.compare({"one": tmp_path / "none"}, "r")
    assert (table.steps, table.values, table.summaries) == ([], {"one": []}, {"one": None})


LOOP = """
import sys
from pathlib import Path
from srb_train.runs.metrics import MetricsWriter
writer = MetricsWriter(Path(sys.argv[1]))
step = 0
while True:
    step += 1
    writer.write(step, {"a": step, "b": step / 3, "c": step * 2})
    print(step, flush=True)
"""


def test_a_killed_writer_loses_no_line_that_it_wrote(path):
    whole: list[int] = []
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE, text=True
        )
        with process:
            told = [int(process.stdout.readline()) for _ in range(500)]
            assert metrics.last(path, "a").step >= told[-1]
            process.send_signal(signal.SIGKILL)
            told += [int(line) for line in process.stdout if line.endswith("\n")]
        found = metrics.read(path)
        assert found.warnings == []
        written = [record.step for record in found.series("c")][len(whole) :]
        assert written == list(range(1, len(written) + 1))
        assert len(written) >= told[-1]
        whole += written


FULL = """
import resource, signal, sys
from pathlib import Path
from srb_train.runs.metrics import MetricsWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = MetricsWriter(Path(sys.argv[1]))
writer.write(1, {"a": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (70, resource.RLIM_INFINITY))
try:
    writer.write(2, {"a": 2})
except OSError as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.write(3, {"a": 3})
writer.flush()
writer.close()
"""


def test_a_full_disk_is_an_error_and_the_next_line_stands_alone(path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "OSError\n"
    assert steps(path, "a") == [1, 3]


def test_a_closed_writer_says_so(path):
    writer = MetricsWriter(path)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(1, {"a": 1})


def test_reading_metrics_needs_no_numpy_and_no_framework():
    code = "import sys, srb_train.runs.metrics; print({'numpy', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
