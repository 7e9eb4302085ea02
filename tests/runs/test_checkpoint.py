"""Checkpoints appear whole or not at all, prove what they hold, and are ordered by number."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srb_train.errors import IntegrityError, StopTraining, TrainingFailed, UsageError
from srb_train.runs import checkpoint, files
from srb_train.runs.checkpoint import MANIFEST, Checkpoint, Checkpoints


def writing(content: str = "weights"):
    """Return what writes a model, and a part of it in a folder of its own."""

    def write(folder: Path) -> dict[str, object]:
        (folder / "model.bin").write_text(content)
        (folder / "parts").mkdir()
        (folder / "parts" / "optimizer.bin").write_text(content * 2)
        return {"grade": "exact", "components": {"restored": ["model"], "reset": []}}

    return write


@pytest.fixture
def store(tmp_path):
    return Checkpoints(tmp_path / "ckpt", keep=3)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def steps(store: Checkpoints) -> list[int]:
    return [found.step for found in store.all()]


def test_a_commit_is_a_folder_with_a_manifest_over_every_file(store):
    made = store.commit(1000, writing(), {"score": 2.5, "family": "sb3", "parent_step": 900})
    assert made.path == store.folder / "1000"
    assert made.open() == made.path
    manifest = json.loads((made.path / MANIFEST).read_text())
    assert set(manifest["files"]) == {"model.bin", "parts/optimizer.bin"}
    assert manifest["files"]["model.bin"] == {
        "sha256": files.digest(made.path / "model.bin"),
        "size": 7,
    }
    assert (manifest["step"], manifest["schema_version"]) == (1000, 1)
    assert (manifest["family"], manifest["grade"], manifest["parent_step"]) == ("sb3", "exact", 900)
    assert manifest["components"]["restored"] == ["model"]
    assert (manifest["label"], manifest["versions"]) == (None, {})
    assert (made.step, made.score, made.size) == (1000, 2.5, 21)
    assert names(store.folder) == ["1000"]


def test_facts_are_redacted_and_cannot_change_what_the_folder_is(store):
    facts = {"step": 5, "files": {}, "schema_version": 9, "api_key": "abc", "score": float("nan")}
    made = store.commit(7, writing(), facts)
    assert (made.step, made.score, len(made.manifest["files"])) == (7, None, 2)
    assert made.manifest["api_key"] == "<redacted>"


def test_order_is_by_number(store):
    store.keep = 100
    for step in (2000, 10_000, 300, 1_024_000_000, 2_048_000):
        store.commit(step, writing(), {})
    assert steps(store) == [300, 2000, 10_000, 2_048_000, 1_024_000_000]
    assert store.latest().step == 1_024_000_000


@settings(max_examples=25, deadline=None)
@given(wanted=st.lists(st.integers(0, 10**12), unique=True, min_size=1, max_size=6))
def test_whatever_the_steps_the_highest_is_the_latest(tmp_path_factory, wanted):
    store = Checkpoints(tmp_path_factory.mktemp("steps") / "ckpt", keep=2)
    for step in wanted:
        store.commit(step, lambda folder: None, {"score": -step})
    assert steps(store) == sorted(
        {*sorted(wanted)[-2:], min(wanted), wanted[-1]} & set(steps(store))
    )
    assert store.latest().step == max(wanted)
    assert store.best().step == min(wanted)


def test_a_copied_and_renamed_folder_counts_when_its_manifest_agrees(store):
    store.commit(2000, writing(), {})
    for step in (2_048_000, 1_024_000_000):
        copy = store.folder / str(step)
        shutil.copytree(store.folder / "2000", copy)
        manifest = json.loads((copy / MANIFEST).read_text())
        files.write_json(copy / MANIFEST, {**manifest, "step": step})
    shutil.copytree(store.folder / "2000", store.folder / "3000000000")
    assert store.latest().step == 1_024_000_000
    assert store.warnings == ["checkpoint 3000000000 is passed over: its manifest says step 2000"]


def test_the_last_ones_and_the_best_are_kept(store):
    scores = [1.0, 9.0, 2.0, None, 3.0, 4.0, float("nan")]
    for number, score in enumerate(scores, start=1):
        store.commit(number * 100, writing(), {"score": score})
    assert names(store.folder) == ["200", "500", "600", "700"]
    assert store.best().step == 200


def test_of_equal_scores_the_later_is_the_best(store):
    for step in (100, 200, 300):
        store.commit(step, writing(), {"score": 1.0})
    assert store.best().step == 300


def test_without_a_score_there_is_no_best_and_without_a_checkpoint_no_latest(store):
    assert (store.latest(), store.best(), store.all()) == (None, None, [])
    store.commit(100, writing(), {})
    assert store.best() is None


def test_what_was_just_committed_is_kept_even_below_a_later_one(store):
    store.keep = 1
    store.commit(3000, writing(), {})
    (store.folder / "3000" / "model.bin").write_text("changed")  # as long as before
    store.commit(2500, writing(), {})
    assert store.latest().step == 2500


def test_keeping_none_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"run\.keep_checkpoints=0: at least 1"):
        Checkpoints(tmp_path, keep=0)
    with pytest.raises(UsageError, match="step=-1"):
        Checkpoints(tmp_path).commit(-1, writing(), {})


def truncated(folder):
    (folder / "model.bin").write_text("w")


def altered(folder):
    (folder / "model.bin").write_text("WEIGHTS")


def missing(folder):
    (folder / "parts" / "optimizer.bin").unlink()


def extended(folder):
    (folder / "extra.bin").touch()


def linked(folder):
    os.replace(folder / "model.bin", folder.parent.parent / "moved.bin")
    (folder / "model.bin").symlink_to(folder.parent.parent / "moved.bin")


def without_manifest(folder):
    (folder / MANIFEST).unlink()


def torn_manifest(folder):
    (folder / MANIFEST).write_text((folder / MANIFEST).read_text()[:-30])


def empty_manifest(folder):
    (folder / MANIFEST).write_text("{}")


def strange_entry(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    files.write_json(folder / MANIFEST, {**manifest, "files": {"model.bin": 7}})


def newer_schema(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    files.write_json(folder / MANIFEST, {**manifest, "schema_version": 2})


HARM = {
    truncated: r"model\.bin has 1 bytes; the manifest says 7",
    altered: r"model\.bin was altered after it was written",
    missing: r"optimizer\.bin is missing",
    extended: r"extra\.bin is not in the manifest",
    linked: r"model\.bin is a link",
    without_manifest: r"is not a checkpoint: those are folders with a manifest\.json",
    torn_manifest: r"manifest\.json is damaged",
    empty_manifest: r"it lacks a step, files or a score",
    strange_entry: r"the entry of model\.bin",
    newer_schema: r"schema version 2; this program reads 1",
}


@pytest.mark.parametrize(("harm", "words"), HARM.items(), ids=[harm.__name__ for harm in HARM])
def test_a_harmed_newest_one_is_passed_over_with_a_warning_and_refused_by_name(store, harm, words):
    for step in (100, 200):
        store.commit(step, writing(), {"score": step})
    harm(store.folder / "200")
    assert store.latest().step == 100
    (warning,) = store.warnings
    assert "checkpoint 200 is passed over" in warning
    assert store.best().step == 100
    with pytest.raises((IntegrityError, UsageError), match=words):
        Checkpoint.at_path(store.folder / "200").open()


def test_when_all_are_harmed_there_is_no_latest_and_every_reason_is_told(store):
    for step in (100, 200):
        store.commit(step, writing(), {})
    truncated(store.folder / "100")
    altered(store.folder / "200")
    assert store.latest() is None
    assert len(store.warnings) == 2


def test_a_harmed_one_takes_no_place_among_those_kept(store):
    store.keep = 2
    for step in (100, 200):
        store.commit(step, writing(), {})
    truncated(store.folder / "200")
    store.commit(300, writing(), {})
    assert steps(store) == [100, 300]


def test_strangers_beside_checkpoints_are_ignored(store):
    store.commit(100, writing(), {})
    (store.folder / "notes").mkdir()
    (store.folder / "200").touch()
    (store.folder / "²").mkdir()
    (store.folder / ".DS_Store").touch()
    assert steps(store) == [100]
    store.commit(300, writing(), {})
    assert {"notes", "200", ".DS_Store"} <= set(names(store.folder))


def test_a_step_is_found_or_the_steps_that_exist_are_told(store):
    store.commit(100, writing(), {})
    store.commit(200, writing(), {})
    assert store.at(100).step == 100
    with pytest.raises(UsageError, match="has no complete step 150; it has: 100, 200"):
        store.at(150)


def test_a_path_means_a_folder_of_any_name_or_a_file_in_it(store, tmp_path, monkeypatch):
    made = store.commit(900, writing(), {})
    copy = tmp_path / "my-epoch=3-step=900.zip"
    shutil.copytree(made.path, copy)
    for path in (copy, copy / "model.bin", copy / "parts" / "optimizer.bin", copy / "parts"):
        assert Checkpoint.at_path(path).path == copy
        assert Checkpoint.at_path(path).open() == copy
    monkeypatch.chdir(copy / "parts")
    assert Checkpoint.at_path(Path("optimizer.bin")).path == copy


def test_a_path_that_means_no_checkpoint_says_what_one_is(store, tmp_path):
    made = store.commit(900, writing(), {})
    (made.path / "stray").mkdir()
    with pytest.raises(UsageError, match="there is no such checkpoint"):
        Checkpoint.at_path(tmp_path / "none")
    for path in (tmp_path, store.folder, made.path / "stray"):
        with pytest.raises(UsageError, match=r"is not a checkpoint.*manifest\.json"):
            Checkpoint.at_path(path)


def test_committing_a_step_again_replaces_it(store):
    store.commit(100, writing("old"), {})
    store.commit(100, writing("new"), {})
    assert (store.latest().path / "model.bin").read_text() == "new"
    assert names(store.folder) == ["100"]


def test_one_that_stepped_aside_for_a_dead_process_is_still_there_and_comes_back(store):
    store.commit(100, writing(), {})
    os.rename(store.folder / "100", store.folder / ".100-replaced-00000000")
    assert store.latest().step == 100
    store.commit(200, writing(), {})
    assert names(store.folder) == ["100", "200"]


def test_a_failed_replacement_leaves_the_old_one(store, monkeypatch):
    store.commit(100, writing("old"), {})
    real = Path.rename

    def refuse(self, target):
        if target == store.folder / "100" and "replaced" not in self.name:
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(TrainingFailed, match="Input/output error"):
        store.commit(100, writing("new"), {})
    assert (store.latest().path / "model.bin").read_text() == "old"
    assert names(store.folder) == ["100"]


def full(folder):
    """Write a model onto a device that has no room."""
    (folder / "model.bin").write_text("half of it")
    with open("/dev/full", "w", buffering=1) as device:
        device.write("the rest\n")


def test_a_full_disk_leaves_the_previous_one_and_tells_the_way_out(store):
    store.commit(100, writing(), {})
    with pytest.raises(TrainingFailed) as caught:
        store.commit(200, full, {})
    said = str(caught.value)
    assert "the checkpoint of step 200 cannot be written to" in said
    assert str(store.folder) in said
    assert "No space left on device after 10 bytes" in said
    assert re.search(r"[\d,]+ bytes are free now", said)
    assert "step 100 is the newest complete one" in said
    assert "run.keep_checkpoints is 3" in said and "--logdir" in said
    assert isinstance(caught.value.__cause__, OSError)
    assert names(store.folder) == ["100"]
    assert store.latest().step == 100


LIMITED = """
import resource, sys
from pathlib import Path
from srb_train.errors import TrainingFailed
from srb_train.runs.checkpoint import Checkpoints
store = Checkpoints(Path(sys.argv[1]))
store.commit(100, lambda folder: (folder / "a").write_text("x") and None, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
def write(folder):
    for name in "abc":
        (folder / name).write_text(name * 40)
try:
    store.commit(200, write, {})
except TrainingFailed as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [10, 200])
def test_a_disk_that_refuses_the_model_or_the_manifest_leaves_the_previous_one(
    store, python, limit
):
    said, _ = python(LIMITED, store.folder, limit).communicate()
    assert "File too large" in said and "step 100 is the newest complete one" in said
    assert names(store.folder) == ["100"]
    assert store.latest().step == 100


