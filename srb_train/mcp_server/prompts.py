"""Prompts for common work: each tells an assistant which tools to call, and in which order."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt


def train_and_watch(algo: str, env: str, goal: str = "the best mean return") -> str:
    """Train a label on a task, watch it, and report."""
    return f"""Train {algo} on {env}. The goal: {goal}.

1. Look at catalog://labels and catalog://tasks if a name is refused.
2. force_training with algo={algo!r}, env={env!r}, a run_id that says what it is about, and
   overrides where the goal asks for them (run.steps is the budget in environment transitions).
3. wait_for_first_metrics; if it ends early, read get_training_logs and say why.
4. wait_for_completion, again while still_running is true; between two waits look at
   get_run_status, and stop_training if the return has not grown for a third of the budget.
5. Report the final return and success rate, the best checkpoint (export_model), and one sentence
   on what to change next. Say what was measured, not what was hoped for."""


def compare_trainings(run_ids: str, metric_key: str = "episode/return") -> str:
    """Compare runs, given as a list with commas, and say what made the difference."""
    return f"""Compare these runs: {run_ids}.

1. compare_runs with metric_key={metric_key!r}: at_steps holds values at equal steps, which is the
   only fair comparison; differences names the settings that are not the same.
2. get_run_status of each: a run that was stopped or has failed is compared up to its last step.
3. If the settings differ in more than one thing, say that the cause is not known, and name the
   one run that would tell. One seed each is no proof; say so.
4. Answer with a table of run, step, value, and one sentence."""


def why_did_it_fail(run_id: str) -> str:
    """Find out why a run has failed and what to do about it."""
    return f"""Find out why the run {run_id} has failed.

1. check_completion: status, reason, return code, and the last lines of its log.
2. get_training_logs with last_n_lines=200; the cause stands near the end, above the last line.
3. get_metrics with last_n=50: a value that was nan or exploded before the end is a cause too.
4. get_run_status: the newest checkpoint is where resume_training goes on.
5. Answer with the cause in one sentence, the line that proves it, and the smallest change that
   mends it. If the processes vanished (lost), cleanup_processes with dry_run=true first."""


def tune(config_path: str, run_id: str) -> str:
    """Change one setting in a training file and train again beside the old run."""
    return f"""Improve on the run {run_id}, whose training file is {config_path}.

1. get_config and get_run_status: what was asked for, what came of it.
2. Choose one setting, say why, and update_config with only that key.
3. force_training with config_path={config_path!r} and a new run_id, the same seed and budget.
4. wait_for_completion, then compare_runs of both. Keep the change only if it is better at equal
   steps; else update_config back."""


def add_prompts(server: MCPServer) -> None:
    """Offer the prompts on a server."""
    for function in (train_and_watch, compare_trainings, why_did_it_fail, tune):
        server.add_prompt(Prompt.from_function(function, title=function.__doc__))
