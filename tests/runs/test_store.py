"""Runs on disk: created whole, updated by many without loss, claimed by one, found by any name."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from srb_train.errors import IntegrityError, TrainingFailed, UsageError
from srb_train.runs import files, layout, record, status
from srb_train.runs.heartbeat import Heartbeat
from srb_train.runs.store import Run, RunStore

SECRET = "Zx9Qm2Lk7Pv4Rt8Wn3Yb6Hd1"


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "logs")


def planted(store, place, **fields):
    """Put a run on the disk as the past may have left it; returns its folder."""
    path = store.root / place
    path.mkdir(parents=True)
    own = {"run_id": place, "sequence": 1, "created_at": "2026-01-01"}
    files.write_json(path / layout.RUN, {**record.FIELDS, **own, **fields}, durable=False)
    return path


def with_checkpoint(path, step=100):
    run = Run(path)
    run.checkpoints().commit(step, lambda folder: (folder / "w").write_text("x") and None, {})
    return run


def test_a_created_run_holds_all_that_is_known(store, spec):
    facts = {"implementation": "sb3", "overrides": ["run.steps=1000"], "gpu": "none"}
    params = {"agent": "gamma: 0.99\n", "env": "gravity: 9.8\n", "run": "steps: 1000"}
    run = store.create(spec, facts, {"system": {"cpu_count": 2}}, params)
    assert sorted(os.listdir(run.path)) == ["metadata.json", "params", "run.json", "spec.json"]
    assert run.path.parent == store.root / "landing" / "sb3_ppo"
    assert run.spec() == spec
    assert files.read_json(run.path / layout.METADATA) == {"system": {"cpu_count": 2}}
    assert (run.path / "params" / "agent.yaml").read_text() == "gamma: 0.99\n"
    assert (run.path / "params" / "run.yaml").read_text() == "steps: 1000\n"
    written = run.record()
    assert written["run_id"] == f"landing/sb3_ppo/{run.name}"
    assert written["logdir"] == str(run.path)
    assert (written["implementation"], written["host"]) == ("sb3", status.this_host())
    assert (run.status().state, run.heartbeat()) == ("reserved", None)
    assert run.metrics_path == run.path / "metrics.jsonl"
    assert run.log_path == run.path / "train.log"


def test_no_secret_reaches_the_disk(store, spec):
    facts = {"command": ["--wandb-key", SECRET], "overrides": [f"a.api_key={SECRET}"]}
    metadata = {"git": {"url": f"https://bot:{SECRET}@git.example.org/a.git"}}
    run = store.create(spec, facts, metadata, {"run": f"wandb:\n  api_key: {SECRET}\n"})
    run.update(failure={"category": "failure", "message": f"Authorization: Bearer {SECRET}"})
    for path in run.path.rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_text()
    assert (run.path / "params" / "run.yaml").read_text().startswith("wandb:\n  api_key: ")


def test_a_spec_with_a_secret_is_refused_and_one_with_a_reference_is_kept(store, spec):
    with pytest.raises(UsageError, match=r"agent_params\.api_key holds a secret.*env:NAME"):
        store.create(replace(spec, agent_params={"api_key": SECRET}), {}, {}, {})
    assert store.all() == []
    referring = replace(spec, agent_params={"api_key": "env:WANDB_API_KEY"})
    assert store.create(referring, {}, {}, {}).spec() == referring


@pytest.mark.parametrize(
    ("facts", "metadata", "words"),
    [
        ({"colour": "red"}, {}, "no field colour"),
        ({}, {"x": object()}, r"metadata\.json cannot hold x="),
        ({"seed": float("nan")}, {}, r"run\.json cannot hold seed=nan"),
    ],
)
def test_a_record_that_cannot_be_made_leaves_no_run_and_no_folder(
    store, spec, facts, metadata, words
):
    with pytest.raises(UsageError, match=words):
        store.create(spec, facts, metadata, {})
    assert list((store.root / "landing" / "sb3_ppo").iterdir()) == []


LIMITED = """
import resource, sys
from pathlib import Path
from srb_train.errors import SrbError
from srb_train.runs.store import Run, RunStore
from srb_train.spec import RunSpec
store = RunStore(Path(sys.argv[1]))
run = store.all()[0]
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for attempt in (lambda: store.create(run.spec(), {}, {}, {}), lambda: run.update(step=9)):
    try:
        attempt()
    except SrbError as error:
        print(error.category, error)
