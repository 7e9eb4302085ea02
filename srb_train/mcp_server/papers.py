"""What clients can read without calling a tool: the papers of runs, and what can be trained.

A run is named in an address as in a tool, slashes and all: `run://landing/sb3_ppo/<stamp>/log`.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from srb_train import operations, redact
from srb_train.errors import SrbError
from srb_train.mcp_server import bounds
from srb_train.mcp_server.views import Views
from srb_train.operations.reach import Reach

CURVE_POINTS = 200
"""Points of each metric in the paper of a run."""
JSON = "application/json"
TEXT = "text/plain"


@dataclass(frozen=True)
class Papers:
    """The resources, within a reach."""

    reach: Reach

    def record(self, run_id: str) -> str:
        """Everything that is known about a run: what, where, how far, how good, how it ended."""
        return self._answered(lambda: _json(self._shown(run_id)))

    def metrics(self, run_id: str) -> str:
        """The newest points of every metric of a run."""
        views = Views(self.reach)
        return self._answered(
            lambda: _json(views.get_metrics(run_id, metric_keys=["*"], last_n=CURVE_POINTS))
        )

    def log(self, run_id: str) -> str:
        """The newest lines that a run has printed."""
        return self._answered(lambda: self._log(run_id))

    def labels(self) -> str:
        """Every algorithm label: its family, what it can do, and what is missing to use it."""
        return _json({"labels": operations.algos()})

    def tasks(self) -> str:
        """Every task, and how tasks of other packages are named."""
        return _json({"tasks": operations.envs()})

    def configs(self) -> str:
        """The YAML files below the config roots, as config_path takes them."""
        return _json({"roots": list(map(str, self.reach.configs)), "files": self.reach.available()})

    def _shown(self, run_id: str) -> dict[str, Any]:
        shown = operations.show_run(str(self.reach.run(run_id).path), self.reach.logs)
        newest = bounds.newest(shown["checkpoints"], -1, bounds.CHECKPOINTS)
        return {"run_id": run_id, **shown, "checkpoints": newest}

    def _log(self, run_id: str) -> str:
        run = self.reach.run(run_id).path
        found = operations.tail(str(run), self.reach.logs, last_n=bounds.LINES)
        kept, note = bounds.lines(found["lines"], -1)
        return "\n".join([*([f"[{note}]"] if note else []), *kept])

    def _answered(self, read: Callable[[], str]) -> str:
        try:
            return read()
        except SrbError as error:
            raise ResourceNotFoundError(
                redact.text(str(error), redact.known(os.environ))
            ) from error


def add_papers(server: MCPServer, reach: Reach) -> None:
    """Offer the resources on a server."""
    papers = Papers(reach)
    offered = (
        ("run://{+run_id}/record", papers.record, JSON),
        ("run://{+run_id}/metrics", papers.metrics, JSON),
        ("run://{+run_id}/log", papers.log, TEXT),
        ("catalog://labels", papers.labels, JSON),
        ("catalog://tasks", papers.tasks, JSON),
        ("catalog://configs", papers.configs, JSON),
    )
    for address, function, kind in offered:
        name = address.partition("://")[0] + "_" + function.__name__
        server.resource(address, name=name, description=function.__doc__, mime_type=kind)(function)


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
