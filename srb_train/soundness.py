"""Whether an environment keeps the contract that every family relies on, found by using it.

Each check steps fresh copies with random actions and looks at what comes back; what it says names
what was seen and what is expected. `sound` is also for people's own tests:

    assert not [found for found in sound(make) if found.state == "fail"]
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from srb_train.contracts import Array, BatchedEnv, Step

Make = Callable[[int], BatchedEnv]
"""Builds an environment of so many copies."""
COPIES = 4
STEPS = 64
LONGEST = 2000
"""Steps after which an episode that has not ended is not waited for any longer."""
SEED = 11


@dataclass(frozen=True)
class Finding:
    """What one check has found."""

    name: str
    state: Literal["ok", "warn", "fail"]
    value: str
    advice: str | None = None


class _Broken(Exception):
    """A check has seen what must not be."""

    def __init__(self, seen: str, advice: str) -> None:
        super().__init__(seen)
        self.advice = advice


def sound(make: Make) -> list[Finding]:
    """Run every check; an exception of the environment's own is a failure of that check."""
    return [_tried(name, check, make) for name, check in CHECKS.items()]


def _tried(name: str, check: Callable[[Make], str], make: Make) -> Finding:
    try:
        seen = check(make)
    except _Broken as error:
        return Finding(name, "fail", str(error), error.advice)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        return Finding(name, "fail", said, "the environment itself has failed")
    if seen.startswith("!"):
        value, _, advice = seen[1:].partition("|")
        return Finding(name, "warn", value, advice)
    return Finding(name, "ok", seen)


def _spaces(make: Make) -> str:
    with closing(make(COPIES)) as env:
        _expect(env.num_envs == COPIES, f"num_envs is {env.num_envs}", f"it must be {COPIES}")
        obs = env.reset(SEED)
        _in_space(env, obs, COPIES, "reset")
        step = env.step(actions(env, 0))
        _in_space(env, step.obs, COPIES, "step")
        for name, dtype in (("reward", "f"), ("terminated", "b"), ("truncated", "b")):
            part = np.asarray(getattr(step, name))
            seen = f"{name} is {part.dtype} {part.shape}"
            wanted = f"{'float32' if dtype == 'f' else 'bool'} ({COPIES},)"
            _expect(part.dtype.kind == dtype and part.shape == (COPIES,), seen, wanted)
        return f"observations {env.observation_space}, actions {env.action_space}"


def _seeds(make: Make) -> str:
    one, same = rollout(make, SEED), rollout(make, SEED)
    other = rollout(make, SEED + 1000)
    _expect(_equal(one, same), "one seed gives two rollouts", "draw from the seed of reset alone")
    if _equal(one, other):
        return "!every seed gives the same rollout|nothing is drawn at random, or not from the seed"
    return "one seed gives one rollout, another another"


def _endings(make: Make) -> str:
    with closing(make(COPIES)) as env:
        env.reset(SEED)
        limit = env.max_episode_steps or LONGEST
        age = np.zeros(COPIES, dtype=np.int64)
        ended = cut = 0
        for number in range(min(limit + 2, LONGEST)):
            step = env.step(actions(env, number))
            age += 1
            done = _check_ending(env, step)
            _expect(int(age.max()) <= limit, f"a row is {age.max()} steps old", f"limit {limit}")
            age[done] = 0
            ended += int(np.sum(step.terminated))
            cut += int(np.sum(step.truncated))
        if not ended + cut:
            return f"!no episode ended within {LONGEST:,} steps|give it a time limit"
        return (
            f"{ended} episodes ended by themselves, {cut} were cut, all with their last observation"
        )


def _check_ending(env: BatchedEnv, step: Step) -> Array:
    terminated, truncated = np.asarray(step.terminated), np.asarray(step.truncated)
    both = "a row is terminated and truncated"
    _expect(not (terminated & truncated).any(), both, "truncated is for what did not terminate")
    done = terminated | truncated
    count = int(done.sum())
    if not count:
        _expect(step.final_obs is None, "final_obs without an ended row", "None when none ended")
        return done
    _expect(step.final_obs is not None, "a row ended without final_obs", "its last observation")
    _in_space(env, step.final_obs, count, "final_obs")
    for name, values in step.info.items():
        if name != "log":
            seen = f"info[{name!r}] has {len(values)} values for {count} ended rows"
            _expect(len(values) == count, seen, "one for each ended row")
    return done


def _finite(make: Make) -> str:
    low, high = np.inf, -np.inf
    for step in rollout(make, SEED):
        low, high = min(low, float(step.reward.min())), max(high, float(step.reward.max()))
        for name, part in (("reward", step.reward), *_parts(step.obs)):
            if part.dtype.kind == "f":
                _expect(bool(np.isfinite(part).all()), f"{name} is not finite", "only numbers")
    return f"rewards from {low:.3g} to {high:.3g}"


def _fresh(make: Make) -> str:
    with closing(make(COPIES)) as env:
        first = env.reset(SEED)
        before = _copied(first)
        action = actions(env, 0)
        given = action.copy()
        step = env.step(action)
        kept = _copied(step.obs), np.array(step.reward)
        _expect(np.array_equal(action, given), "step changes the actions", "copy them first")
        action[...] = 0
        env.step(actions(env, 1))
        seen = "an array that was returned is written again"
        unchanged = _same(first, before) and _same(step.obs, kept[0])
        unchanged = unchanged and np.array_equal(step.reward, kept[1])
        _expect(unchanged, seen, "return new arrays: they are shared without a copy")
        return "returned arrays are never written again, actions are left alone"


