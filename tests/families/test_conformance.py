"""One suite for every label of every installed family: what a run must do, whoever trains it."""

import signal
from pathlib import Path

import numpy as np
import pytest

from srb_train import operations, registry
from srb_train.errors import IntegrityError, UsageError
from srb_train.operations import EvalRequest
from srb_train.runs import layout, metrics
from tests.families.bench import Bench, contents, differences, every_label, play
from tests.families.needs import needs
from tests.families.sizes import COPIES, shrink

UNIT = 100
"""Transitions between two checkpoints of a label that learns at every step."""


def bench(root: Path, algo: str) -> Bench:
    """Put a label on cartpole, with the kind of actions that it takes and six checkpoints."""
    _, label, _ = registry.family_of(algo)
    discrete = "continuous" not in label.actions
    task = (f"env.num_envs={COPIES}", f"env.discrete={str(discrete).lower()}", "run.seed=7")
    agent = (*shrink(algo), *needs(algo))
    unit = max(UNIT, Bench(root, algo, "cartpole", (*task, *agent)).plan().rollout)
    return Bench(
        root,
        algo,
        "cartpole",
        (*task, *agent, f"run.steps={6 * unit}", f"run.checkpoint_every={unit}"),
    )


def kinds(algo: str) -> list[tuple[str, str]]:
    """Return the kinds of actions and observations that a plate names, one at a time."""
    _, label, _ = registry.family_of(algo)
    pairs = [(action, "vector") for action in label.actions]
    return pairs + [(label.actions[0], seen) for seen in label.observations if seen != "vector"]


TASKS = {"vector": "ConstantReward-v0", "dict": "DictObs-v0", "image": "Images-v0"}


LABELS = every_label()
EXACT = [name for name in LABELS if registry.labels()[name][1].resume == "exact"]


CORE = ("toy_cem", "sb3_ppo", "sb3_sac")
"""Labels that stand for the others where only the house, not the label, does the work."""


@pytest.fixture(params=LABELS)
def toy(request, tmp_path) -> Bench:
    """Every label on its bench."""
    return bench(tmp_path / "logs", request.param)


def by_lane(labels: list[str]) -> list:
    """Return labels, most of them in the slow lane."""
    return [pytest.param(name, marks=[] if name in CORE else [pytest.mark.slow]) for name in labels]


@pytest.fixture(params=by_lane(LABELS))
def core(request, tmp_path) -> Bench:
    """Every label on its bench, most of them in the slow lane."""
    return bench(tmp_path / "logs", request.param)


def last(run) -> Path:
    return run.checkpoints().latest().path


def middle(toy: Bench) -> int:
    """Return a step in the middle of what lies between two checkpoints."""
    plan = toy.plan()
    return plan.spec.steps // 2 + plan.rollout // 2


@pytest.mark.parametrize("algo", EXACT)
def test_going_on_after_kill_9_gives_the_same_run_bit_for_bit(algo, tmp_path):
    whole = bench(tmp_path / "whole", algo).train()
    cut = bench(tmp_path / "cut", algo)
    step = middle(cut)
    killed = cut.train(blow=(step, signal.SIGKILL), code=-signal.SIGKILL)
    # The server that forked it counts as its supervisor, which has not spoken yet.
    assert killed.status().state == "stopping"
    reached = killed.checkpoints().latest().step
    assert 0 < reached <= step + COPIES
    resumed = cut.train(continue_training=True)
    assert resumed.path == killed.path
    assert last(resumed).name == last(whole).name
    assert len(contents(last(whole))) > 10
    assert differences(last(whole), last(resumed)) == []


@pytest.mark.parametrize("algo", by_lane(EXACT))
def test_going_on_after_a_stop_gives_the_same_run_bit_for_bit(algo, tmp_path):
    whole = bench(tmp_path / "whole", algo).train()
    cut = bench(tmp_path / "cut", algo)
    step = middle(cut)
    stopped = cut.train(blow=(step, signal.SIGTERM), code=143)
    record = stopped.record()
    assert (record["status"], record["signal"]) == ("stopped", "SIGTERM")
    assert step < record["step"] == stopped.checkpoints().latest().step < record["budget"]
    resumed = cut.train(continue_training=True)
    assert differences(last(whole), last(resumed)) == []


def test_a_run_leaves_a_complete_record(toy):
    run = toy.train()
    record = run.record()
    assert record["status"] == "completed"
    assert record["exit_code"] == 0
    assert record["step"] >= record["budget"]
    assert record["step"] == run.checkpoints().latest().step
    found = metrics.read(run.metrics_path)
    assert found.warnings == []
    assert {metrics.RETURN, metrics.LENGTH, metrics.EPISODES, metrics.RATE} <= set(found.tags)
    assert all(np.isfinite(one.value) for tag in found.tags for one in found.series(tag))
    own = [tag for tag in found.tags if not tag.startswith(("episode/", "time/"))]
    assert own, "no scalar of the algorithm's own"
    assert len(run.path.joinpath(layout.LOG).read_text().splitlines()) < 8
    steps = [one.step for one in found.series(metrics.EPISODES)]
    assert steps == sorted(set(steps))
    assert steps[-1] == record["step"]
    strangers = {
        path.name
        for path in run.path.iterdir()
        if path.name not in layout_names() and not path.name.startswith((".", "events.out"))
    }
    assert strangers == set()