@pytest.mark.parametrize("error", [StopTraining, KeyboardInterrupt, ValueError("shape")])
def test_whatever_else_ends_the_writing_passes_through_and_leaves_nothing(store, error):
    def write(folder):
        (folder / "model.bin").touch()
        raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        store.commit(100, write, {})
    assert names(store.folder) == []


def test_a_runtime_error_of_a_framework_stays_what_it_is(store):
    def write(folder):
        raise RuntimeError("not the disk's fault")

    with pytest.raises(RuntimeError, match="not the disk's fault"):
        store.commit(100, write, {})


def test_a_checkpoint_holds_its_files_itself(store, tmp_path):
    (tmp_path / "weights").touch()
    with pytest.raises(IntegrityError, match="is a link"):
        store.commit(1, lambda folder: (folder / "w").symlink_to(tmp_path / "weights"), {})
    assert names(store.folder) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from srb_train.runs.checkpoint import Checkpoints
def write(folder):
    (folder / "model.bin").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
Checkpoints(Path(sys.argv[1])).commit(200, write, {})
"""


def test_a_process_killed_while_it_writes_leaves_the_previous_one_and_a_trace_that_is_swept(
    store, python
):
    store.commit(100, writing(), {})
    assert python(KILLED, store.folder).wait() == -9
    assert len(names(store.folder)) == 2
    assert steps(store) == [100] and store.warnings == []
    store.commit(300, writing(), {})
    assert names(store.folder) == ["100", "300"]


def test_what_a_living_process_writes_is_not_swept(store):
    hidden = store.folder / f".200-{os.getppid()}-00000000"
    hidden.mkdir(parents=True)
    own_earlier_life = store.folder / f".200-{os.getpid()}-00000000"
    own_earlier_life.mkdir()
    store.commit(100, writing(), {})
    assert names(store.folder) == [hidden.name, "100"]


def test_a_writer_killed_at_any_line_of_a_commit_leaves_a_whole_newest_one(deaths):
    assert deaths("Commit") > 100


def test_a_writer_killed_at_any_line_of_a_replacement_leaves_the_old_or_the_new_one(deaths):
    assert deaths("Again") > 100


def test_everything_is_on_the_disk_before_the_name_appears(store, monkeypatch):
    synced, real = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))
    )
    store.commit(100, writing(), {})
    *before, last = synced
    assert last == str(store.folder)
    for name in ("model.bin", "parts/optimizer.bin", "parts", MANIFEST):
        assert any(path.endswith(f"/{name}") and "/.100-" in path for path in before)


def test_a_reader_finds_a_newest_one_while_a_writer_commits_and_drops(tmp_path, python):
    code = (
        "import sys\nfrom pathlib import Path\nfrom srb_train.runs.checkpoint import Checkpoints\n"
        "store = Checkpoints(Path(sys.argv[1]), keep=1)\n"
        "write = lambda folder: (folder / 'model').write_text('x' * 1000) and None\n"
        "store.commit(0, write, {})\nprint('begun', flush=True)\n"
        "for step in range(1, 60): store.commit(step, write, {})\n"
    )
    writer = python(code, tmp_path)
    assert writer.stdout.readline() == "begun\n"
    reader, seen = Checkpoints(tmp_path), []
    while writer.poll() is None:
        seen.append(reader.latest().step)
    assert seen == sorted(seen)
    assert reader.latest().step == 59
    assert writer.returncode == 0


def test_the_manifest_of_a_checkpoint_names_everything_that_is_promised():
    assert set(checkpoint.FACTS) == {
        "grade",
        "components",
        "score",
        "family",
        "label",
        "env",
        "versions",
        "parent_step",
        "wall",
    }
