"""The server: operations as tools, with what clients must know about each of them.

It holds no state. Whatever it says is read from the log root at that moment, and the runs that it
starts belong to supervisors of their own; so it may be killed and started again at any time.
"""

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import ConfigDict

import srb_train
from srb_train import redact
from srb_train.errors import SrbError
from srb_train.mcp_server.control import Control
from srb_train.mcp_server.goals import Goals
from srb_train.mcp_server.papers import add_papers
from srb_train.mcp_server.prompts import add_prompts
from srb_train.mcp_server.views import Views
from srb_train.operations.reach import Reach

INSTRUCTIONS = """\
Trainings of reinforcement learning, of any family on any task, as runs on disk.
force_training starts one (say algo and env), resume_training goes on from its newest checkpoint,
stop_training saves and stops. A run outlives this server and every chat: keep its run_id.
Ask with check_* (at once) or wait_for_* (in slices: call again while still_running is true).
Steps are environment transitions over all copies; reward is the mean return of the newest
episodes, null while there is none. compare_runs, get_metrics and get_training_logs tell why."""


def tools(reach: Reach) -> list[Tool]:
    """Return every tool, in the order in which work goes."""
    control, views, goals = Control(reach), Views(reach), Goals(reach)
    changing = {"read_only_hint": False, "destructive_hint": True}
    adding = {"read_only_hint": False, "destructive_hint": False}
    looking = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True}
    return [
        _tool(control.force_training, "Start a training", changing),
        _tool(control.stop_training, "Stop a training", {**changing, "idempotent_hint": True}),
        _tool(control.resume_training, "Go on with a training", adding),
        _tool(control.cleanup_processes, "End orphaned processes", changing),
        _tool(views.get_run_status, "Status of a run", looking),
        _tool(views.get_metrics, "Metrics of a run", looking),
        _tool(views.get_training_logs, "Log of a run", looking),
        _tool(views.list_runs, "List runs", looking),
        _tool(views.compare_runs, "Compare runs", looking),
        _tool(views.export_model, "Locate models", looking),
        _tool(views.get_config, "Read a config file", looking),
        _tool(control.update_config, "Change a config file", changing),
        _tool(goals.wait_for_first_metrics, "Wait for data", looking),
        _tool(goals.wait_for_completion, "Wait for the end", looking),
        _tool(goals.check_step, "Is a step reached", looking),
        _tool(goals.check_reward, "Is a return reached", looking),
        _tool(goals.check_completion, "Is it complete", looking),
        _tool(goals.check_checkpoint, "Are there new checkpoints", looking),
    ]


def build(reach: Reach, **more: Any) -> MCPServer:
    """Return a server for what is within reach; `more` are options of the SDK's own."""
    server = MCPServer(
        name="srb",
        title="SRB training",
        instructions=INSTRUCTIONS,
        version=srb_train.__version__,
        tools=tools(reach),
        log_level="WARNING",
        **more,
    )
    add_papers(server, reach)
    add_prompts(server)
    return server


def _tool(function: Callable[..., Any], title: str, hints: dict[str, bool]) -> Tool:
    """Return a tool that refuses arguments it does not have and tells failures in our words."""
    tool = Tool.from_function(
        _spoken(function),
        title=title,
        description=" ".join((function.__doc__ or "").split()),
        annotations=ToolAnnotations(title=title, open_world_hint=False, **hints),
        structured_output=True,
    )
    # A misspelt argument would be dropped without a word.
    known = tool.fn_metadata.arg_model
    closed: Any = type(known.__name__, (known,), {"model_config": ConfigDict(extra="forbid")})
    tool.fn_metadata.arg_model = closed
    tool.parameters = closed.model_json_schema(by_alias=True)
    return tool


def _spoken(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn our failures into the SDK's, whose text reaches the client; others stay unspoken."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def waiting(*given: Any, **named: Any) -> Any:
            try:
                return await function(*given, **named)
            except (SrbError, OSError) as error:
                raise ToolError(_said(error)) from error

        return waiting

    @wraps(function)
    def working(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except (SrbError, OSError) as error:
            raise ToolError(_said(error)) from error

    return working


def _said(error: SrbError | OSError) -> str:
    if isinstance(error, SrbError):
        text = f"[{error.category}] {error}"
    else:
        where = f"{error.filename}: " if error.filename else ""
        text = f"[failure] {where}{error.strerror or error}"
    also = redact.known(os.environ)
    return "\n".join(redact.text(line, also) for line in text.splitlines())
