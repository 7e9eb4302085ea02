"""Rows of pure JAX functions keep the contract; a drifting point stands for any simulator."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium import spaces

from srb_train import soundness
from srb_train.errors import IntegrityError, UnsupportedError, UsageError

jax = pytest.importorskip("jax")
jnp = jax.numpy

from srb_train.envs.brax import rows  # noqa: E402 - it imports JAX

LIMIT = 12


class State(NamedTuple):
    """A point between -1 and 1, pushed by its action and by chance."""

    place: Any
    obs: Any
    reward: Any
    done: Any
    metrics: Any
    info: Any


def seen(place):
    return jnp.stack([place, place**2])


def begin(key):
    key, mine = jax.random.split(key)
    place = jax.random.uniform(mine, minval=-0.5, maxval=0.5)
    metrics = {"success": jnp.zeros(())}
    return State(place, seen(place), jnp.zeros(()), jnp.zeros(()), metrics, {"rng": key})


def push(state, action):
    key, mine = jax.random.split(state.info["rng"])
    place = state.place + 0.3 * action[0] + 0.05 * jax.random.normal(mine)
    done = jnp.abs(place) > 1.0
    metrics = {"success": jnp.where(place > 1.0, 1, 0)}
    return State(place, seen(place), -(place**2), done, metrics, {"rng": key})


def both_sides(function):
    """Let a simulator's function tell a dict of observations."""

    def told(*given):
        state = function(*given)
        parts = {"state": state.obs, "privileged_state": state.obs[:1]}
        return state._replace(obs=parts)

    return told


def simulation(**changes):
    facts = {
        "reset": begin,
        "step": push,
        "draw": lambda state: np.full((4, 6, 3), 100 * (1 + state.place), np.uint8),
        "action_size": 1,
        "max_episode_steps": LIMIT,
        "fps": 20,
    }
    return rows.Simulation(**{**facts, **changes})


POINT = simulation()
"""One for all tests, so that its programs are compiled once for each number of rows."""


def play(env, steps, first=0):
    return [env.step(soundness.actions(env, first + number)) for number in range(steps)]


def test_every_check_of_the_contract_passes():
    found = soundness.sound(lambda copies: rows.JaxRows(POINT, copies))
    assert [(each.name, each.value) for each in found if each.state != "ok"] == []


def test_a_row_ends_by_itself_or_by_its_limit_and_begins_again_at_once():
    env = rows.JaxRows(POINT, 24)
    env.reset(0)
    age = np.zeros(24, dtype=np.int64)
    ended = {"terminated": 0, "truncated": 0}
    for step in play(env, 4 * LIMIT):
        age += 1
        done = step.terminated | step.truncated
        assert not (step.terminated & step.truncated).any()
        assert (age[step.truncated] == LIMIT).all() and (age <= LIMIT).all()
        assert (np.abs(step.obs[:, 0]) <= 1.0).all()
        if done.any():
            assert (np.abs(step.obs[done, 0]) <= 0.5).all()
            last = step.final_obs[:, 0]
            assert np.array_equal(np.abs(last) > 1.0, step.terminated[done])
            assert np.array_equal(step.info["success"], last > 1.0)
        age[done] = 0
        ended = {name: count + int(getattr(step, name).sum()) for name, count in ended.items()}
    assert min(ended.values()) > 5


def test_an_episode_depends_on_its_seed_and_number_alone():
    """Rows 3 of one batch and 0 of another have one seed, and end at different times."""
    many, other = rows.JaxRows(POINT, 24), rows.JaxRows(POINT, 24)
    many.reset(10)
    other.reset(13)
    firsts = {id(many): [], id(other): []}
    for env, row in ((many, 3), (other, 0)):
        generator = np.random.default_rng(row)
        while len(firsts[id(env)]) < 5:
            step = env.step(generator.uniform(-1, 1, (24, 1)))
            if step.terminated[row] or step.truncated[row]:
                firsts[id(env)].append(step.obs[row])
    assert np.array_equal(firsts[id(many)], firsts[id(other)])


def test_a_state_goes_on_bit_for_bit_in_another_object():
    env, other = rows.JaxRows(POINT, 24), rows.JaxRows(POINT, 24)
    env.reset(4)
    play(env, 30)
    compiled = POINT.advance._cache_size()
    stored = {name: np.array(part) for name, part in env.state_dict().items()}
    other.reset(77)
    other.load_state_dict(stored)
    for one, two in zip(play(env, 40), play(other, 40), strict=True):
        for part, same in zip(one[:5], two[:5], strict=True):
            assert (part is None and same is None) or np.array_equal(part, same)
    assert compiled == POINT.advance._cache_size(), "a restored state runs another program"


def test_a_state_of_other_rows_is_refused_by_name():
    four, three = rows.JaxRows(POINT, 4), rows.JaxRows(POINT, 3)
    four.reset(0)
    with pytest.raises(IntegrityError, match=r"state/place is of shape \(4,\), this task has \(3,"):
        three.load_state_dict(four.state_dict())
    with pytest.raises(IntegrityError, match="state/place is absent"):
        three.load_state_dict({})


def test_what_a_critic_alone_may_see_has_its_own_name():
    whole = simulation(
        reset=both_sides(begin), step=both_sides(push), keys={"privileged_state": "critic"}
    )
    env = rows.JaxRows(whole, 4)
    assert isinstance(env.observation_space, spaces.Dict)
    assert {key: part.shape for key, part in env.observation_space.items()} == {
        "state": (2,),
        "critic": (1,),
    }
    obs = env.reset(0)
    for step in play(env, 2 * LIMIT):
        assert {key: part.shape for key, part in step.obs.items()} == {
            "state": (4, 2),
            "critic": (4, 1),
        }
    assert obs["state"].dtype == np.float32 and obs["critic"].flags.writeable


def test_returned_arrays_can_be_written_to_and_actions_beyond_the_bounds_are_clipped():
    env, same = rows.JaxRows(POINT, 4), rows.JaxRows(POINT, 4)
    env.reset(0)[:] = 9.0
    same.reset(0)
    far, near = np.full((4, 1), 7.0), np.ones((4, 1))
    assert np.array_equal(env.step(far).obs, same.step(near).obs)


def test_nested_observations_and_jax_arrays_are_refused():
    def deep(key):
        return begin(key)._replace(obs={"outer": {"inner": jnp.zeros(2)}})

    with pytest.raises(UnsupportedError, match="nested in outer"):
        rows.JaxRows(simulation(reset=deep), 2)
    rows.numpy_only("numpy")
    with pytest.raises(UsageError, match=r"env\.array='jax'"):
        rows.numpy_only("jax")
