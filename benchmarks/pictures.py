"""Draw the README's pictures: `python -m benchmarks.pictures RUN`, a completed run of landing.

The lander is flown by the scripted controller; the display is what a terminal showed two thirds
into the run, built again from its metrics.
"""

import io
import re
import sys
from pathlib import Path

from PIL import Image
from rich.console import Console

from srb_train.cli.live import panel
from srb_train.envs.tasks import landing_pilot, machine
from srb_train.operations.progress import Progress
from srb_train.runs import metrics
from srb_train.runs.store import Run
from srb_train.spec import RunSpec

IMAGES = Path(__file__).parents[1] / "docs" / "images"
REMOTE_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""A picture in a README must not load anything from elsewhere."""
SEED = 7
STEP = 40
WIDTH = 76


def landing(path: Path) -> None:
    """Save one frame of a landing."""
    env = machine.make("landing", 1, {})
    env.reset(SEED)
    for _ in range(STEP):
        env.step(landing_pilot.scripted(env))
        frame = env.render()
    Image.fromarray(frame).save(path, optimize=True)


def display(run: Run, path: Path) -> None:
    """Save the live display of a run as it looked two thirds into it."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(panel(seen(run), WIDTH))
    picture = console.export_svg(title="srb agent train --algo sb3_ppo --env landing")
    path.write_text(REMOTE_FONT.sub("", picture), encoding="utf-8")


def seen(run: Run) -> Progress:
    """Return the progress of a run at two thirds of its budget, from its metrics."""
    spec = run.spec()
    found = metrics.read(run.metrics_path)
    until = 2 * spec.steps // 3
    series = {tag: [r for r in found.series(tag) if r.step <= until] for tag in found.tags}
    last = series[metrics.RETURN][-1]
    return Progress(
        title=f"{spec.algo} on {spec.env}",
        name=run.name,
        phase="training",
        step=last.step,
        budget=spec.steps,
        rate=series[metrics.RATE][-1].value,
        elapsed=last.wall_time - series[metrics.RETURN][0].wall_time,
        returns=tuple(one.value for one in series[metrics.RETURN]),
        successes=tuple(one.value for one in series[metrics.SUCCESS]),
        checkpoint=_saved(spec, last.step),
    )


def _saved(spec: RunSpec, step: int) -> int:
    """Return the newest checkpoint at a step: the first boundary past each multiple."""
    rollout = spec.agent_params["n_steps"] * spec.num_envs
    due = spec.checkpoint_every * (step // spec.checkpoint_every)
    return rollout * -(-due // rollout)


if __name__ == "__main__":
    landing(IMAGES / "landing.png")
    display(Run(Path(sys.argv[1]).absolute()), IMAGES / "display.svg")
