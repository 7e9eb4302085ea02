"""Event files: written for TensorBoard, read through damage, exported without losing a record."""

import json
import math
import os
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import types_pb2 as types
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from srb_train.errors import UsageError
from srb_train.runs import frames, metrics, status, tensorboard
from srb_train.runs.heartbeat import Heartbeat
from srb_train.runs.metrics import RESUMED, MetricsWriter
from srb_train.runs.tensorboard import EventWriter


def event_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("events.out.tfevents*"))


def wrote(directory: Path, steps=range(10), purge_step=None, clock=lambda: 1000.5) -> Path:
    before = set(event_files(directory))
    writer = EventWriter(directory, purge_step=purge_step, clock=clock)
    for step in steps:
        writer.write(step, {"a": step, "b": step / 4})
    writer.close()
    (file,) = set(event_files(directory)) - before
    return file


def message_file(directory: Path, *messages: bytes) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "events.out.tfevents.1.host"
    path.write_bytes(b"".join(frames.frame(message) for message in messages))
    return path


def steps(records, tag="a") -> list[int]:
    return [record.step for record in records if record.tag == tag]


def lines(path: Path) -> list[tuple[str, int, float | None]]:
    loaded = [
        json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()
    ]
    return [(line["tag"], line["step"], line["value"]) for line in loaded]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "srb_train.runs.tensorboard", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


# Writing


def test_tensorboard_reads_what_is_written(tmp_path):
    wrote(tmp_path)
    reader = EventAccumulator(str(tmp_path)).Reload()
    assert reader.Tags()["scalars"] == ["a", "b"]
    assert [(point.wall_time, point.step, point.value) for point in reader.Scalars("b")] == [
        (1000.5, step, step / 4) for step in range(10)
    ]


def test_tensorboard_hides_what_a_resume_superseded(tmp_path):
    wrote(tmp_path, range(0, 50, 10))
    wrote(tmp_path, range(30, 50, 10), purge_step=20)
    points = EventAccumulator(str(tmp_path)).Reload().Scalars("a")
    assert [point.step for point in points] == [0, 10, 20, 30, 40]


def test_a_later_file_sorts_behind_even_when_the_clock_was_set_back(tmp_path):
    first = wrote(tmp_path, clock=lambda: 2000.0)
    assert wrote(tmp_path, clock=lambda: 1000.0).name > first.name


def test_every_batch_is_readable_before_the_writer_closes(tmp_path):
    writer = EventWriter(tmp_path)
    writer.write(7, {"a": math.nan, "c": math.inf, "d": -math.inf, "e": 1e300})
    (file,) = event_files(tmp_path)
    records, warnings = tensorboard.scalars(file)
    assert [record.nonfinite for record in records] == ["nan", "inf", "-inf", "inf"]
    assert warnings == []
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(8, {"a": 1})


FULL = """
import resource, signal, sys
from pathlib import Path
from srb_train.runs.tensorboard import EventWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = EventWriter(Path(sys.argv[1]))
writer.write(1, {"a": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    writer.write(2, {"a": 2})
except OSError as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.write(3, {"a": 3})
writer.flush()
"""


def test_a_full_disk_is_an_error_that_leaves_the_file_whole(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "OSError\n"
    (file,) = event_files(tmp_path)
    records, warnings = tensorboard.scalars(file)
    assert (steps(records), warnings) == ([1, 3], [])


# Reading


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.dictionaries(st.text(), st.floats(width=32), min_size=1, max_size=3),
        ),
        max_size=5,
    )
)
def test_every_tag_step_and_float_comes_back(tmp_path_factory, batches):
    directory = tmp_path_factory.mktemp("trip")
    writer = EventWriter(directory)
    for step, values in batches:
        writer.write(step, values)
    writer.close()
    records, warnings = tensorboard.scalars(*event_files(directory))
    asked = [(step, tag, value) for step, values in batches for tag, value in values.items()]
    assert [(record.step, record.tag) for record in records] == [(s, t) for s, t, _ in asked]
    for record, (_, _, value) in zip(records, asked, strict=True):
        assert record.number == value or (math.isnan(record.number) and math.isnan(value))
    assert warnings == []