"""


def test_a_disk_that_refuses_the_record_is_told_and_leaves_no_folder(store, run, python):
    said, _ = python(LIMITED, store.root).communicate()
    created, updated = said.splitlines()
    assert created.startswith("invalid_input the record of a new run cannot be written to")
    assert created.endswith("File too large; free some space or choose another --logdir")
    assert updated.startswith("workflow_failure") and "the record stays as it was" in updated
    assert [found.path for found in store.all()] == [run.path]
    assert run.record()["step"] == 0
    assert list(run.path.parent.iterdir()) == [run.path]


def test_a_process_killed_at_any_line_of_creation_leaves_no_run_or_a_whole_one(deaths):
    assert deaths("Create") > 100


def test_a_process_killed_at_any_line_of_an_update_leaves_a_whole_record(deaths):
    assert deaths("Update") > 30


UPDATE = """
import sys
from pathlib import Path
from srb_train.runs import record
from srb_train.runs.store import Run
run, name = Run(Path(sys.argv[1])), sys.argv[2]
for count in range(10):
    run.change(lambda now: record.patch(
        now, step=now["step"] + 1, metrics={**now["metrics"], f"{name}/{count}": count}
    ))
"""


def test_updates_of_many_processes_lose_nothing(run, python):
    children = [python(UPDATE, run.path, name) for name in "abcde"]
    assert [child.wait() for child in children] == [0] * 5
    written = run.record()
    assert written["step"] == 50
    assert len(written["metrics"]) == 50


def test_an_update_of_an_unknown_field_changes_nothing(run):
    before = run.record()
    with pytest.raises(UsageError, match="no field stepp"):
        run.update(stepp=1)
    assert run.record() == before
    assert run.update(step=4)["step"] == run.record()["step"] == 4


def test_a_damaged_record_is_never_overwritten(run):
    (run.path / layout.RUN).write_text('{"schema_version": 1,')
    with pytest.raises(IntegrityError, match=r"run\.json is damaged"):
        run.update(step=1)
    assert (run.path / layout.RUN).read_text() == '{"schema_version": 1,'


CLAIM = """
import sys
from pathlib import Path
from srb_train.errors import UsageError
from srb_train.runs.store import Run
print("ready", flush=True)
sys.stdin.readline()
try:
    with Run(Path(sys.argv[1])).claim():
        print("won", flush=True)
        sys.stdin.readline()
except UsageError as error:
    print(error, flush=True)
"""


def test_of_five_that_go_on_in_one_run_exactly_one_wins_and_the_others_name_it(run, python):
    children = [python(CLAIM, run.path) for _ in range(5)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.stdout.readline() for child in children]
    assert said.count("won\n") == 1
    assert sum("is being trained by" in words for words in said) == 4
    winner = children[said.index("won\n")]
    named = f"process {winner.pid} on {status.this_host()}"
    with pytest.raises(UsageError, match=named), run.claim():
        pass
    winner.kill()
    winner.wait()
    with run.claim():
        pass
    with run.claim():
        assert json.loads((run.path / layout.CLAIM).read_text())["pid"] == os.getpid()


FORKED = """
import os, sys, time
from pathlib import Path
from srb_train.runs.store import Run
with Run(Path(sys.argv[1])).claim():
    if os.fork() == 0:
        # The copy speaks itself: then its side of the fork is over.
        print(os.getpid(), flush=True)
        while True:
            time.sleep(60)
    sys.stdin.readline()
