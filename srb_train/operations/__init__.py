"""What the product can do, once, for every door."""

from srb_train.operations.catalog import algos, envs
from srb_train.operations.comparison import CANONICAL, curves, save
from srb_train.operations.config_files import get_config, typed_changes, update_config
from srb_train.operations.control import (
    READY_SECONDS,
    STOP_SECONDS,
    await_turn,
    resume,
    start,
    stop,
)
from srb_train.operations.doctor import doctor
from srb_train.operations.environments import COPIES, bench_env, check_env, new_env, show_env
from srb_train.operations.evaluate import evaluate, roll
from srb_train.operations.exports import export
from srb_train.operations.goals import TIMED_OUT, Goal, check, wait
from srb_train.operations.logs import follow, tail
from srb_train.operations.orphans import cleanup
from srb_train.operations.play import play
from srb_train.operations.prepare import Plan, prepare, show_config
from srb_train.operations.requests import EvalRequest, TrainRequest, ViewRequest
from srb_train.operations.runs import checkpoints, compare_runs, list_runs, run_metrics, show_run
from srb_train.operations.train import Outcome, repl, train
from srb_train.runs.status import State

__all__ = [
    "CANONICAL",
    "COPIES",
    "READY_SECONDS",
    "STOP_SECONDS",
    "TIMED_OUT",
    "EvalRequest",
    "Goal",
    "Outcome",
    "Plan",
    "State",
    "TrainRequest",
    "ViewRequest",
    "algos",
    "await_turn",
    "bench_env",
    "check",
    "check_env",
    "checkpoints",
    "cleanup",
    "compare_runs",
    "curves",
    "doctor",
    "envs",
    "evaluate",
    "export",
    "follow",
    "get_config",
    "list_runs",
    "new_env",
    "play",
    "prepare",
    "repl",
    "resume",
    "roll",
    "run_metrics",
    "save",
    "show_config",
    "show_env",
    "show_run",
    "start",
    "stop",
    "tail",
    "train",
    "typed_changes",
    "update_config",
    "wait",
]
