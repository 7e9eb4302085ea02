"""run.json: every field always, pure changes, segments that tell how each stretch ended."""

import copy
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srb_train.errors import IntegrityError, UsageError
from srb_train.runs import files, record

OWN = {"run_id": "landing/sb3_ppo/x", "sequence": 5}


@pytest.fixture
def fresh(spec):
    return record.new(spec, {**OWN, "implementation": "sb3", "host": "here"})


def test_a_new_record_has_every_field_and_null_where_nothing_is_known(fresh):
    assert set(fresh) == set(record.FIELDS)
    assert fresh["schema_version"] == 1
    assert fresh["status"] == "reserved"
    assert fresh["algorithm"] == fresh["workflow"] == "sb3_ppo"
    assert fresh["task"] == "landing"
    assert (fresh["budget"], fresh["num_envs"], fresh["seed"]) == (1000, 2, 7)
    assert re.fullmatch(r"\d{4}-.*\+00:00", fresh["created_at"])
    for name in ("ended_at", "exit_code", "failure", "pid", "gpu", "srb_commit", "checkpoints"):
        assert fresh[name] is None
    assert fresh["simulator"] == {"isaac_sim": None, "isaac_lab": None}


def test_records_share_no_memory(spec):
    one, other = record.new(spec, OWN), record.new(spec, OWN)
    one["overrides"].append("x")
    one["simulator"]["isaac_sim"] = "5"
    assert other["overrides"] == []
    assert record.FIELDS["overrides"] == []
    assert other["simulator"]["isaac_sim"] is None


def test_a_fact_or_a_change_that_nobody_knows_is_refused_by_name(spec, fresh):
    with pytest.raises(UsageError, match=r"no field stepp"):
        record.patch(fresh, stepp=1)
    with pytest.raises(UsageError, match=r"no field colour"):
        record.new(spec, {"colour": "red"})
    with pytest.raises(UsageError, match="status='done' is none of reserved, starting"):
        record.patch(fresh, status="done")
    with pytest.raises(UsageError, match=r"run\.json: step=None is of the wrong type"):
        record.patch(fresh, step=None)


def test_a_change_leaves_the_record_it_was_made_from_alone(fresh):
    before = copy.deepcopy(fresh)
    record.patch(fresh, step=3)
    opened = record.open_segment(fresh, pid=1)
    record.close_segment(opened, "completed", to_step=9)
    assert fresh == before
    assert opened["segments"][0]["to_step"] is None


def test_metrics_that_are_not_finite_are_null(fresh):
    changed = record.patch(fresh, metrics={"a": math.nan, "b": math.inf, "c": 1, "d": None})
    assert changed["metrics"] == {"a": None, "b": None, "c": 1.0, "d": None}


def test_the_digest_ignores_order_and_secrets_but_no_value(spec):
    one = record.hyperparameters_digest({"a": 1, "b": {"c": 2}, "api_key": "one"})
    same = record.hyperparameters_digest({"b": {"c": 2}, "a": 1, "api_key": "two"})
    other = record.hyperparameters_digest({"a": 1, "b": {"c": 3}, "api_key": "one"})
    assert one == same != other
    assert re.fullmatch(r"[0-9a-f]{64}", one)


def test_a_segment_opens_and_closes_with_the_record(fresh):
    opened = record.open_segment(fresh, pid=42, host="here", changes={"agent.lr": [1, 2]})
    assert (opened["status"], opened["pid"], opened["step"]) == ("starting", 42, 0)
    assert opened["started_at"] == opened["segments"][0]["started_at"]
    closed = record.close_segment(opened, "stopped", to_step=300, signal="SIGINT", exit_code=130)
    (segment,) = closed["segments"]
    assert set(segment) == set(record.SEGMENT)
    assert (segment["from_step"], segment["to_step"], segment["budget"]) == (0, 300, 1000)
    for place in (closed, segment):
        assert place["status"] == "stopped"
        assert (place["signal"], place["exit_code"]) == ("SIGINT", 130)
        assert place["ended_at"] >= place["started_at"]
    assert closed["step"] == 300


