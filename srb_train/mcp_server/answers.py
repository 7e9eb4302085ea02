"""What the tools answer: the schemas that clients see, one a tool.

Every key is always there, null where nothing is known; the run's id stands first. `step` counts
environment transitions over all copies. Keys are added within a version, never renamed.
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict


class Point(TypedDict):
    """A measured value; `nonfinite` (nan, inf, -inf) is there where the value is null for it."""

    step: int
    value: float | None
    nonfinite: NotRequired[str]


class CheckpointFile(TypedDict):
    """A complete checkpoint: a folder that `--model` takes."""

    file_path: str
    steps: int
    reward: float | None
    size_mb: float
    latest: bool
    best: bool


class ModelFile(TypedDict):
    """A file that the framework itself loads."""

    path: str
    step: int
    size_mb: float


class Began(TypedDict):
    """How a training began; `still_running` with `ready` false means that it is on its way."""

    run_id: str
    run: str
    """Place of the run below the log root."""
    status: str
    pid: int | None
    base_port: int | None
    config_path: str | None
    results_dir: str
    algo: str
    env: str
    seed: int | None
    step: int
    budget: int | None
    ready: bool
    done: bool
    """Whether the budget was reached before, so that nothing was started."""
    still_running: bool
    timed_out: bool
    replaced: str | None
    """Place of the run that had this id before; it stays where it is."""
    message: str | None


class Stopped(TypedDict):
    """How a training ended; `forced` means that it had to be killed."""

    run_id: str
    stopped: bool
    forced: bool
    still_running: bool
    status: str
    step: int
    return_code: int | None
    signal: str | None
    message: str | None


class Orphan(TypedDict):
    """A process of a run that nobody looks after any more."""

    pid: int
    run_id: str
    memory_mb: float
    children: list[int]


class Cleaned(TypedDict):
    """Which orphans were there, and what became of them."""

    killed: list[Orphan]
    failed: list[Orphan]
    listed: list[Orphan]
    """Those that were only looked at."""
    total_found: int
    total_killed: int
    closed: list[str]
    """Runs whose record got its last word now."""


class Status(TypedDict):
    """Everything about a run in one look."""

    run_id: str
    run: str
    status: str
    reason: str
    pid: int | None
    algo: str
    env: str
    seed: int | None
    device: str | None
    num_envs: int | None
    latest_step: int
    budget: int | None
    steps_per_second: float | None
    eta_seconds: float | None
    elapsed_seconds: float
    latest_reward: float | None
    success_rate: float | None
    reward_trend: list[Point]
    checkpoints: list[CheckpointFile]
    total_checkpoints: int
    latest_metrics: dict[str, float | None]
    failure: str | None
    return_code: int | None
    signal: str | None
    started_at: str | None
    ended_at: str | None
    overrides: list[str]
    results_dir: str
    warnings: list[str]


class Measured(TypedDict):
    """Series of metrics; `note` says what was left out."""

    run_id: str
    metrics: dict[str, list[Point]]
    missing_keys: list[str]
    available_keys: list[str]
    note: str | None


class Logs(TypedDict):
    """The newest lines of a run's log, oldest first."""

    run_id: str
    status: str
    log_path: str
    log_lines: list[str]
    note: str | None


class Row(TypedDict):
    """A run in the list."""

    run_id: str
    run: str
    status: str
    algo: str
    env: str
    step: int
    budget: int | None
    reward: float | None
    success_rate: float | None
    created_at: str | None
    ended_at: str | None


class Listed(TypedDict):
    """Runs, newest first; `total` counts those that the filters leave."""

    runs: list[Row]
    total: int
    results_dir: str
    warnings: list[str]
    note: str | None


class Series(TypedDict):
    """One run in a comparison; `error` says why there is nothing of it."""

    run: str
    status: str
    final_value: float | None
    max_value: float | None
    min_value: float | None
    num_points: int
    final_step: int | None
    at_steps: list[float | None]
    """Its value at or before each of the common steps."""
    trend: list[Point]
    error: str | None


class Compared(TypedDict):
    """Several runs on one metric, at the steps that all of them have reached."""

    metric_key: str
    steps: list[int]
    comparison: dict[str, Series]
    differences: dict[str, dict[str, Any]]
    """Dotted setting -> run -> value, where they are not the same."""
    note: str | None


class Exported(TypedDict):
    """Where models and checkpoints are, newest first; nothing is copied."""

    run_id: str
    models: list[ModelFile]
    total_models: int
    checkpoints: list[CheckpointFile]
    total_checkpoints: int
    results_dir: str


class Config(TypedDict):
    """What a configuration file holds, secrets masked."""

    config_path: str
    config: dict[str, Any]


class Updated(TypedDict):
    """What a configuration file holds now, secrets masked."""

    config_path: str
    updated_config: dict[str, Any]


class FirstMetrics(TypedDict):
    """Whether data flows; `still_running` means that waiting again makes sense."""

    run_id: str
    ready: bool
    status: str
    first_step: int | None
    first_reward: float | None
    metric_keys: list[str]
    ended: bool
    still_running: bool
    timed_out: bool
    last_logs: list[str]
    message: str | None


class Completion(TypedDict):
    """Whether a training is complete, which only a run that says so is; `ended` means any end."""

    run_id: str
    completed: bool
    ended: bool
    status: str
    reason: str
    current_step: int
    budget: int | None
    current_reward: float | None
    reward_trend: list[Point]
    eta_seconds: float | None
    return_code: int | None
    still_running: bool
    timed_out: bool
    last_logs: list[str]


class Reached(TypedDict):
    """Whether a target is reached, which is never true from missing data."""

    run_id: str
    reached: bool
    target_step: int | None
    target_reward: float | None
    current_step: int
    current_reward: float | None
    reward_trend: list[Point]
    status: str
    ended: bool
    eta_seconds: float | None


class NewCheckpoints(TypedDict):
    """Which checkpoints there are, and which of them were not named."""

    run_id: str
    new_checkpoint: bool
    new_files: list[CheckpointFile]
    all_checkpoints: list[str]
    total_checkpoints: int
    status: str
