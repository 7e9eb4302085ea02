"""The arguments that several tools share, with their bounds and what clients read about them."""

from typing import Annotated, Any

from pydantic import Field

LONGEST_WAIT = 7 * 24 * 3600.0
"""Seconds."""
MOST = 1_000_000
"""What counts of points, lines and runs are bounded by; replies have bounds of their own."""

RunId = Annotated[
    str,
    Field(
        max_length=512,
        description="The run: the id that it was started under, its place below the log root "
        "(landing/sb3_ppo/20261130T101502Z), its stamp, or a part of it that fits only one run.",
    ),
]
NewRunId = Annotated[
    str,
    Field(
        max_length=128,
        description="The id to start under: letters, digits, dots, dashes, underscores. An id that "
        "was used before means the new run from now on; the old one keeps its folder.",
    ),
]
ConfigPath = Annotated[
    str,
    Field(
        max_length=512,
        description="A YAML file, relative to a config root, or absolute and inside of one.",
    ),
]
TrainingFile = Annotated[
    str | None,
    Field(
        max_length=512,
        description="A YAML file below a config root with any of the keys algo, task, run, env, "
        "agent; or a folder there that holds presets of yours (agent/, env/, train.yaml). "
        "Arguments win over it.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    Field(
        max_length=200,
        description="Settings over the presets: run.steps=2e6, env.num_envs=512, agent.gamma=0.98.",
    ),
]
NumEnvs = Annotated[
    int | None,
    Field(ge=1, description="Copies of the task that step together; the preset's if omitted."),
]
Device = Annotated[str | None, Field(max_length=64, description="cpu, cuda or cuda:N.")]
NoGraphics = Annotated[
    bool | None, Field(description="Only of tasks with an engine: run without graphics.")
]
TimeScale = Annotated[
    float | None, Field(gt=0, description="Only of tasks with an engine: speed of its clock.")
]
Wait = Annotated[
    bool, Field(description="Wait until the worker has made its first step, or has failed.")
]
WaitTimeout = Annotated[
    float,
    Field(
        ge=0,
        le=LONGEST_WAIT,
        description="Seconds to wait at most. Without a progress token a call returns after 50 s "
        "anyway, with still_running true.",
    ),
]
PollInterval = Annotated[
    float, Field(ge=0.05, le=3600, description="Seconds between two looks, which cost little.")
]
BehaviorName = Annotated[
    str | None,
    Field(max_length=256, description="Only of families that train several policies in one run."),
]
LastN = Annotated[
    int, Field(ge=-1, le=MOST, description="How many of the newest to return; -1 for all.")
]
MetricKey = Annotated[
    str, Field(min_length=1, max_length=256, description="Name of a metric: episode/return.")
]
Updates = Annotated[
    dict[str, Any],
    Field(
        description="Keys with their new values, nested as the file is; mappings are merged, "
        "anything else takes the place of what was there."
    ),
]
Algo = Annotated[
    str | None, Field(max_length=64, description="Label: sb3_ppo, sbx_sac, toy_cem, …")
]
Env = Annotated[
    str | None, Field(max_length=256, description="Task: landing, gymnasium/CartPole-v1, …")
]
Seed = Annotated[
    int, Field(ge=-1, lt=2**31, description="Seed of every generator; -1 for a random one.")
]
EnvPath = Annotated[
    str | None, Field(max_length=512, description="Only of engines: a built executable.")
]
BasePort = Annotated[
    int | None, Field(ge=1, le=65535, description="Only of engines: chosen if omitted.")
]
Additional = Annotated[
    int | None,
    Field(ge=1, description="Steps on top of the checkpoint, in place of the old budget."),
]
StopTimeout = Annotated[
    float, Field(ge=0, le=3600, description="Seconds until it is killed, unsaved.")
]
DryRun = Annotated[bool, Field(description="Only list them, end nothing.")]
After = Annotated[
    str | None,
    Field(max_length=512, description="A run that must be completed before this one begins."),
]
