"""One suite for every label that takes a dict: who is shown the part that only a critic may see."""

import signal
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from srb_train import playback, registry
from srb_train.contracts import PRIVILEGED
from srb_train.runs import layout
from tests.families.bench import Bench, contents, differences, every_label
from tests.families.needs import needs
from tests.families.sizes import COPIES, shrink

TASK = "gymnasium/faults:Privileged-v0"
LABELS = {
    name: label
    for name, (_, label) in registry.labels().items()
    if name in every_label() and "dict" in label.observations
}
TRUSTED = [name for name, label in LABELS.items() if label.privileged]
OTHERS = [name for name, label in LABELS.items() if not label.privileged]
CORE = ("rsl_rl_ppo", "skrl_ppo", "skrl_ppo_rnn", "sb3_ppo", "sb3_sac")
"""Labels of the fast lane: one for each way in which observations reach a critic."""


def by_lane(labels: list[str]) -> list:
    """Return labels, most of them in the slow lane."""
    return [pytest.param(name, marks=[] if name in CORE else [pytest.mark.slow]) for name in labels]


def bench(root: Path, algo: str) -> Bench:
    """Put a label on a task that has a secret, with a few updates."""
    discrete = str("continuous" not in LABELS[algo].actions).lower()
    task = (f"env.num_envs={COPIES}", f"env.kwargs.discrete={discrete}", "run.seed=7")
    every = (*task, *shrink(algo), *needs(algo, TASK))
    unit = max(64, Bench(root, algo, TASK, every).plan().rollout)
    steps = (f"run.steps={4 * unit}", f"run.checkpoint_every={unit}")
    return Bench(root, algo, TASK, (*every, *steps))


def newest(run) -> Path:
    return run.checkpoints().latest().path


def acts(run, obs: dict[str, np.ndarray]) -> np.ndarray:
    """Return what a run's newest policy does, when it is shown the secret as well."""
    spec = run.spec()
    with closing(registry.make_env(TASK, COPIES, spec.env_params)) as env:
        policy = playback.load(run.checkpoints().latest(), spec, env)
        return np.asarray(policy.act(obs))


@pytest.mark.parametrize("algo", by_lane(TRUSTED))
def test_the_critic_sees_it_and_the_actor_does_not(algo, tmp_path):
    run = bench(tmp_path, algo).train()
    with closing(registry.make_env(TASK, COPIES, run.spec().env_params)) as env:
        obs = env.reset(3)
    acted = acts(run, obs)
    told = {**obs, PRIVILEGED: obs[PRIVILEGED] + 7.0}
    assert np.array_equal(acts(run, told), acted)
    # Networks whose last layer is small differ little.
    moved = {**obs, "position": obs["position"] + 3.0}
    assert not np.array_equal(acts(run, moved), acted)
    open_size = sum(part[0].size for key, part in obs.items() if key != PRIVILEGED)
    widths = {array.shape[1] for array in contents(newest(run)).values() if array.ndim == 2}
    assert {open_size, open_size + obs[PRIVILEGED][0].size} <= widths


@pytest.mark.parametrize("algo", by_lane(TRUSTED))
def test_the_critic_learns_from_it(algo, tmp_path):
    run = bench(tmp_path, algo).train()
    with closing(registry.make_env(TASK, 1, run.spec().env_params)) as env:
        size = sum(part[0].size for part in env.reset(0).values())
    before, after = contents(run.checkpoints().all()[0].path), contents(newest(run))
    told = [n for n, array in after.items() if array.ndim == 2 and array.shape[1] == size]
    weights = [name for name in told if ".pt" in name and "optimizer" not in name]
    assert weights
    for name in weights:
        assert (before[name] != after[name]).any(0).all(), f"{name} has not learnt from all parts"


@pytest.mark.parametrize("algo", by_lane(TRUSTED))
def test_going_on_after_kill_9_gives_the_same_run_bit_for_bit(algo, tmp_path):
    whole = bench(tmp_path / "whole", algo).train()
    cut = bench(tmp_path / "cut", algo)
    plan = cut.plan()
    step = plan.spec.steps // 2 + plan.rollout // 2
    cut.train(blow=(step, signal.SIGKILL), code=-signal.SIGKILL)
    resumed = cut.train(continue_training=True)
    assert newest(resumed).name == newest(whole).name
    assert differences(newest(whole), newest(resumed)) == []


@pytest.mark.parametrize("algo", by_lane(OTHERS))
def test_nobody_sees_it_where_the_critic_cannot_be_shown_it_alone(algo, tmp_path):
    run = bench(tmp_path, algo).train()
    assert run.record()["status"] == "completed"
    with np.load(newest(run) / "run_state.npz") as state:
        seen = {name for name in state.files if name.startswith("obs/")}
    assert seen == {"obs/position", "obs/side"}
    said = run.path.joinpath(layout.LOG).read_text().splitlines()
    assert sum(PRIVILEGED in line for line in said) == 1


def test_an_actor_that_asks_for_it_is_refused_by_name(tmp_path):
    asking = "agent.obs_groups.actor=[position,critic]"
    run = bench(tmp_path, "rsl_rl_ppo").train(asking, code=2)
    message = run.record()["failure"]["message"]
    assert "agent.obs_groups.actor: only a critic may see critic" in message