TENSORS = [
    (TensorProto(dtype=types.DT_FLOAT, float_val=[0.5]), 0.5),
    (TensorProto(dtype=types.DT_FLOAT, tensor_content=struct.pack("<f", 0.5)), 0.5),
    (TensorProto(dtype=types.DT_DOUBLE, double_val=[0.1]), 0.1),
    (TensorProto(dtype=types.DT_DOUBLE, tensor_content=struct.pack("<d", 0.1)), 0.1),
    (TensorProto(dtype=types.DT_HALF, half_val=[0x3800]), 0.5),
    (TensorProto(dtype=types.DT_HALF, tensor_content=struct.pack("<e", 0.5)), 0.5),
    (TensorProto(dtype=types.DT_BFLOAT16, half_val=[0x3F00]), 0.5),
    (TensorProto(dtype=types.DT_BFLOAT16, tensor_content=b"\x00\x3f"), 0.5),
    (TensorProto(dtype=types.DT_INT32, int_val=[-3]), -3),
    (TensorProto(dtype=types.DT_INT64, tensor_content=struct.pack("<q", 2**40)), 2**40),
    (TensorProto(dtype=types.DT_UINT8, tensor_content=b"\x07"), 7),
    (TensorProto(dtype=types.DT_BOOL, bool_val=[True]), 1),
    (TensorProto(dtype=types.DT_FLOAT, float_val=[1, 2]), None),
    (TensorProto(dtype=types.DT_FLOAT), None),
    (TensorProto(dtype=types.DT_STRING, string_val=[b"text"]), None),
    (TensorProto(dtype=99, float_val=[]), None),
]


@pytest.mark.parametrize(("tensor", "number"), TENSORS)
def test_scalars_written_as_tensors_are_read(tmp_path, tensor, number):
    owner = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    values = [
        Summary.Value(tag="x", tensor=tensor, metadata=owner),
        Summary.Value(tag="text", tensor=tensor),
    ]
    later = Summary.Value(tag="x", tensor=tensor)
    path = message_file(
        tmp_path,
        Event(step=1, wall_time=2.0, summary=Summary(value=values)).SerializeToString(),
        Event(step=2, wall_time=3.0, summary=Summary(value=[later])).SerializeToString(),
    )
    records, warnings = tensorboard.scalars(path)
    expected = [] if number is None else [("x", 1, number), ("x", 2, number)]
    assert [(record.tag, record.step, record.value) for record in records] == expected
    assert warnings == []


def test_a_cut_tail_costs_one_record_and_is_said(tmp_path):
    file = wrote(tmp_path)
    os.truncate(file, file.stat().st_size - 7)
    records, (warning,) = tensorboard.scalars(file)
    assert steps(records) == list(range(9))
    assert str(file) in warning and "cut" in warning


def test_a_tail_of_zeros_costs_nothing_and_is_said(tmp_path):
    file = wrote(tmp_path)
    size = file.stat().st_size
    os.truncate(file, size + 100_000)
    records, (warning,) = tensorboard.scalars(file)
    assert steps(records) == list(range(10))
    assert f"the last 100000 bytes, from byte {size} on, are zeros" in warning


@pytest.mark.parametrize("place", [0, 9, 20, 40])
def test_an_altered_frame_in_the_middle_costs_only_itself(tmp_path, place):
    file = wrote(tmp_path)
    data = bytearray(file.read_bytes())
    with file.open("rb") as stream:
        offset = [offset for offset, _ in frames.messages(stream, [])][5]
    data[offset + place] ^= 0x10
    file.write_bytes(data)
    records, (warning,) = tensorboard.scalars(file)
    assert steps(records) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert f"from byte {offset} on" in warning


def test_bytes_lost_in_the_middle_cost_only_their_frames(tmp_path):
    file = wrote(tmp_path)
    data = file.read_bytes()
    with file.open("rb") as stream:
        offset = [offset for offset, _ in frames.messages(stream, [])][5]
    file.write_bytes(data[: offset + 20] + data[offset + 25 :])
    records, (warning,) = tensorboard.scalars(file)
    assert steps(records) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert str(file) in warning


@given(st.data())
def test_no_damage_makes_the_reader_fail_or_invent_a_record(tmp_path_factory, data):
    file = wrote(tmp_path_factory.mktemp("harm"))
    whole, _ = tensorboard.scalars(file)
    content = bytearray(file.read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(start, len(content)))
    content[start:end] = data.draw(st.binary(max_size=40))
    file.write_bytes(content)
    records, _ = tensorboard.scalars(file)
    assert set(records) <= set(whole)


def test_an_empty_file_has_no_scalars_and_no_damage(tmp_path):
    path = message_file(tmp_path)
    assert tensorboard.scalars(path) == ([], [])


@pytest.mark.parametrize("content", [b"hello", random.Random(1).randbytes(3000)])
def test_a_file_that_is_no_event_file_is_said(tmp_path, content):
    path = message_file(tmp_path)
    path.write_bytes(content)
    records, (warning,) = tensorboard.scalars(path)
    assert records == [] and str(path) in warning


