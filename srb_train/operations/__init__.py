"""What the product can do, once, for every door."""

from srb_train.operations.catalog import algos, envs
from srb_train.operations.doctor import doctor
from srb_train.operations.evaluate import evaluate, roll
from srb_train.operations.prepare import Plan, prepare, show_config
from srb_train.operations.requests import EvalRequest, TrainRequest
from srb_train.operations.runs import checkpoints, compare_runs, list_runs, run_metrics, show_run
from srb_train.operations.train import Outcome, repl, train

__all__ = [
    "EvalRequest",
    "Outcome",
    "Plan",
    "TrainRequest",
    "algos",
    "checkpoints",
    "compare_runs",
    "doctor",
    "envs",
    "evaluate",
    "list_runs",
    "prepare",
    "repl",
    "roll",
    "run_metrics",
    "show_config",
    "show_run",
    "train",
]
