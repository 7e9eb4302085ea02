"""The tools are those of the contract: names, arguments, hints, schemas, the page about them."""

import asyncio
from pathlib import Path

import pytest

from srb_train.mcp_server.reference import reference
from srb_train.mcp_server.server import build
from tests.mcp.asking import ROOT

SEED = {
    "force_training": "config_path run_id env_path num_envs no_graphics torch_device seed "
    "time_scale base_port wait wait_timeout",
    "stop_training": "run_id timeout",
    "resume_training": "run_id config_path num_envs no_graphics torch_device time_scale wait "
    "wait_timeout",
    "cleanup_processes": "",
    "get_run_status": "run_id last_n_rewards last_n_checkpoints",
    "get_metrics": "run_id behavior_name metric_keys last_n",
    "get_training_logs": "run_id last_n_lines",
    "list_runs": "status_filter last_n",
    "compare_runs": "run_ids metric_key last_n",
    "export_model": "run_id behavior_name last_n",
    "get_config": "config_path",
    "update_config": "config_path updates",
    "wait_for_first_metrics": "run_id timeout poll_interval",
    "wait_for_completion": "run_id timeout poll_interval",
    "check_step": "run_id target_step",
    "check_reward": "run_id target_reward",
    "check_completion": "run_id",
    "check_checkpoint": "run_id known_checkpoints",
}
DESTRUCTIVE = {"force_training", "stop_training", "cleanup_processes", "update_config"}


@pytest.fixture
def tools(reach):
    return {tool.name: tool for tool in asyncio.run(build(reach).list_tools())}


def test_the_verbs_and_their_arguments_are_those_of_the_contract(tools):
    assert list(tools) == list(SEED)
    for name, arguments in SEED.items():
        assert set(arguments.split()) <= set(tools[name].input_schema["properties"]), name


def test_a_tool_says_what_it_does_what_it_takes_and_what_it_answers(tools):
    for name, tool in tools.items():
        assert len(tool.description) > 50, name
        assert tool.input_schema["additionalProperties"] is False, name
        for argument, field in tool.input_schema["properties"].items():
            assert field.get("description"), f"{name}.{argument}"
        assert tool.output_schema["type"] == "object", name
        keys = list(tool.output_schema["properties"])
        if "run_id" in keys:
            assert keys[0] == "run_id", name


def test_a_tool_says_whether_it_changes_anything(tools):
    for name, tool in tools.items():
        hints = tool.annotations
        changes = name in (*DESTRUCTIVE, "resume_training")
        assert hints.read_only_hint is not changes, name
        assert hints.destructive_hint is (name in DESTRUCTIVE), name
        assert hints.open_world_hint is False, name


def test_the_page_about_the_server_is_what_the_server_says():
    written = Path(ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert written == reference(), "python -m srb_train.mcp_server.reference > docs/mcp.md"
