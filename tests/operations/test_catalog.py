"""Labels and tasks are listed from their plates."""

import json

from srb_train import registry
from srb_train.operations import catalog


def test_every_label_has_a_row_with_the_same_fields():
    rows = catalog.algos()
    assert [row["label"] for row in rows] == list(registry.labels())
    assert len({tuple(row) for row in rows}) == 1
    assert json.loads(json.dumps(rows)) == rows


def test_every_task_has_a_row_with_the_same_fields():
    rows = catalog.envs()
    assert [row["task"] for row in rows] == list(registry.tasks())
    assert len({tuple(row) for row in rows}) == 1
    assert json.loads(json.dumps(rows)) == rows


def test_a_label_that_needs_nothing_is_installed():
    (row,) = [row for row in catalog.algos() if row["label"] == "toy_cem"]
    assert (row["installed"], row["missing"], row["install"]) == (True, [], None)


def test_what_is_not_installed_comes_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(registry, "missing", lambda plate: ["absent_framework"])
    row = next(row for row in catalog.algos() if row["family"] == "sb3")
    assert row["install"] == 'pip install "srb-train[sb3]"'