def layout_names() -> set[str]:
    return {
        layout.RUN, layout.METADATA, layout.SPEC, layout.PARAMS, layout.METRICS, layout.LOG,
        layout.HEARTBEAT, layout.CHECKPOINTS,
    }  # fmt: skip


def by_kind() -> list:
    """Return every label with every kind; convolutions are slow on a CPU."""
    return [
        pytest.param(algo, *kind, marks=[pytest.mark.slow] if kind[1] == "image" else [])
        for algo in LABELS
        for kind in kinds(algo)
    ]


@pytest.mark.parametrize(("algo", "actions", "seen"), by_kind())
def test_a_label_trains_on_every_kind_that_its_plate_names(tmp_path, algo, actions, seen):
    discrete = str(actions == "discrete").lower()
    task = ("env.num_envs=4", f"env.kwargs.discrete={discrete}", "run.seed=7", "run.steps=128")
    env = f"gymnasium/faults:{TASKS[seen]}"
    sizes = (*shrink(algo), *needs(algo, env))
    run = Bench(tmp_path, algo, env, (*task, *sizes)).train()
    assert run.record()["status"] == "completed"
    final = last(run)
    assert all(
        np.isfinite(array).all() for array in contents(final).values() if array.dtype.kind == "f"
    )
    assert play(run, 2, 2)["episodes_completed"] == 2


@pytest.mark.parametrize("algo", LABELS)
def test_a_kind_of_action_that_a_label_does_not_take_is_refused(tmp_path, algo):
    _, label, _ = registry.family_of(algo)
    for actions in {"continuous", "discrete"} - set(label.actions):
        discrete = str(actions == "discrete").lower()
        task = (f"env.num_envs={COPIES}", f"env.kwargs.discrete={discrete}", "run.steps=64")
        env = "gymnasium/faults:ConstantReward-v0"
        refused = Bench(tmp_path, algo, env, (*task, *shrink(algo), *needs(algo, env)))
        run = refused.train(code=2)
        message = run.record()["failure"]["message"]
        assert algo in message
        assert "action" in message


def test_an_evaluation_plays_the_asked_number_of_episodes(toy):
    run = toy.train()
    request = EvalRequest(run=str(run.path), logdir=toy.root, episodes=5, num_envs=2)
    result = operations.evaluate(request)
    assert result["complete"]
    assert result["episodes_completed"] == 5
    assert 1 <= result["mean_length"] <= 500
    assert Path(result["path"]).exists()
    assert play(run, 5, 2)["mean_return"] == result["mean_return"]


def test_more_steps_are_a_total_and_additional_ones_are_added(core):
    first = core.train()
    reached = first.checkpoints().latest().step
    done = operations.prepare(core.request(f"run.steps={reached}", continue_training=True))
    assert done.done
    total = core.train(f"run.steps={reached + 100}", continue_training=True)
    then = total.checkpoints().latest().step
    assert reached + 100 <= then == total.record()["step"]
    added = core.train(continue_training=True, additional=50)
    assert added.checkpoints().latest().step >= then + 50
    starts = [segment["from_step"] for segment in added.record()["segments"]]
    assert starts == [0, reached, then]


def test_an_older_checkpoint_branches_into_a_run_of_its_own(core):
    parent = core.train("run.keep_checkpoints=20")
    older = parent.checkpoints().all()[1]
    branch = core.train(model=str(older.path))
    assert branch.path != parent.path
    assert branch.record()["resumed_from"]["step"] == older.step
    assert differences(last(parent), last(branch)) == []


def test_a_checkpoint_with_an_altered_file_is_refused(core):
    run = core.train()
    newest = run.checkpoints().latest()
    victim = max(newest.path.glob("*.npz"), key=lambda path: path.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-3])
    with pytest.raises(IntegrityError, match=victim.name):
        operations.prepare(core.request(model=str(newest.path)))
    plan = operations.prepare(core.request(continue_training=True))
    assert plan.step < newest.step
    assert any(str(newest.step) in note for note in plan.notes)


def test_the_seed_and_the_number_of_copies_cannot_change_on_the_way(core):
    core.train()
    for override in ("run.seed=8", "env.num_envs=8"):
        with pytest.raises(UsageError, match=override.split("=")[0]):
            operations.prepare(core.request(override, continue_training=True))


def test_a_smoke_run_is_a_whole_run_in_seconds(toy):
    plan = operations.prepare(toy.request(smoke=True))
    assert plan.final_step <= 2000
    assert plan.root == toy.root / "smoke"
    run = toy.train(smoke=True)
    assert run.record()["status"] == "completed"
    assert run.record()["checkpoints"]["latest"] == run.record()["step"]
    with pytest.raises(UsageError, match="no run to continue"):
        operations.prepare(toy.request(continue_training=True))