"""


def test_a_forked_copy_that_outlives_a_killed_worker_does_not_hold_its_claim(run, python):
    worker = python(FORKED, run.path)
    child = int(worker.stdout.readline())
    try:
        with pytest.raises(UsageError, match=f"process {worker.pid} on"), run.claim():
            pass
        worker.kill()
        worker.wait()
        with run.claim():
            os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_claim_in_a_folder_that_is_gone_is_an_error_in_words(tmp_path):
    nowhere = Run(tmp_path / "gone")
    with pytest.raises(UsageError, match="trained in: No such file"), nowhere.claim():
        pass


def test_a_claim_clears_what_killed_writers_left(run):
    leftover = run.path / ".tmp-1-aa"
    leftover.touch()
    os.utime(leftover, (1, 1))
    with run.claim():
        assert not leftover.exists()


@pytest.fixture
def worker(run):
    """Give a process that the run's record names, and that ends by SIGTERM with code 0."""
    code = (
        "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "print('ready', flush=True)\nsignal.pause()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    process.stdout.readline()
    started = status.process_started(process.pid)
    run.update(status="running", pid=process.pid, process_started=started)
    yield process
    process.kill()
    process.communicate()


def test_a_stop_reaches_the_runs_own_worker(run, worker):
    assert run.status().state == "starting"
    assert run.request_stop() == worker.pid
    assert worker.wait() == 0
    assert run.status().state == "lost"
    with pytest.raises(UsageError, match="is lost: there is no process to stop"):
        run.request_stop()


def test_a_stop_never_reaches_a_process_that_took_the_number(run, worker):
    run.update(process_started=status.process_started(worker.pid) - 5)
    with pytest.raises(UsageError, match="is lost: there is no process to stop"):
        run.request_stop()
    assert worker.poll() is None


def test_a_stop_of_a_run_on_another_host_says_where_to_go(run, worker):
    run.update(host="elsewhere")
    beat = {"pid": worker.pid, "host": "elsewhere", "started": run.record()["process_started"]}
    with Heartbeat(run.path / layout.HEARTBEAT):
        own = files.read_json(run.path / layout.HEARTBEAT)
    files.write_json(run.path / layout.HEARTBEAT, {**own, **beat})
    with pytest.raises(UsageError, match="runs on host elsewhere; stop it from there"):
        run.request_stop()
    assert worker.poll() is None


def test_a_killed_worker_is_not_running_from_the_very_moment(run, worker):
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    found = run.status()
    assert (found.state, found.alive) == ("lost", False)


def test_a_run_of_this_process_shows_its_heartbeat(run):
    run.update(
        status="running", pid=os.getpid(), process_started=status.process_started(os.getpid())
    )
    with Heartbeat(run.path / layout.HEARTBEAT, budget=1000) as pulse:
        pulse.update(123)
        pulse.beat()
        found = run.status()
    assert (found.state, found.step) == ("running", 123)
    assert run.heartbeat()["step"] == 123


def test_runs_are_listed_newest_first_by_what_they_recorded_not_by_name(store):
    for place, created, sequence in (
        ("landing/a/zzz", "2026-01-01", 1),
        ("landing/a/20300101T000000Z", "2026-01-02", 7),
        ("gym/X-v0/b/old-copy", "2026-01-02", 9),
        ("landing/a/20200101T000000Z", "2026-01-03", 1),
    ):
        planted(store, place, created_at=created, sequence=sequence)
    assert [run.name for run in store.all()] == [
        "20200101T000000Z",
        "old-copy",
        "20300101T000000Z",
        "zzz",
    ]
    assert store.warnings == []


def test_a_damaged_run_does_not_hide_the_others_and_is_told(store):
    good = planted(store, "landing/a/one")
    bad = planted(store, "landing/a/two")
    (bad / layout.RUN).write_text("{")
    assert [run.path for run in store.all()] == [good]
    (warning,) = store.warnings
    assert str(bad) in warning and "damaged" in warning


def test_a_root_that_is_not_there_holds_no_runs(store, spec):
    assert store.all() == []
    assert store.latest("landing", "sb3_ppo") is None
    with pytest.raises(UsageError, match=r"there is no run 'x' below .*; it holds no runs yet"):
        store.find("x")


def test_two_thousand_runs_are_listed_by_their_records_alone(store, monkeypatch):
    for number in range(2000):
        stamp = f"2026{number:04}T000000Z"
        planted(store, f"landing/sb3_ppo/{stamp}", created_at=f"2026-{number:04}")
    opened = []
    for place, name in ((Path, "read_bytes"), (os, "open")):
        real = getattr(place, name)

        def noted(path, *more, real=real):
            opened.append(Path(path).name)
            return real(path, *more)

        monkeypatch.setattr(place, name, noted)
    found = store.all()
    assert len(found) == 2000
    assert [run.name for run in found[:2]] == ["20261999T000000Z", "20261998T000000Z"]
    assert opened == [layout.RUN] * 2000
    assert store.find("20260777").name == "20260777T000000Z"


def test_the_latest_is_of_the_task_and_label_and_resumable_only_with_a_checkpoint(store):
    old = with_checkpoint(planted(store, "landing/a/1", created_at="2026-01-01"))
    empty = planted(store, "landing/a/2", created_at="2026-01-02")
    planted(store, "landing/b/3", created_at="2026-01-03")
    planted(store, "landing/a/inner/b/4", created_at="2026-01-04")
    assert store.latest("landing", "a").path == empty
    assert store.latest("landing", "a", resumable=True) == old
    assert store.warnings == [f"{empty} has no complete checkpoint"]
    (old.path / "ckpt" / "100" / "w").unlink()
    assert store.latest("landing", "a", resumable=True) is None
    assert any("w is missing" in warning for warning in store.warnings)


def test_a_run_is_found_by_any_path_into_it(store, tmp_path, monkeypatch):
    path = planted(store, "landing/a/20261130T101502Z")
    with_checkpoint(path)
    monkeypatch.chdir(path.parent)
    for name in (
        str(path),
        f"{path}/",
        str(path / "ckpt" / "100"),
        str(path / "ckpt" / "100" / "w"),
        "20261130T101502Z/ckpt/100",
        "./20261130T101502Z/run.json",
        "landing/a/20261130T101502Z",
        "landing/a/20261130T101502Z/ckpt/100",
    ):
        assert store.find(name).path == path, name
    monkeypatch.chdir(path / "ckpt")
    assert store.find("100").path == path
    copy = shutil.copytree(path, tmp_path / "elsewhere=copy")
    assert store.find(str(copy)).path == copy


def test_a_run_is_found_by_the_beginning_or_end_of_its_name_if_only_one_fits(store):
    first = planted(store, "landing/a/20261130T101502Z")
    second = planted(store, "landing/a/20261130T101502Z-001")
    other = planted(store, "landing/b/20270101T000000Z")
    assert store.find("20261130T101502Z").path == first
    assert store.find("502Z-001").path == second
    assert store.find("2027").path == other
    assert store.find("b/20270101T000000Z").path == other
    assert store.find("landing/b").path == other
    with pytest.raises(UsageError, match=r"'2026' could be 2 runs: landing/a/.*; say more of it"):
        store.find("2026")


def test_the_same_stamp_of_two_labels_is_ambiguous(store):
    for label in "abcdefg":
        planted(store, f"landing/{label}/20270101T000000Z")
    with pytest.raises(UsageError, match=r"could be 7 runs: landing/a.*, …; say more"):
        store.find("20270101T000000Z")


@pytest.mark.parametrize("name", ["20261130T101503Z", "20261130T10150Z2", "landin/a/2026", "zzz"])
def test_an_unknown_name_is_answered_with_near_ones(store, name):
    planted(store, "landing/a/20261130T101502Z")
    with pytest.raises(UsageError, match=rf"no run '{name}'.*nearest: landing/a/20261130T101502Z"):
        store.find(name)


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000, "../..", "*", "\udcff"])
def test_a_hostile_name_is_no_run(store, name):
    planted(store, "landing/a/20261130T101502Z")
    with pytest.raises(UsageError):
        store.find(name)


