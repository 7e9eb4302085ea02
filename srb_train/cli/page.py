"""A comparison as one HTML file: values under the pointer, nothing loaded from outside."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from srb_train.cli import chart, wording

Row = Mapping[str, Any]

COLOURS = (
    *("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951"),
    *("#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0"),
)
"""Colours of the runs; a run more than there are colours begins again, dashed."""
_WIDTH, _HEIGHT = 860, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 12, 34
_TICKS = 5

_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:900px;padding:0 1em;
color:#1a1a1a;background:#fff}
h1{font-size:1.3em}h2{font-size:1.05em;margin:1.6em 0 .3em}
svg{width:100%;height:auto;display:block}
table{border-collapse:collapse;width:100%;font-size:13px}
td,th{text-align:left;padding:.25em .7em .25em 0;border-bottom:1px solid #ddd;vertical-align:top;
overflow-wrap:anywhere}
.n{text-align:right;font-variant-numeric:tabular-nums}
.k{display:inline-block;width:1.4em;height:.25em;vertical-align:middle;margin-right:.5em}
.v{min-height:1.5em;color:#555;font-variant-numeric:tabular-nums}.w{color:#a33}
text{font:11px system-ui,sans-serif;fill:#666}.g{stroke:#e5e5e5}.h{stroke:#999;visibility:hidden}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}td,th{border-color:#333}
.g{stroke:#2b2e33}.v,text{color:#999;fill:#999}}
"""

_SCRIPT = """
for(const box of document.querySelectorAll('figure')){
const data=JSON.parse(box.querySelector('script').textContent),svg=box.querySelector('svg'),
line=box.querySelector('.h'),out=box.querySelector('.v');
const show=x=>{const end=data.steps[data.steps.length-1]||1,
want=Math.min(1,Math.max(0,(x-data.left)/data.width))*end;
let best=0;data.steps.forEach((s,i)=>{if(Math.abs(s-want)<Math.abs(data.steps[best]-want))best=i});
const at=data.left+data.steps[best]/end*data.width;line.setAttribute('x1',at);
line.setAttribute('x2',at);line.style.visibility='visible';
out.textContent='step '+data.steps[best].toLocaleString('en')+': '+data.runs.map(r=>
r.name+' '+(r.values[best]===null?'-':Number(r.values[best].toPrecision(5)))).join('   ')};
svg.addEventListener('pointermove',e=>{const b=svg.getBoundingClientRect();
show((e.clientX-b.left)/b.width*data.span)});
svg.addEventListener('pointerleave',()=>{line.style.visibility='hidden';out.textContent=''})}
"""


def page(drawn: Row, compared: Row) -> str:
    """Return the page: what `operations.curves` and `operations.compare_runs` returned."""
    names = list(drawn["runs"])
    parts = [
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>Comparison of {len(names)} runs</title><style>{_STYLE}</style>",
        f"<h1>{len(names)} runs compared</h1>",
        _runs(drawn["runs"], compared),
        *(_figure(tag, found, names) for tag, found in drawn["metrics"].items()),
        _differences(compared["differences"], names),
        f"<script>{_SCRIPT}</script></html>\n",
    ]
    return "\n".join(parts)


def _said(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _stroke(number: int) -> str:
    dashes = ' stroke-dasharray="6 4"' if number >= len(COLOURS) else ""
    return f'stroke="{COLOURS[number % len(COLOURS)]}"{dashes}'


def _runs(rows: Mapping[str, Row], compared: Row) -> str:
    head = "".join(f"<th>{name}" for name in ("run", "label", "task", "status", "step"))
    lines = []
    for number, (name, row) in enumerate(rows.items()):
        summary = compared["summaries"].get(name)
        final = "no such metric" if summary is None else wording.number(summary["final"])
        cells = (row["algorithm"], row["task"], row["status"], wording.count(row["step"]), final)
        key = f'<span class="k" style="background:{COLOURS[number % len(COLOURS)]}"></span>'
        others = "".join(f"<td>{_said(cell)}" for cell in cells)
        lines.append(f"<tr><td>{key}{_said(name)}{others}")
    return f"<table><tr>{head}<th>{_said(compared['tag'])}, last\n{chr(10).join(lines)}</table>"


def _figure(tag: str, found: Row, names: Sequence[str]) -> str:
    values = [one for name in names for one in found["values"][name] if one is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    data = {
        "steps": found["steps"],
        "left": _LEFT,
        "width": _WIDTH - _LEFT - _RIGHT,
        "span": _WIDTH,
        "runs": [{"name": name, "values": found["values"][name]} for name in names],
    }
    # A script element ends at the first "</", whatever the string around it says.
    held = json.dumps(data, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    missing = ", ".join(found["missing"])
    note = f'<p class="w">without it: {_said(missing)}</p>' if missing else ""
    curves = "".join(
        f'<path fill="none" stroke-width="1.8" {_stroke(number)} d="{path}">'
        f"<title>{_said(name)}</title></path>"
        for number, name in enumerate(names)
        if (path := _path(found["steps"], found["values"][name], (low, high)))
    )
    return (
        f"<h2>{_said(tag)}</h2><figure style='margin:0'>{note}"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_said(tag)}">'
        f"{''.join(_axes(found['steps'][-1], low, high))}{curves}"
        f'<line class="h" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/></svg><div class="v"></div>'
        f'<script type="application/json">{held}</script></figure>'
    )


def _axes(end: int, low: float, high: float) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for number in range(_TICKS + 1):
        share = number / _TICKS
        y = bottom - share * (bottom - _TOP)
        x = _LEFT + share * (right - _LEFT)
        value = chart.label(low * (1 - share) + high * share)
        yield f'<line class="g" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
        where = "end" if number == _TICKS else "middle"
        step = round(end * share)
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="{where}">{step:,}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle:.0f}" y="{_HEIGHT - 4}" text-anchor="middle">environment steps</text>'


def _path(
    steps: Sequence[int], values: Sequence[float | None], between: tuple[float, float]
) -> str:
    """Return the commands of a curve; it is interrupted where there is no value."""
    low, high = between
    end = steps[-1] or 1
    commands, pen_down = [], False
    for step, value in zip(steps, values, strict=True):
        if value is None:
            pen_down = False
            continue
        x = _LEFT + step / end * (_WIDTH - _LEFT - _RIGHT)
        y = _HEIGHT - _BOTTOM - chart.share(value, low, high) * (_HEIGHT - _BOTTOM - _TOP)
        commands.append(f"{'L' if pen_down else 'M'}{x:.1f} {y:.1f}")
        pen_down = True
    return "".join(commands)


def _differences(found: Mapping[str, Row], names: Sequence[str]) -> str:
    if not found:
        return "<p>All settings are the same.</p>"
    head = "".join(f"<th>{_said(name)}" for name in ("setting", *names))
    rows = (
        f"<tr><td>{_said(key)}" + "".join(f"<td>{_said(values[name])}" for name in names)
        for key, values in found.items()
    )
    return f"<h2>Settings that differ</h2><table><tr>{head}\n{chr(10).join(rows)}</table>"