def test_a_run_that_goes_on_forgets_its_end_and_keeps_its_story(fresh):
    first = record.close_segment(
        record.open_segment(fresh, pid=1),
        "failed",
        to_step=250,
        exit_code=1,
        failure={"category": "workflow_failure", "message": "lost"},
    )
    resumed = record.patch(
        first,
        budget=2000,
        resumed_from={"run": "landing/sb3_ppo/x", "checkpoint": "ckpt/200", "step": 200},
    )
    second = record.open_segment(resumed, pid=2)
    assert (second["status"], second["failure"], second["exit_code"]) == ("starting", None, None)
    assert second["ended_at"] is None
    assert second["step"] == 200
    assert second["started_at"] == first["started_at"]
    assert [part["from_step"] for part in second["segments"]] == [0, 200]
    assert [part["budget"] for part in second["segments"]] == [1000, 2000]
    assert [part["status"] for part in second["segments"]] == ["failed", None]


def test_a_stretch_whose_process_vanished_is_lost_when_the_next_begins(fresh):
    vanished = record.open_segment(fresh, pid=1)
    second = record.open_segment(vanished, pid=2, from_step=100)
    assert [part["status"] for part in second["segments"]] == ["lost", None]
    assert second["segments"][0]["ended_at"] is None


def test_a_stretch_opened_for_a_process_to_come_is_taken_over_by_it(fresh):
    awaited = record.open_segment(fresh, from_step=100, changes={"agent.lr": [1, 2]})
    taken = record.open_segment(awaited, pid=2)
    (segment,) = taken["segments"]
    assert (segment["from_step"], segment["pid"]) == (100, 2)
    assert segment["changes"] == {"agent.lr": [1, 2]}


def test_an_end_without_a_beginning_still_ends_the_record(fresh):
    failed = record.close_segment(fresh, "failed", exit_code=2, to_step=None)
    assert (failed["status"], failed["exit_code"], failed["segments"]) == ("failed", 2, [])
    assert failed["step"] == 0
    with pytest.raises(UsageError, match="ends nothing"):
        record.close_segment(fresh, "running")
    with pytest.raises(UsageError, match=r"segment of run\.json has no field colour"):
        record.open_segment(fresh, colour="red")


def test_a_record_survives_the_disk(fresh, tmp_path):
    files.write_json(tmp_path / "run.json", fresh)
    assert record.load(tmp_path / "run.json") == fresh


def test_a_field_of_another_version_is_kept_and_a_missing_one_is_null(fresh, tmp_path):
    path = tmp_path / "run.json"
    del fresh["gpu"]
    files.write_json(path, {**fresh, "flavour": "new"})
    loaded = record.load(path)
    assert loaded["gpu"] is None
    assert record.patch(loaded, step=4)["flavour"] == "new"


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_schema_is_an_integrity_error_with_both_versions(fresh, tmp_path, version):
    files.write_json(tmp_path / "run.json", {**fresh, "schema_version": version})
    with pytest.raises(IntegrityError, match=rf"schema version {version}.*reads version 1"):
        record.load(tmp_path / "run.json")


@given(name=st.sampled_from(sorted(record.FIELDS)), value=st.sampled_from([None, 3, "x", [], {}]))
def test_whatever_one_field_becomes_a_record_loads_or_names_its_file(tmp_path_factory, name, value):
    path = tmp_path_factory.mktemp("record") / "run.json"
    data = {**record.FIELDS, **OWN, "created_at": "2026", name: value}
    path.write_text(json.dumps(data))
    try:
        loaded = record.load(path)
    except IntegrityError as error:
        assert str(path) in str(error)
    else:
        assert isinstance(loaded["created_at"] + loaded["run_id"], str)
        assert isinstance(loaded["sequence"], int)


def test_something_else_than_an_object_is_damaged(tmp_path):
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(IntegrityError, match="it is no record"):
        record.load(tmp_path / "run.json")