CREATE = """
import sys
from pathlib import Path
from srb_train.runs.store import RunStore
from srb_train.spec import RunSpec
spec = RunSpec(algo="x", env="landing", steps=9, num_envs=1, seed=int(sys.argv[2]),
               checkpoint_every=1, log_every=1)
print("ready", flush=True)
sys.stdin.readline()
run = RunStore(Path(sys.argv[1])).create(spec, {}, {}, {})
print(run.name)
"""


def test_five_processes_create_five_complete_runs_at_once(store, python):
    children = [python(CREATE, store.root, seed) for seed in range(5)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    names = [child.communicate()[0].strip() for child in children]
    assert [child.returncode for child in children] == [0] * 5
    runs = store.records()
    assert {run.name for run, _ in runs} == set(names) and len(set(names)) == 5
    assert {written["seed"] for _, written in runs} == set(range(5))
    assert all(run.spec().seed == written["seed"] for run, written in runs)
    sequences = [written["sequence"] for _, written in runs]
    assert len(set(sequences)) == 5
    order = [(written["created_at"], written["sequence"]) for _, written in runs]
    assert all(newer > older for newer, older in itertools.pairwise(order))


def test_a_run_whose_record_cannot_be_locked_is_told_in_words(tmp_path):
    with pytest.raises(TrainingFailed, match="cannot be written: No such file"):
        Run(tmp_path / "gone").update(step=1)
