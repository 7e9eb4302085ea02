"""`srb doctor`: look at this machine before a training does."""

from srb_train import operations
from srb_train.cli import options, render


def doctor(logdir: options.Logdir = None, as_json: options.AsJson = False) -> int:
    """Look at this machine: packages, processors, graphics, disk, clock; exit code 1 on a failure.

    Example: srb doctor --logdir /data/runs
    """
    found = operations.doctor(logdir)
    render.show(render.findings(found), found, as_json)
    return 1 if found["state"] == "fail" else 0
