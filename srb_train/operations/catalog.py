"""What can be trained and on what, read from the door plates alone: no framework is imported."""

from typing import Any

from srb_train import registry
from srb_train.contracts import Backend, Family


def algos() -> list[dict[str, Any]]:
    """Return every label with its family, what it can do, and what is missing to use it."""
    return [
        {
            "label": name,
            "title": label.title,
            "family": family.name,
            **_installed(family),
            "actions": list(label.actions),
            "observations": list(label.observations),
            "on_policy": label.on_policy,
            "recurrent": label.recurrent,
            "privileged": label.privileged,
            "resume": label.resume,
            "resume_note": label.resume_note or None,
            "demonstrations": label.demonstrations,
            "onnx": label.onnx,
            "devices": list(family.devices),
            "distributed": family.distributed,
        }
        for name, (family, label) in registry.labels().items()
    ]


def envs() -> list[dict[str, Any]]:
    """Return every embedded task, and `<prefix>/<id>` for each backend that takes ids."""
    return [
        {
            "task": name,
            "backend": backend.name,
            "title": backend.title,
            **_installed(backend),
            "resumable": backend.resumable,
            "simulator_options": sorted(backend.simulator_options),
        }
        for name, backend in registry.tasks().items()
    ]


def _installed(plate: Family | Backend) -> dict[str, Any]:
    """Return whether a room can be entered; `install` is the way in, null when it is open."""
    missing = registry.missing(plate)
    return {
        "installed": not missing,
        "missing": missing,
        "install": registry.pip_line(plate) if missing else None,
    }