def _state(make: Make) -> str:
    with closing(make(COPIES)) as env:
        env.reset(SEED)
        for number in range(STEPS // 2):
            env.step(actions(env, number))
        state = env.state_dict()
        if state is None:
            return "!there is no state|runs go on with new episodes: resume is `continued`"
        stored = {name: np.array(value) for name, value in state.items()}
        there = [env.step(actions(env, number)) for number in range(STEPS)]
    with closing(make(COPIES)) as env:
        env.reset(SEED + 5)
        env.load_state_dict(stored)
        again = [env.step(actions(env, number)) for number in range(STEPS)]
    _expect(_equal(there, again), "a restored state goes on differently", "store all of it")
    return f"a state of {len(stored)} arrays goes on bit for bit"


def _batch(make: Make) -> str:
    many, alone = rollout(make, SEED), rollout(make, SEED, copies=1, of=COPIES)
    same = all(_same(_row(a.obs), _row(b.obs)) for a, b in zip(many, alone, strict=True))
    if same:
        return "row 0 is the same whatever the number of copies"
    return "!row 0 depends on the number of copies|seed row i by seed + i, and it alone"


def _picture(make: Make) -> str:
    with closing(make(1)) as env:
        env.reset(SEED)
        frame = env.render()
        if frame is None:
            return "!there is no picture|--video and play have nothing to show"
        shape = np.asarray(frame)
        fits = shape.dtype == np.uint8 and shape.ndim == 3 and shape.shape[-1] == 3
        _expect(fits, f"render gives {shape.dtype} {shape.shape}", "uint8 (height, width, 3)")
        return f"{shape.shape[1]} x {shape.shape[0]} pixels, {env.render_fps} a second"


CHECKS: Mapping[str, Callable[[Make], str]] = {
    "spaces": _spaces,
    "seeds": _seeds,
    "endings": _endings,
    "numbers": _finite,
    "arrays": _fresh,
    "state": _state,
    "copies": _batch,
    "picture": _picture,
}


def actions(env: BatchedEnv, number: int) -> Array:
    """Return random actions (N, *action) for a step; the same for the same number."""
    generator = np.random.default_rng(number)
    space: Any = env.action_space
    if isinstance(space, spaces.Discrete):
        return generator.integers(space.n, size=env.num_envs) + space.start
    low, high = (np.clip(bound, -1e3, 1e3) for bound in (space.low, space.high))
    drawn = generator.uniform(low, high, size=(env.num_envs, *space.shape))
    return drawn.astype(space.dtype)


def rollout(make: Make, seed: int, copies: int = COPIES, of: int = COPIES) -> list[Step]:
    """Step fresh copies for a while; fewer copies get the first rows of the actions of `of`."""
    with closing(make(copies)) as env, closing(make(of)) as full:
        env.reset(seed)
        return [env.step(actions(full, number)[:copies]) for number in range(STEPS)]


def _expect(holds: bool, seen: str, advice: str) -> None:
    if not holds:
        raise _Broken(seen, advice)


def _in_space(env: BatchedEnv, obs: Any, count: int, where: str) -> None:
    space: Any = env.observation_space
    if isinstance(space, spaces.Dict):
        _expect(isinstance(obs, Mapping), f"{where} gives no mapping", f"a dict of {list(space)}")
        for key, part in space.items():
            _fits(part, obs[key], count, f"{where}[{key!r}]")
        return
    _fits(space, obs, count, where)


def _fits(space: Any, obs: Any, count: int, where: str) -> None:
    array = np.asarray(obs)
    seen = f"{where} gives {array.dtype} {array.shape}"
    wanted = f"{space.dtype} ({count}, {', '.join(map(str, space.shape))})"
    _expect(array.shape == (count, *space.shape) and array.dtype == space.dtype, seen, wanted)
    if isinstance(space, spaces.Box):
        inside = bool(((array >= space.low) & (array <= space.high)).all())
        _expect(inside, f"{where} leaves its space", f"within {space}, or a wider space")


def _parts(obs: Any) -> Iterator[tuple[str, Array]]:
    if isinstance(obs, Mapping):
        yield from ((f"observation {key}", np.asarray(part)) for key, part in obs.items())
    else:
        yield "observation", np.asarray(obs)


def _copied(obs: Any) -> Any:
    if isinstance(obs, Mapping):
        return {key: np.array(part) for key, part in obs.items()}
    return np.array(obs)


def _row(obs: Any) -> Any:
    if isinstance(obs, Mapping):
        return {key: part[0] for key, part in obs.items()}
    return obs[0]


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, Mapping):
        return all(np.array_equal(part, other[key]) for key, part in one.items())
    return bool(np.array_equal(one, other))


def _equal(one: list[Step], other: list[Step]) -> bool:
    """Tell whether two rollouts are the same, bit for bit."""
    fields = ("obs", "reward", "terminated", "truncated", "final_obs")
    pairs = zip(one, other, strict=True)
    return all(_same(getattr(a, name), getattr(b, name)) for a, b in pairs for name in fields)
