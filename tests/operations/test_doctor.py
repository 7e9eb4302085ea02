"""The doctor looks at the machine, says the way out, and changes nothing."""

import json

import pytest

from srb_train.operations.doctor import doctor


def named(found):
    return {row["name"]: row for row in found["findings"]}


def test_every_trouble_has_a_way_out_and_all_is_json(tmp_path):
    found = doctor(tmp_path)
    assert json.loads(json.dumps(found)) == found
    for row in found["findings"]:
        assert (row["advice"] is None) == (row["state"] == "ok")


def test_the_state_is_the_worst_finding(tmp_path):
    found = doctor(tmp_path)
    states = {row["state"] for row in found["findings"]}
    assert found["state"] == next(one for one in ("fail", "warn", "ok") if one in states)


def test_nothing_is_left_in_the_log_root(tmp_path):
    doctor(tmp_path / "not" / "there")
    assert list(tmp_path.iterdir()) == []


def test_a_log_root_that_cannot_be_written_is_a_failure_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    found = doctor(tmp_path / "file" / "logs")
    row = named(found)["log root"]
    assert (found["state"], row["state"]) == ("fail", "fail")
    assert "--logdir" in row["advice"]


def test_every_family_and_backend_is_looked_at(tmp_path):
    names = named(doctor(tmp_path))
    assert "family toy" in names
    assert any(name.startswith("tasks ") for name in names)


def test_a_thread_count_of_the_shell_is_told(tmp_path):
    found = named(doctor(tmp_path, {"OMP_NUM_THREADS": "3"}))
    assert "OMP_NUM_THREADS=3" in found["processors"]["value"]


@pytest.mark.parametrize("environ", [{"MUJOCO_GL": "egl"}, {"DISPLAY": ":0"}])
def test_drawing_is_fine_with_a_display_or_a_headless_driver(tmp_path, environ):
    assert named(doctor(tmp_path, environ))["rendering"]["state"] == "ok"
