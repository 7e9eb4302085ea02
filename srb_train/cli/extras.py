"""Parts of the command line that stand on packages which not everybody installs."""

import importlib
import importlib.util
from types import ModuleType

from srb_train.errors import MissingDependency


def part(module: str, package: str, extra: str) -> ModuleType:
    """Import a part of the command line that needs a package; without it, say how to get it."""
    if importlib.util.find_spec(package) is None:
        raise MissingDependency(
            f'this needs {package}, which is not installed: pip install "srb-train[{extra}]"'
        )
    return importlib.import_module(module)
