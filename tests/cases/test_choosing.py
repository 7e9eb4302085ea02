"""Which run and which checkpoint is meant, and what is said about it."""

import json
import shutil

from tests.cases.conftest import LONG, TOY, has_trained, is_clean, runs, until


def renamed(checkpoint, step: int):
    """Copy a checkpoint to another step, manifest and all."""
    copy = checkpoint.with_name(str(step))
    shutil.copytree(checkpoint, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "step": step}))
    return copy


def test_s01_the_highest_step_is_chosen_not_the_last_name(srb, logs):
    srb("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, check=True)
    (run,) = runs(logs)
    newest = run.checkpoints().latest().path
    renamed(newest, 2_048_000)
    chosen = renamed(newest, 1_024_000_000)
    done = srb("agent", "train", *TOY, "--continue", "--dry-run", "--logdir", logs, check=True)
    assert str(chosen) in done.stdout
    assert "highest step" in done.stdout


def test_s02_five_runs_in_one_second_get_five_folders(start_srb, logs):
    words = ("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, "--hide_ui")
    children = [start_srb(*words) for _ in range(5)]
    assert [child.wait(timeout=120) for child in children] == [0] * 5
    found = runs(logs)
    assert len({run.path for run in found}) == 5
    for run in found:
        record = run.record()
        assert (record["status"], record["step"]) == ("completed", 2000)
        counts = [line for line in run.metrics_path.read_text().splitlines() if "count" in line]
        assert len(counts) == len({json.loads(line)["step"] for line in counts})


def test_s05_a_path_with_an_equals_sign_needs_no_quotes(srb, logs, tmp_path):
    srb("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, check=True)
    copy = tmp_path / "my-epoch=3-step=900.zip"
    shutil.copytree(runs(logs)[0].checkpoints().latest().path, copy)
    words = ("agent", "train", *TOY[:4], "--model", copy.name, "run.steps=3000", "--logdir", logs)
    srb(*words, check=True)
    assert len(runs(logs)) == 2
    assert runs(logs)[0].record()["resumed_from"]["step"] == 2000
    quoted = 'env.kwargs.picture="a=b"'
    shown = srb(
        "config", "show", "--algo", "toy_cem", "--env", "gymnasium/CartPole-v1", quoted, check=True
    )
    assert "a=b" in shown.stdout


def test_s09_a_budget_is_a_total_and_a_reached_one_is_no_work(srb, logs):
    words = ("agent", "train", *TOY[:4], "--logdir", logs)
    srb(*words, *TOY[4:], "run.steps=2000", check=True)
    again = srb(*words, "--continue", "run.steps=2000", check=True)
    assert "is reached" in again.stdout
    assert len(runs(logs)[0].record()["segments"]) == 1
    srb(*words, "--continue", "run.steps=3000", check=True)
    assert runs(logs)[0].record()["step"] == 3000
    srb(*words, "--continue", "--additional", "1000", check=True)
    record = runs(logs)[0].record()
    assert [part["from_step"] for part in record["segments"]] == [0, 2000, 3000]
    assert record["step"] == record["budget"] == 4000
    from srb_train.runs import metrics

    steps = [one.step for one in metrics.read(runs(logs)[0].metrics_path).series(metrics.EPISODES)]
    assert steps == sorted(set(steps))
    assert steps[-1] == 4000


def test_s16_an_incomplete_newest_checkpoint_is_passed_over_with_a_warning(srb, logs):
    srb("agent", "train", *TOY, "run.steps=4000", "--logdir", logs, check=True)
    newest = runs(logs)[0].checkpoints().latest()
    main = newest.path / "cem.npz"
    main.write_bytes(main.read_bytes()[:100])
    words = ("agent", "train", *TOY[:4], "--logdir", logs)
    refused = srb(*words, "--model", newest.path)
    is_clean(refused, "cem.npz")
    plan = srb(*words, "--continue", "run.steps=5000", "--dry-run", check=True)
    assert f"checkpoint {newest.step} is passed over" in plan.stdout
    srb(*words, "--continue", "run.steps=5000", check=True)
    segment = runs(logs)[0].record()["segments"][1]
    assert segment["from_step"] < newest.step


def test_s16_a_run_without_any_complete_checkpoint_is_an_error(srb, logs):
    srb("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, check=True)
    for checkpoint in runs(logs)[0].checkpoints().all():
        (checkpoint.path / "cem.npz").unlink()
    done = srb("agent", "train", *TOY[:4], "--logdir", logs, "--continue")
    is_clean(done, "no run to continue")
    missing = srb("agent", "eval", *TOY[:4], "--logdir", logs)
    is_clean(missing)


def test_s17_a_run_without_checkpoints_is_never_the_one_to_continue(srb, start_srb, logs):
    srb("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, check=True)
    (trained,) = runs(logs)
    empty = start_srb("agent", "train", *LONG, "--logdir", logs, "--hide_ui")
    until(lambda: len(runs(logs)) == 2 and has_trained(logs), "a second run to train")
    empty.kill()
    second = next(run for run in runs(logs) if run.path != trained.path)
    until(lambda: second.record()["status"] == "stopped", "its end")
    shutil.rmtree(second.path / "ckpt")
    done = srb(
        "agent", "train", *TOY[:4], "--continue", "--video", "run.steps=3000", "--logdir", logs,
        check=True,
    )  # fmt: skip
    assert str(trained.path) in done.stdout
    assert list((trained.path / "videos").iterdir())
    assert trained.record()["step"] == 3000


def test_two_resumes_of_one_run_have_exactly_one_winner(srb, start_srb, logs):
    srb("agent", "train", *TOY, "run.steps=2000", "--logdir", logs, check=True)
    words = ("agent", "train", *TOY[:4], "--continue", "--logdir", logs, "run.steps=100000000")
    first = start_srb(*words, "--hide_ui")
    until(lambda: has_trained(logs, 3000), "the first resume to train")
    second = srb(*words)
    assert second.returncode == 2
    assert "is being trained by process" in second.stdout + second.stderr
    assert runs(logs)[0].status().state == "running"
    first.terminate()
    assert first.wait(timeout=30) == 143
    assert [part["status"] for part in runs(logs)[0].record()["segments"]] == [
        "completed",
        "stopped",
    ]
