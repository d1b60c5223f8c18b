"""The report of a walk: one HTML file that needs nothing else, with the figures inside."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from matplotlib.figure import Figure

from kinecast.human.page import section, table
from kinecast.human.walking import figures
from kinecast.human.walking.walk import Walk, WalkCheck

# What the thesis (papers/000, 5.2) reports of its own walk, at 1.2 m/s and 0.6 m.
_THESIS = (("variables", "330"), ("constraints", "1726"), ("active constraints", "244"), ("seconds", "34.10"))

_FIGURES: dict[str, tuple[str, str, Callable[[Walk], Figure]]] = {
    "strip": (
        "One stride",
        "From right heel strike to the next. Dark: right side, light: left side, red: what the ground does.",
        figures.strip,
    ),
    "curves": (
        "Angles, moments, forces",
        "Right side, from its heel strike; the vertical line is toe-off. Forces in the joints are those between the "
        "segments: muscles, which press the joint together, are not in them.",
        figures.curves,
    ),
    "prints": ("From above", "Dotted: the prints before and after the stride.", figures.prints),
    "trunk": ("Pelvis, trunk, arms", "Pelvis and thorax against the world.", figures.trunk_and_arms),
    "strength": ("Strength", "The largest torque of each joint, in either direction, both sides.", figures.strength),
}


def page(walk: Walk, check: WalkCheck, problem: str) -> str:
    """The whole page; `problem` is the text of the problem file."""
    from kinecast.report.html import document, image

    task, gait = walk.task, walk.gait
    title = f"{walk.person.name}: walking at {task.speed:g} m/s"
    no = "" if walk.unsealed.status in ("optimal", "acceptable") else " no"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead{no}"><b>{walk.status}.</b> {escape(walk.message)}</p>',
    ]
    if no:
        parts.append("<p>The figures show the best step of the solver, which is <b>not a solution</b>.</p>")
    drawn = {key: image(draw(walk), heading) for key, (heading, _, draw) in _FIGURES.items()}
    sections = {key: section(heading, f"<p>{text}</p>\n{drawn[key]}") for key, (heading, text, _) in _FIGURES.items()}
    parts += [_gait(gait), sections["strip"], sections["curves"], _comparison(gait["normative"])]
    parts += [sections["prints"], sections["trunk"], sections["strength"]]
    parts += [_checks(check, gait["root_residual_n"]), _solution(walk)]
    parts.append(f"<h2>Problem</h2>\n<pre>{escape(problem)}</pre>")
    parts.append(f"<h2>Log</h2>\n<pre>{escape(chr(10).join(walk.log))}</pre>")
    return document(title, parts)


def _gait(gait: dict[str, Any]) -> str:
    first, valley, second = gait["vertical_grf_peaks_bw"]
    brake, push = gait["fore_aft_grf_peaks_bw"]
    peak, knee = gait["peak_moment_nm_per_kg"], gait["knee_deg"]
    hip, ankle = gait["extremes_deg"]["hip"], gait["extremes_deg"]["ankle"]
    rows = [
        ("speed", f"{gait['speed']:.3g} m/s", "1.2 to 1.65 m/s at normal pace"),
        ("step length", f"{gait['step_length']:.3g} m", "0.67 to 0.83 m"),
        ("cadence", f"{gait['cadence']:.0f} steps/min", "99 to 113 steps/min"),
        ("both feet down", f"{100 * gait['double_support']:.0f} % of the stride", "22 to 31 %"),
        ("vertical ground reaction", f"{first:.2f}, {valley:.2f}, {second:.2f} body weights", "1.10, 0.72, 1.08"),
        ("fore-aft ground reaction", f"{brake:+.2f}, {push:+.2f} body weights", "-0.20, +0.22"),
        ("hip flexion", f"{hip[0]:.0f} to {hip[1]:.0f} deg", "a range of 33 to 46 deg"),
        ("knee flexion, loaded", f"{knee['stance_flexion']:.0f} deg", "22 deg"),
        ("knee flexion in swing", f"{knee['swing']:.0f} deg", "59 to 66 deg"),
        ("ankle dorsiflexion", f"{ankle[0]:.0f} to {ankle[1]:.0f} deg", "-21 to 14 deg"),
        ("hip extension moment", f"{peak['hip_extension']:.2f} N m/kg", "0.59 to 0.73"),
        ("hip abduction moment", f"{peak['hip_abduction']:.2f} N m/kg", "0.49 to 0.92"),
        ("knee extension moment", f"{peak['knee_extension']:.2f} N m/kg", "0.37 to 0.74"),
        ("ankle plantarflexion moment", f"{peak['ankle_plantarflexion']:.2f} N m/kg", "1.19 to 1.46"),
    ]  # fmt: skip
    return table(rows, ("", "predicted", "normal gait at people's own pace"))


def _comparison(normative: list[dict[str, Any]]) -> str:
    rows = [
        (entry["curve"].replace("_", " "), f"{entry['r']:.3f}", f"{entry['rmse']:.3g} {entry['unit']}", entry["source"])
        for entry in normative
    ]
    return table(rows, ("beside normal gait", "correlation", "root mean square", "source"))


def _checks(check: WalkCheck, residual: float) -> str:
    rows = [
        ("lowest corner of a sole", f"{1000 * check.penetration:.1f} mm below the ground"),
        ("slip of a standing foot", f"{1000 * check.slip:.1f} mm"),
        ("lowest point of the swinging foot in mid swing", f"{1000 * check.clearance:.1f} mm above the ground"),
        ("zero moment point", f"at least {1000 * check.margin:.1f} mm inside the support polygon"),
        ("largest torque", f"{100 * check.torque:.0f} % of the joint's strength"),
        ("joint angles", "within their limits" if check.angle <= 0 else f"{check.angle:.2g} rad beyond a limit"),
        ("friction needed", f"{check.friction:.2f}"),
        ("mean vertical force", f"one body weight {check.mean_lift_error:+.1e}"),
        ("net fore-aft impulse", f"{check.impulse:.1e} body weights times the step's time"),
        ("left on the global coordinates", f"{residual:.1e} N, N m"),
        ("torques and reactions integrated forward end up off by", f"{1000 * check.forward_error:.2g} mm"),
    ]
    return section("Checks, also between the instants of the constraints", table(rows))


def _solution(walk: Walk) -> str:
    solution = walk.unsealed
    own = (
        str(solution.variables),
        str(solution.constraints),
        str(solution.active),
        f"{solution.seconds:.2f}, of which building and compiling {walk.summary()['seconds']['compile']:.2f}",
    )
    rows = [(name, mine, theirs) for (name, theirs), mine in zip(_THESIS, own, strict=True)]
    rows += [("iterations", str(solution.iterations), "not given"), ("violation", f"{solution.violation:.1e}", "1e-3")]
    rows.append(("optimality", f"{solution.optimality:.1e}", "1e-3"))
    return section("Optimisation", table(rows, ("", "this walk", "Barman 2020 (1.2 m/s, 0.6 m)")))
