"""Write the table of labels into README.md from the plates: `python -m srb_train.cli.readme`."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srb_train import operations

BLOCK = re.compile(r"(<!-- labels[^\n]*-->\n).*?(<!-- /labels -->)", re.DOTALL)
COLUMNS = {
    "label": "label",
    "title": "algorithm",
    "actions": "actions",
    "observations": "observations",
    "resume": "resume",
    "recurrent": "recurrent",
    "privileged": "privileged critic",
    "demonstrations": "demonstrations",
    "onnx": "ONNX",
    "devices": "devices",
    "distributed": "distributed",
}


def label_table() -> str:
    """Return every label and what its plate says it can do, as Markdown."""
    rows = [f"| {' | '.join(COLUMNS.values())} |", f"|{'---|' * len(COLUMNS)}"]
    rows += [f"| {' | '.join(map(cell, cells(row)))} |" for row in operations.algos()]
    return "\n".join(rows)


def cells(row: Mapping[str, Any]) -> list[Any]:
    """Return a label's values in the order of the columns, a lesser resume with its reason."""
    values = [row[key] for key in COLUMNS]
    if row["resume_note"]:
        values[list(COLUMNS).index("resume")] = f"{row['resume']}: {row['resume_note']}"
    return values


def cell(value: Any) -> str:
    """Return a value as a cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "–"
    if isinstance(value, str):
        return f"`{value}`" if "_" in value else value
    return ", ".join(value)


def main(path: Path) -> None:
    """Renew the table in a document that has the block for it."""
    text = path.read_text(encoding="utf-8")
    path.write_text(
        BLOCK.sub(lambda block: f"{block[1]}{label_table()}\n{block[2]}", text), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]) if sys.argv[1:] else Path("README.md"))
