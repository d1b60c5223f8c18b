"""The report of a run: one HTML file that needs nothing else, with the figures inside."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from html import escape

from matplotlib.figure import Figure

from kinecast.predict.excess import Excess
from kinecast.predict.result import Motion
from kinecast.report.figures import sections

DPI = 120
ROUNDING = 1e-9  # part of a limit
NOTABLE = 1e-4  # part of a limit: what exceeds it by less is no news in a table
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .3rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.lead { font-size: 1.05rem; padding: .7rem 1rem; border-left: 4px solid #2a9d6f; background: #f3f8f6; }
.lead.no { border-color: #d1495b; background: #fbf3f4; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { padding: .2rem 1.2rem .2rem 0; text-align: left; vertical-align: top; }
td:first-child { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; } pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: .8rem; }
"""


def page(motion: Motion, problem: str, closure: float | None) -> str:
    """The whole page; `problem` is the problem file's text, `closure` what integrating the torques ended up off by."""
    name = motion.task.structure.name
    parts = [
        f"<h1>{escape(name)}: a predicted motion</h1>",
        f'<p class="lead{"" if motion.ok else " no"}"><b>{motion.status}.</b> {escape(motion.message)}</p>',
        _facts(motion, closure),
    ]
    notable = [excess for excess in motion.excesses if excess.relative > NOTABLE]
    if notable:
        parts.append(_excesses(notable))
    drawn = motion if motion.ok else motion.acknowledge()
    if not motion.ok:
        parts.append("<p>The figures show the last motion of the solver, which is <b>not a solution</b>.</p>")
    for heading, figure in sections(drawn):
        parts.append(f"<h2>{heading}</h2>\n{image(figure, heading)}")
    parts.append(f"<h2>Problem</h2>\n<pre>{escape(problem)}</pre>")
    parts.append(f"<h2>Log</h2>\n<pre>{escape(chr(10).join(motion.log))}</pre>")
    return document(name, parts)


def document(title: str, parts: Iterable[str]) -> str:
    """A page of its parts, which are HTML."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style>\n</head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _facts(motion: Motion, closure: float | None) -> str:
    rows = [
        ("duration", f"{motion.unsealed.duration:.6g} s"),
        ("objective", f"{motion.objective:.8g}"),
        ("violation at the grid points", _amount(motion.at_nodes)),
        ("violation between them", _amount(motion.between_nodes)),
        ("torques integrated forward end up off by", "not integrated" if closure is None else f"{closure:.1e}"),
        ("program", f"{motion.variables} variables, {motion.constraints} constraints"),
        ("iterations", str(motion.iterations)),
        ("time", f"{motion.seconds.total:.3g} s, of which compiling {motion.seconds.compile:.3g} s"),
    ]
    switches = ", ".join(f"{s.name} {s.fraction * motion.unsealed.duration:.5f} s" for s in motion.switches)
    if switches:
        rows.append(("limits are reached or left", switches))
    return "<table>" + "".join(f"<tr><td>{a}</td><td>{escape(b)}</td></tr>" for a, b in rows) + "</table>"


def _amount(excess: Excess | None) -> str:
    if excess is None or excess.relative < ROUNDING:
        return "none"
    return f"{excess.amount:.2e} {excess.group.unit} ({excess.where})"


def _excesses(excesses: Iterable[Excess]) -> str:
    rows = "".join(
        f"<tr><td>{escape(e.group.name)}</td><td>{'' if e.t != e.t else f'{e.t:.4g} s'}</td>"
        f'<td class="number">{e.value:.5g}</td><td class="number">{e.limit:.5g}</td>'
        f'<td class="number">{e.amount:.3g}</td><td>{escape(e.group.unit)}</td></tr>'
        for e in excesses
    )
    head = "<tr><th>limit</th><th>worst at</th><th>value</th><th>limit</th><th>beyond by</th><th></th></tr>"
    return f"<h2>Limits that are exceeded, grid points and between</h2>\n<table>{head}{rows}</table>"


def image(figure: Figure, alt: str) -> str:
    """A figure inside the page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">'
