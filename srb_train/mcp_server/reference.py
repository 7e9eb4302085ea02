"""Write docs/mcp.md from the server itself: `python -m srb_train.mcp_server.reference`.

What no server can tell (how clients are set up, what is within reach) stands here beside what
tells the rest.
"""

import asyncio
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from srb_train.mcp_server import answers
from srb_train.mcp_server.server import build
from srb_train.operations.reach import Reach

HEAD = """\
# The door for assistants

Written by `python -m srb_train.mcp_server.reference > docs/mcp.md`; a test compares it with the
server.

`srb mcp` lets an assistant start, stop, resume, watch and compare trainings of every family over
the Model Context Protocol. It needs `pip install "srb-train[mcp]"`.

- **It holds no state.** What it says is read from the log root at that moment; the runs that it
  starts belong to supervisors of their own. Kill it, restart it, run two of them: trainings go on.
- **A wait comes back.** Without a progress token a call returns within 50 seconds, with the run's
  id and `still_running` true; with one it reports every five seconds and waits as long as asked.
  Cancelling a call never ends a run.
- **Only the roots are within reach**: runs below `--logdir`, YAML files below each `--config-root`.
  `..`, other absolute paths and links that lead out are refused, also as values of settings (an
  interpreter, a data file). Secrets are masked.
- **It runs as you.** A task of your own (`module:object`) is code of yours; give assistants only
  environments whose packages you trust.
- **Replies are bounded**: 2,000 lines or 64 KiB of a log, 5,000 points, 1,000 runs, 200
  checkpoints; a `note` says what was cut.
- A failure is an error of the tool, with its category and the way out. A misspelt argument is one.
- Some arguments are for tasks that an engine runs (`env_path`, `no_graphics`, `time_scale`,
  `base_port`, `behavior_name`); elsewhere they are refused with a word on what to do instead.

## Setting up a client

Most clients start the server themselves and take this (`.mcp.json`, `claude_desktop_config.json`,
`.cursor/mcp.json`); give absolute paths, since the folder that a client starts it in is not yours:

```json
{
  "mcpServers": {
    "srb": {
      "command": "/home/me/.venv/bin/srb",
      "args": ["mcp", "--logdir", "/home/me/logs", "--config-root", "/home/me/trainings"]
    }
  }
}
```

On a command line: `claude mcp add srb -- srb mcp --logdir "$PWD/logs"`.

Several clients, or one elsewhere through an SSH tunnel, share a server over HTTP. It listens on
127.0.0.1 alone, and answers nobody without the token:

```sh
export SRB_MCP_TOKEN=$(openssl rand -hex 32)
srb mcp --http --port 8765 --logdir logs --config-root trainings
```

```json
{
  "mcpServers": {
    "srb": {
      "type": "http",
      "url": "http://127.0.0.1:8765/mcp",
      "headers": {"Authorization": "Bearer ${SRB_MCP_TOKEN}"}
    }
  }
}
```

## A training file

What `config_path` of `force_training` names; each key may be left out, and arguments win over it:

```yaml
algo: sb3_ppo
task: landing
run: {steps: 2e6, seed: 1}
env: {num_envs: 512}
agent: {gamma: 0.98}
```

A folder with presets of your own (`agent/`, `env/`, `train.yaml`) may stand in its place.

## Names

`run_id` of `force_training` is a name of your choice; every other tool takes it, or the run's
place below the log root, or its stamp. A name that is used again means the new run from then on;
the old run keeps its folder, and the answer says where (`replaced`). A name whose run still lives
is refused.
"""


def reference() -> str:
    """Return the whole page."""
    reach = Reach.of(Path("logs"))
    return "\n".join([HEAD, *asyncio.run(_offered(reach))])


async def _offered(reach: Reach) -> list[str]:
    server = build(reach)
    tools = await server.list_tools()
    lines = ["## The tools\n", *_table(("tool", "what it does", "changes"))]
    lines += [
        f"| [`{tool.name}`](#{tool.name}) | {_first(tool.description)} | {_hints(tool)} |"
        for tool in tools
    ]
    for tool in tools:
        lines += ["", *_tool(tool)]
    lines += ["", "## Resources\n", *_table(("address", "what it holds"))]
    papers = [(one.uri_template, one) for one in await server.list_resource_templates()]
    papers += [(str(one.uri), one) for one in await server.list_resources()]
    lines += [f"| `{address}` | {one.description} |" for address, one in papers]
    lines += ["", "## Prompts\n", *_table(("prompt", "arguments", "what it is for"))]
    for prompt in await server.list_prompts():
        names = ", ".join(f"`{one.name}`" for one in prompt.arguments or [])
        lines.append(f"| `{prompt.name}` | {names} | {prompt.description} |")
    return [*lines, ""]


def _tool(tool: Any) -> Iterator[str]:
    yield f"### `{tool.name}`\n"
    yield f"{tool.description}\n"
    yield from _table(("argument", "type", "default", "meaning"))
    schema = tool.input_schema
    for name, field in schema["properties"].items():
        needed = name in schema.get("required", ())
        default = "needed" if needed else f"`{_value(field.get('default'))}`"
        yield f"| `{name}` | {_kind(field)} | {default} | {field.get('description', '')} |"
    yield ""
    answer = getattr(answers, tool.output_schema["title"])
    yield f"Answers: {inspect.getdoc(answer)} Keys: {_keys(tool.output_schema)}."


def _keys(schema: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in schema["properties"])


def _first(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")


def _hints(tool: Any) -> str:
    if tool.annotations.read_only_hint:
        return "nothing"
    return "yes" if tool.annotations.destructive_hint else "adds"


def _kind(field: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        kinds = [_kind(one) for one in field["anyOf"] if one.get("type") != "null"]
        return " or ".join(kinds)
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}"
    return str(field.get("type", "any"))


def _value(default: Any) -> str:
    if default is None or isinstance(default, bool):
        return {None: "null", True: "true", False: "false"}[default]
    return str(default)


def _table(head: tuple[str, ...]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"


if __name__ == "__main__":
    sys.stdout.write(reference())
