"""The report of a lift: one HTML file that needs nothing else, with the figures inside."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np
from matplotlib.figure import Figure

from kinecast.human.ergonomics import low_back, niosh, strength
from kinecast.human.lifting import figures
from kinecast.human.lifting.checks import LiftCheck
from kinecast.human.lifting.lift import Lift
from kinecast.human.page import section, table

_FIGURES: dict[str, tuple[str, str, Callable[[Lift], Figure]]] = {
    "strip": (
        "The lift",
        "From the side, evenly in time. Red: what the ground does to both feet, from the zero moment point; dotted: "
        "the way of the hands.",
        figures.strip,
    ),
    "low_back": (
        "Low back",
        f"{escape(low_back.SOURCE[0].upper() + low_back.SOURCE[1:])}. Valid for {escape(low_back.VALID)}.",
        figures.low_back,
    ),
    "curves": ("Angles, moments, forces", "Right side; the left side does the same.", figures.curves),
    "strength": (
        "Strength",
        f"The largest torque of each joint over what it can give. {escape(strength.SOURCE[0].upper())}"
        f"{escape(strength.SOURCE[1:])}. Valid for {escape(strength.VALID)}. Of the trunk the strength while lifting.",
        figures.strength,
    ),
}
_MULTIPLIERS = {
    "HM": ("horizontal", "25 cm / H"),
    "VM": ("vertical", "1 - 0.003 |V - 75 cm|"),
    "DM": ("distance", "0.82 + 4.5 cm / D"),
    "AM": ("asymmetry", "1 - 0.0032 A, here A = 0"),
    "FM": ("frequency", "table 5 of the manual"),
    "CM": ("coupling", "good 1, fair 0.95 below 75 cm, poor 0.90"),
}


def page(lift: Lift, check: LiftCheck, problem: str) -> str:
    """The whole page; `problem` is the text of the problem file."""
    from kinecast.report.html import document, image

    task = lift.task
    title = f"{lift.person.name}: {task.mass:g} kg from {task.from_.height:g} m to {task.to.height:g} m"
    no = "" if lift.unsealed.status in ("optimal", "acceptable") else " no"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead{no}"><b>{lift.status}.</b> {escape(lift.message)}</p>',
    ]
    if no:
        parts.append("<p>The figures show the best lift of the solver, which is <b>not a solution</b>.</p>")
    drawn = {
        key: section(heading, f"<p>{text}</p>\n{image(draw(lift), heading)}")
        for key, (heading, text, draw) in _FIGURES.items()
    }
    parts += [_overview(lift), drawn["strip"], drawn["low_back"], _niosh(lift), drawn["strength"], drawn["curves"]]
    parts += [_checks(lift, check), _solution(lift)]
    parts.append(f"<h2>Problem</h2>\n<pre>{escape(problem)}</pre>")
    parts.append(f"<h2>Log</h2>\n<pre>{escape(chr(10).join(lift.log))}</pre>")
    return document(title, parts)


def _overview(lift: Lift) -> str:
    found, asked = lift.figures, lift.ergonomics.summary()
    back, ranges, share = asked["l5s1"], found["range_deg"], found["work_share"]
    moments = found["peak_moment_nm_per_kg"]

    def span(joint: str) -> str:
        low, high = ranges[joint]
        return f"{low:.0f} to {high:.0f} deg"

    hardest = asked["hardest_joint"]
    rows = [
        ("duration", f"{lift.duration:.2f} s, the box at up to {found['peak_box_speed']:.2f} m/s"),
        (
            "compression at L5/S1",
            f"at most {back['peak_compression_n']:.0f} N (limit {back['limit_n']:.0f} N), above the limit during "
            f"{100 * back['above_limit_share']:.0f} % of the lift",
        ),
        ("shear at L5/S1", f"at most {back['peak_shear_n']:.0f} N (proposed limit {back['shear_limit_n']:.0f} N)"),
        ("NIOSH lifting index", ", ".join(f"{each.index:.2f} at the {end}" for end, each in lift.niosh.items())),
        ("hardest joint", f"{hardest}, {asked['strength_use_percent'][hardest]:.0f} % of its strength"),
        ("knee and hip flexion", f"{span('knee')}; {span('hip')}"),
        ("trunk from the vertical", span("trunk")),
        ("positive work", ", ".join(f"{part} {100 * x:.0f} %" for part, x in share.items())),
        (
            "largest moments of one side",
            ", ".join(f"{name.replace('_', ' ')} {x:.2f}" for name, x in moments.items()) + " N m per kg of body mass",
        ),
    ]
    return table(rows)


def _niosh(lift: Lift) -> str:
    ends = lift.niosh
    rows = [("load constant", "LC", "", *(f"{niosh.LOAD_CONSTANT:g} kg" for _ in ends))]
    for key, (name, formula) in _MULTIPLIERS.items():
        rows.append((name, key, formula, *(f"{each.multipliers[key]:.3f}" for each in ends.values())))
    rows.append(("recommended weight limit", "RWL", "product", *(f"{each.rwl:.2f} kg" for each in ends.values())))
    rows.append(("lifting index", "LI", "load / RWL", *(f"{each.index:.2f}" for each in ends.values())))
    places = [f"{end}: H {100 * each.horizontal:.0f}, V {100 * each.vertical:.0f} cm" for end, each in ends.items()]
    task, remarks = lift.task, [remark for each in ends.values() for remark in each.remarks]
    fastest = float(np.linalg.norm(lift.samples.box_velocity, axis=1).max())
    if fastest > niosh.FASTEST:
        remarks.append(f"the predicted lift is faster, up to {fastest:.2f} m/s")
    text = (
        f"<p>{escape(niosh.SOURCE)}: D {100 * ends['origin'].travel:.0f} cm, {task.lifts_per_minute:g} lifts a minute "
        f"during {task.hours:g} h, {escape(task.coupling)} coupling. Valid for {escape(niosh.VALID)}."
        + "".join(f" <b>Beyond its range: {escape(remark)}.</b>" for remark in dict.fromkeys(remarks))
        + " The destination counts where the box has to be controlled there.</p>"
    )
    return section("NIOSH lifting equation", text + table(rows, ("", "", "", *places)))


def _checks(lift: Lift, check: LiftCheck) -> str:
    rows = [
        ("box and body", f"at least {1000 * check.clearance:.1f} mm apart ({check.clearance_at})"),
        ("box above the floor", f"at least {1000 * check.floor:.0f} mm"),
        ("hands", f"at most {1000 * check.grip:.1f} mm off their handles"),
        ("feet", f"slip {1000 * check.slip:.1g} mm, {1000 * check.penetration:.1g} mm below the ground"),
        ("zero moment point", f"at least {1000 * check.margin:.1f} mm inside the support polygon"),
        ("largest torque", f"{100 * check.torque:.0f} % of a joint's strength: static, or at its angle and speed"),
        ("joint angles", "within their limits" if check.angle <= 0 else f"{check.angle:.2g} rad beyond a limit"),
        ("friction needed", f"{check.friction:.2f}"),
        ("left on the global coordinates", f"{check.root_residual:.1e} N, N m"),
        ("torques integrated forward end up off by", f"{1000 * check.forward_error:.2g} mm"),
    ]
    if lift.task.boards:
        rows.insert(1, ("shelf and table", f"at least {1000 * check.boards:.1f} mm from box and body"))
    return section("Checks, also between the instants of the constraints", table(rows))


def _solution(lift: Lift) -> str:
    solution, seconds = lift.unsealed, lift.summary()["seconds"]
    rows = [
        ("variables", str(solution.variables)),
        ("constraints", str(solution.constraints)),
        ("active constraints", str(solution.active)),
        ("iterations", str(solution.iterations)),
        ("seconds", f"{solution.seconds:.2f}, of which building and compiling {seconds['compile']:.2f}"),
        ("violation", f"{solution.violation:.1e}"),
        ("optimality", f"{solution.optimality:.1e}"),
    ]
    return section("Optimisation", table(rows))