def test_whole_frames_that_hold_no_event_are_said_in_one_sentence(tmp_path):
    path = message_file(tmp_path, *[b"\xff\xff"] * 5)
    records, (warning,) = tensorboard.scalars(path)
    assert records == [] and "holds no event" in warning and "(and 2 more)" in warning


# Exporting


def test_an_export_is_sorted_by_step_tag_and_time_and_keeps_duplicates(tmp_path):
    wrote(tmp_path, [2, 1], clock=lambda: 20.0)
    wrote(tmp_path, [1], clock=lambda: 10.0)
    done = tensorboard.export(tmp_path)
    path = tmp_path / "metrics.jsonl"
    assert done == tensorboard.Export([tensorboard.Exported(path, 6)], [])
    assert lines(path) == [
        ("a", 1, 1),
        ("a", 1, 1),
        ("b", 1, 0.25),
        ("b", 1, 0.25),
        ("a", 2, 2),
        ("b", 2, 0.5),
    ]
    assert [record.wall_time for record in metrics.read(path).records[:2]] == [10.0, 20.0]


def test_a_value_that_is_not_finite_is_exported_as_null_with_its_name(tmp_path):
    writer = EventWriter(tmp_path)
    writer.write(1, {"q": math.nan})
    writer.close()
    tensorboard.export(tmp_path)
    (line,) = (tmp_path / "metrics.jsonl").read_text().splitlines()
    found = json.loads(line, parse_constant=pytest.fail)
    assert (found["value"], found["nonfinite"]) == (None, "nan")


def test_exporting_twice_changes_nothing(tmp_path):
    wrote(tmp_path)
    wrote(tmp_path, range(5, 12), purge_step=4)
    tensorboard.export(tmp_path)
    path = tmp_path / "metrics.jsonl"
    before = (path.stat().st_ino, path.read_bytes())
    (item,) = tensorboard.export(tmp_path).files
    assert "already holds" in item.skipped
    assert (path.stat().st_ino, path.read_bytes()) == before
    assert sorted(
        file.name for file in tmp_path.iterdir() if file not in event_files(tmp_path)
    ) == ["metrics.jsonl"]


def test_every_folder_with_event_files_gets_its_own_file(tmp_path):
    wrote(tmp_path / "one" / "tensorboard")
    wrote(tmp_path / "two")
    (tmp_path / "three").mkdir()
    done = tensorboard.export(tmp_path)
    assert [item.path for item in done.files] == [
        tmp_path / "one" / "tensorboard" / "metrics.jsonl",
        tmp_path / "two" / "metrics.jsonl",
    ]
    assert len(list(tmp_path.rglob("metrics.jsonl"))) == 2


def live_run(directory: Path, count: int = 10) -> Path:
    """A run that was stopped at step `count`, and resumed from the half of it."""
    half = count // 2
    writer, events = MetricsWriter(directory / "metrics.jsonl"), EventWriter(directory)
    for step in range(count):
        for sink in (writer, events):
            sink.write(step, {"a": step})
    writer.resume(half)
    events = EventWriter(directory, purge_step=half)
    for step in range(half + 1, count):
        for sink in (writer, events):
            sink.write(step, {"a": -step})
    return directory / "metrics.jsonl"


def test_a_live_file_that_holds_everything_is_left_alone(tmp_path):
    path = live_run(tmp_path)
    before = path.read_bytes()
    (item,) = tensorboard.export(tmp_path).files
    assert "already holds" in item.skipped and item.records == 15
    assert path.read_bytes() == before


def test_a_lost_live_file_comes_back_with_its_resume(tmp_path):
    path = live_run(tmp_path)
    standing = [(record.tag, record.step, record.value) for record in metrics.read(path).records]
    path.unlink()
    tensorboard.export(tmp_path)
    found = metrics.read(path).records
    assert [(record.tag, record.step, record.value) for record in found] == standing
    assert metrics.last(path, "a").value == -9


@pytest.mark.parametrize("kept", range(16))
def test_a_live_file_that_lost_lines_gains_them_and_loses_none(tmp_path, kept):
    path = live_run(tmp_path)
    content = path.read_bytes().splitlines(keepends=True)
    standing = metrics.read(path).records
    extra = b'{"tag":"only/live","step":3,"wall_time":1.0,"value":0.1}\n'
    path.write_bytes(extra + b"".join(content[:kept]))
    tensorboard.export(tmp_path)
    found = metrics.read(path, superseded=True)
    assert len(found.records) == 16 and found.warnings == []
    assert set(path.read_bytes().splitlines(keepends=True)) >= {extra, *content[:kept]}
    now = [(record.tag, record.step, record.value) for record in metrics.read(path).records]
    assert [line for line in now if line[0] != "only/live"] == [
        (record.tag, record.step, record.value) for record in standing
    ]


