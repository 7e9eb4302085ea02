"""The checker of environments finds each way of breaking the contract, and no fault in ours."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from srb_train import registry
from srb_train.contracts import Step
from srb_train.soundness import sound


@pytest.mark.parametrize("env", ["landing", "cartpole"])
def test_our_own_tasks_have_no_fault(env):
    found = sound(lambda copies: registry.make_env(env, copies, {}))
    assert [one for one in found if one.state != "ok"] == []


@pytest.mark.parametrize("env", ["gymnasium/Pendulum-v1", "gymnasium/CartPole-v1"])
def test_gymnasium_tasks_are_sound(env):
    found = sound(lambda copies: registry.make_env(env, copies, {}))
    assert [one for one in found if one.state == "fail"] == []


@dataclass
class Wrapped:
    """Cartpole with one thing done wrongly."""

    inner: object
    change: object

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def step(self, action):
        return self.change(self.inner, action)


def broken(change):
    return lambda copies: Wrapped(registry.make_env("cartpole", copies, {}), change)


def worst(change, name: str):
    found = {one.name: one for one in sound(broken(change))}
    return found[name]


def stepped(change):
    """Return a wrong step made from a right one."""
    return lambda env, action: change(env.step(action))


def _nan(step: Step) -> Step:
    return step._replace(reward=step.reward * np.nan)


def _no_final(step: Step) -> Step:
    return step._replace(final_obs=None)


def _both(step: Step) -> Step:
    return step._replace(truncated=step.terminated | step.truncated)


def _double(step: Step) -> Step:
    return step._replace(obs=step.obs.astype(np.float64))


def _flat(step: Step) -> Step:
    return step._replace(reward=step.reward[:1])


@pytest.mark.parametrize(
    ("change", "check"),
    [(_nan, "numbers"), (_no_final, "endings"), (_both, "endings"), (_double, "spaces"),
     (_flat, "spaces")],
)  # fmt: skip
def test_a_wrong_step_is_found_and_named(change, check):
    found = worst(stepped(change), check)
    assert found.state == "fail"
    assert found.advice


def test_noise_that_no_seed_governs_is_found():
    source = np.random.default_rng()

    def noisy(step: Step) -> Step:
        return step._replace(reward=(step.reward + source.random()).astype(np.float32))

    assert worst(stepped(noisy), "seeds").state == "fail"
    assert worst(stepped(noisy), "state").state == "fail"


def test_a_buffer_that_is_used_again_is_found():
    buffers = {}

    def reuse(env, action):
        step = env.step(action)
        kept = buffers.setdefault(id(env), step.obs.copy())
        kept[...] = step.obs
        return step._replace(obs=kept)

    assert worst(reuse, "arrays").state == "fail"


def test_actions_that_are_changed_in_place_are_found():
    def clip(env, action):
        np.clip(action, -0.1, 0.1, out=action)
        return env.step(action)

    assert worst(clip, "arrays").state == "fail"


def test_an_exception_of_the_environment_is_its_failure_and_the_other_checks_go_on():
    def raises(env, action):
        raise ValueError("out of fuel")

    found = sound(broken(raises))
    assert {one.state for one in found} == {"fail", "ok"}
    assert any("out of fuel" in one.value for one in found)
    assert replace(found[0]) == found[0]
