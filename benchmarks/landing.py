"""How well the default label lands: five seeds one after the other, 200 fresh episodes each."""

from benchmarks import run_label

SEEDS = range(5)


def measure() -> dict[str, object]:
    """Train the default label on the default task over all seeds."""
    case = run_label.Case("landing")
    return {"cases": {"sb3_ppo on landing": [case.run("sb3_ppo", seed) for seed in SEEDS]}}
