"""A comparison as a picture, drawn by Matplotlib without a window."""

import io
from collections.abc import Mapping
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from srb_train.cli.page import COLOURS

_INCHES = (9.0, 4.2)
"""Of one plot."""
_DOTS_AN_INCH = 110


def png(drawn: Mapping[str, Any]) -> bytes:
    """Return a PNG with one plot a metric: what `operations.curves` returned."""
    found = drawn["metrics"]
    figure = Figure(
        figsize=(_INCHES[0], _INCHES[1] * len(found)), dpi=_DOTS_AN_INCH, layout="constrained"
    )
    canvas = FigureCanvasAgg(figure)
    plots = figure.subplots(len(found), 1, squeeze=False)[:, 0]
    for plot, (tag, each) in zip(plots, found.items(), strict=True):
        for number, (name, values) in enumerate(each["values"].items()):
            numbers = [float("nan") if value is None else value for value in values]
            # A leading underscore would hide a name from the legend.
            plot.plot(
                each["steps"],
                numbers,
                label=f" {_literal(name)}{' (has none)' if name in each['missing'] else ''}",
                color=COLOURS[number % len(COLOURS)],
                linestyle="-" if number < len(COLOURS) else "--",
            )
        plot.set_xlabel("environment steps")
        plot.set_ylabel(_literal(tag))
        plot.grid(alpha=0.3)
        plot.legend(fontsize="small", frameon=False)
    stream = io.BytesIO()
    canvas.print_png(stream, metadata={"Software": "srb-train"})
    return stream.getvalue()


def _literal(name: str) -> str:
    """Keep Matplotlib from reading a name as mathematics."""
    return name.replace("$", r"\$")
