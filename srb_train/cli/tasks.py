"""What a terminal shows of a task."""

from collections.abc import Mapping
from typing import Any

from srb_train.cli.render import columns, pairs

Row = Mapping[str, Any]


def shown(found: Row) -> str:
    """Return what a task is, and its settings."""
    limit, seconds = found["max_episode_steps"], found["step_seconds"]
    length = f", {limit * seconds:g} s" if limit and seconds else ""
    facts = {
        "task": found["env"],
        "observations": _with(found["observation_space"], found["observations"]),
        "actions": _with(found["action_space"], found["actions"]),
        "limit": f"{limit:,} steps{length}" if limit else "none",
        "arrays": f"{found['array']} on {found['device']}",
        "resume": "exact: its state can be stored" if found["resumable"] else "with new episodes",
        "frame": found["frame"],
    }
    settings = {f"  {key}": str(value) for key, value in _flat(found["settings"]).items()}
    parts = [found["is"] or "", pairs(facts), "settings", pairs(settings)]
    return "\n".join(part for part in parts if part)


def _with(space: str, meaning: str | None) -> str:
    return f"{space}: {meaning}" if meaning else space


def _flat(tree: Row, above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat


def rates(found: Row) -> str:
    """Return how fast a task steps."""
    rows = [
        [
            f"{row['copies']:,}",
            f"{row['steps_per_second']:,.0f}",
            f"{1e6 * row['seconds_per_step']:,.0f}",
            f"{1e6 * row['random_policy_seconds']:,.0f}",
        ]
        for row in found["rates"]
    ]
    return columns(("copies", "transitions/s", "µs a step", "µs of random actions"), rows)


def begun(found: Row) -> str:
    """Return what was written and what to do with it."""
    name = found["env"]
    return pairs(
        {
            "wrote": "\n       ".join(found["files"]),
            "check": f"srb env check {name}   # with its folder on PYTHONPATH",
            "train": f"srb agent train --algo sb3_ppo --env {name} run.steps=2e5",
        }
    )