def test_a_framework_that_resumed_without_saying_so_keeps_both_series(tmp_path):
    wrote(tmp_path, range(5))
    wrote(tmp_path, range(3, 8))
    tensorboard.export(tmp_path)
    assert steps(metrics.read(tmp_path / "metrics.jsonl").records) == [0, 1, 2, 3, 3, 4, 4, 5, 6, 7]


def claim(directory: Path, **changes: object) -> None:
    heartbeat = {
        "pid": os.getpid(),
        "started": status.process_started(os.getpid()),
        "boot_id": status.boot_id(),
        "host": status.this_host(),
        "time": time.time(),
    }
    (directory / "heartbeat.json").write_text(json.dumps({**heartbeat, **changes}))


def test_a_run_that_a_living_process_writes_is_touched_only_by_force(tmp_path):
    wrote(tmp_path)
    Heartbeat(tmp_path / "heartbeat.json").beat()
    (item,) = tensorboard.export(tmp_path).files
    assert f"process {os.getpid()} still writes" in item.skipped and "--force" in item.skipped
    assert not item.path.exists()
    (item,) = tensorboard.export(tmp_path, force=True).files
    assert (item.skipped, item.records) == (None, 20)


def test_a_run_with_a_fresh_heartbeat_from_another_host_is_not_touched(tmp_path):
    wrote(tmp_path)
    claim(tmp_path, host="elsewhere", boot_id="another")
    (item,) = tensorboard.export(tmp_path).files
    assert "on elsewhere still writes" in item.skipped
    claim(tmp_path, host="elsewhere", boot_id="another", time=time.time() - 3600)
    (item,) = tensorboard.export(tmp_path).files
    assert item.skipped is None


@pytest.mark.parametrize("text", ["", "[]", '{"pid": null}', '{"pid": 1'])
def test_a_heartbeat_that_cannot_be_read_does_not_matter(tmp_path, text):
    wrote(tmp_path)
    (tmp_path / "heartbeat.json").write_text(text)
    (item,) = tensorboard.export(tmp_path).files
    assert item.skipped is None


@pytest.mark.parametrize("changes", [{"started": 1.0}, {"boot_id": "earlier"}, {"pid": 2**30}])
def test_a_heartbeat_of_a_dead_process_does_not_matter(tmp_path, changes):
    wrote(tmp_path)
    claim(tmp_path, **changes)
    (item,) = tensorboard.export(tmp_path).files
    assert item.skipped is None


def test_exporters_at_the_same_time_do_not_clash(tmp_path):
    wrote(tmp_path, range(2000))
    arguments = [sys.executable, "-m", "srb_train.runs.tensorboard", str(tmp_path)]
    started = [
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    told = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert [errors for _, errors in told] == ["", "", ""]
    assert sum("already holds" in text for text, _ in told) == 2
    assert metrics.count(tmp_path / "metrics.jsonl") == 4000
    assert {file.suffix for file in tmp_path.iterdir()} == {".jsonl", ".0"}


def test_fifty_thousand_records_are_exported(tmp_path):
    writer = EventWriter(tmp_path)
    for step in range(10_000):
        writer.write(step, dict.fromkeys("abcde", step / 7))
    writer.close()
    assert tensorboard.export(tmp_path).files[0].records == 50_000


# The command


def test_the_command_exports_a_cut_file_with_one_warning(tmp_path):
    file = wrote(tmp_path)
    os.truncate(file, file.stat().st_size - 7)
    done = command(tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/metrics.jsonl: 18 records\n")
    (warning,) = done.stderr.splitlines()
    assert str(file) in warning
    again = command(tmp_path)
    assert again.returncode == 0 and "skipped" in again.stdout and "18 records" in again.stdout


def test_the_command_refuses_a_directory_without_event_files_before_it_writes(tmp_path):
    wrote(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "absent"):
        done = command(tmp_path / "run", tmp_path / wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ") and wrong in done.stderr
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    with pytest.raises(UsageError):
        tensorboard.export(tmp_path / "empty")


def test_the_command_without_a_directory_shows_its_usage():
    done = command()
    assert done.returncode == 2 and "usage" in done.stderr


def test_event_files_need_no_tensorflow_no_torch_and_no_numpy():
    code = (
        "import sys, srb_train.runs.tensorboard\n"
        "print({'numpy', 'torch', 'tensorflow', 'grpc'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_resume_in_an_event_file_is_read_as_one(tmp_path):
    records, _ = tensorboard.scalars(wrote(tmp_path, [21], purge_step=20))
    assert (records[0].tag, records[0].step) == (RESUMED, 20)
