"""The worked optima: examples 4.1 and 4.2 of the Newton-Euler thesis, 1 and 2 of the recursive Lagrangian paper.

The references are not the printed numbers, which come from coarse splines, but the true optima of the same problems:
Radau collocation to 1e-8, the controls integrated again to 2e-10, made independently of this library. What is printed
stands in lines of its own, to as many digits as it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from kinecast.dynamics.mechanism import Mechanism
from kinecast.predict.prediction import Prediction
from kinecast.predict.result import Motion
from kinecast.report.figures import sections
from kinecast.verify.frame import Check, agree, all_agree

BARMAN, XIANG = "Barman 2020", "Xiang 2009"
# The true optima. Times in s; J of the examples with u = 0.01.
LEAST_TIME, SWITCHES = 0.3918545, (0.04571, 0.19593, 0.23530)
LIFT_J, LIFT_T = 0.8448780, 0.51886
SLIDER_J = {"slider_arm": 0.8530628, "slider_arm_no_offset": 0.7732348}
SLIDER_T = {"slider_arm": 0.6462597, "slider_arm_no_offset": 0.5857839}
READINGS = {"slider_arm": "theta_2 = pi/2 + q_2", "slider_arm_no_offset": "theta_2 = q_2"}
# Cubic splines of 20 uniform segments with limits at 5 points of each, computed independently as well.
UNIFORM_TIME, UNIFORM = 0.3931, 2e-4 / 0.3931

SMOOTH = 5e-4  # of J on 20 segments, where torques do not jump
FLAT = 2e-3  # of T where J is what was minimised: J hardly depends on it
REFINED = 2e-4  # of T, twice what the refinement is asked for
MILLISECOND = 1e-3 / max(SWITCHES)
BEYOND = 1e-3  # N m, between the points at which limits were imposed
CLOSED = 1e-6  # rad or m: torques integrated forward at rtol 1e-10
SAME = 1e-10  # sensitivities of some hundred operations, large where the arm is fast
DIGITS = 0.5e-3  # of a time printed with three decimals
SEGMENTS, CHECKS = 20, 5


def checks(folder: Path | None) -> Iterator[Check]:
    """All lines; with a folder, figures 4.2 to 4.7 of the thesis and 7 to 13 of the paper."""
    yield from _least_time(folder)
    yield from _lifting(folder)
    for name in READINGS:
        yield from _slider(name, folder)


def _fastest(refine: float | None = None) -> Motion:
    """The fastest motion of the horizontal two-link arm."""
    plan = _plan("planar2", refine).start(q=[0, -2]).end(q=[1, -1]).minimize(time=1)
    return plan.solve()


def _plan(name: str, refine: float | None = None, gravity: tuple[float, float, float] | None = (0, 0, 0)) -> Prediction:
    settings = {"segments": SEGMENTS, "check_points": CHECKS, "refine": refine, "gravity": gravity}
    return Prediction(Mechanism.load(name), duration=(0.1, 3.0), **settings).limit(torque=10)


def _least_time(folder: Path | None) -> Iterator[Check]:
    uniform, refined = _fastest(), _fastest(refine=1e-4)
    item = "4.1 two-link arm, least time"
    mesh = f"{SEGMENTS} segments, {CHECKS} checks each"
    yield agree(BARMAN, f"{item}: T, {mesh}", UNIFORM_TIME, uniform.duration, UNIFORM)
    yield agree(BARMAN, f"{item}: T, free knots", LEAST_TIME, refined.duration, REFINED, note="the true optimum")
    yield agree(BARMAN, f"{item}: T as printed", 0.392, refined.duration, DIGITS / 0.392)
    found = [switch.fraction * refined.duration for switch in refined.switches]
    seen = found if len(found) == len(SWITCHES) else [np.nan] * len(SWITCHES)
    yield agree(BARMAN, f"{item}: torques switch at", SWITCHES, seen, MILLISECOND, note="within 1 ms")
    t = np.linspace(0.0, refined.duration, 5001)
    beyond = float(np.abs(refined.torque(t)).max()) - 10.0
    yield agree(BARMAN, f"{item}: torque beyond 10 N m", 0.0, max(beyond, 0.0), BEYOND, note="at 5001 times")
    yield _closure(BARMAN, item, refined)
    coarse = "it does not say how many segments"
    yield agree(XIANG, "6.3, example 1: T as printed", 0.3934, uniform.duration, 2 * DIGITS / 0.3934, note=coarse)
    _save(folder, refined, {"barman_4.2": "Torques", "barman_4.3": "Forces", "barman_4.4": "The motion"})
    _save(folder, uniform, {"xiang_7": "Trajectories", "xiang_8": "Torques", "xiang_9": "The motion"})
    _save(folder, uniform, {"xiang_10": "Iterations"})


def _lifting(folder: Path | None) -> Iterator[Check]:
    plan = _plan("planar2", gravity=None).load_at("tip", force=[0, -10, 0])
    motion = plan.start(q=[1.32, -2.37]).end(q=[2.80, -2.37]).minimize(time=0.99, effort=0.01).solve()
    item = "6.4, example 2, lifting 10 N"
    yield agree(XIANG, f"{item}: J", LIFT_J, motion.objective, SMOOTH, note="the true optimum")
    yield agree(XIANG, f"{item}: T", LIFT_T, motion.duration, FLAT, note="printed: 0.520 s")
    yield _closure(XIANG, item, motion)
    t = np.linspace(0.0, motion.duration, 101)
    state, loads = (motion.q(t), motion.v(t), motion.a(t)), motion.applied_loads(t)
    found = {}
    for method in ("spatial", "newton_euler", "lagrange"):
        _, by = motion.mechanism.inverse_dynamics(*state, loads=loads, method=method, sensitivities=True)
        found[method] = np.stack([by.q, by.v, by.a])
    yield all_agree(XIANG, "figure 14: sensitivities at the optimum", found.pop("lagrange"), found, SAME)
    _save(folder, motion, {"xiang_11": "Trajectories", "xiang_12": "Torques", "xiang_13": "The motion"})


def _slider(name: str, folder: Path | None) -> Iterator[Check]:
    plan = _plan(name).start(q=[0.1, 0.6]).end(q=[np.pi / 4, -np.pi / 4])
    motion = plan.minimize(time=0.99, effort=0.01).solve()
    item = f"4.2 sliding and turning joint, {READINGS[name]}"
    yield agree(BARMAN, f"{item}: J", SLIDER_J[name], motion.objective, SMOOTH, note="the true optimum")
    printed = "printed T = 0.5585 s is not reproduced by this or any other reading of tables 4.3 and 4.4"
    yield agree(BARMAN, f"{item}: T", SLIDER_T[name], motion.duration, FLAT, misprint=printed)
    yield _closure(BARMAN, item, motion)
    numbers = {"4.5": "Torques", "4.6": "Forces", "4.7": "The motion"}
    _save(folder, motion, {f"barman_{number}_{name}": heading for number, heading in numbers.items()})


def _closure(document: str, item: str, motion: Motion) -> Check:
    """The predicted torques integrated forward, by forward dynamics, end where the motion ends."""
    return agree(document, f"{item}: torques integrated", 0.0, motion.check().max_q_error, CLOSED, note="q at the end")


def _save(folder: Path | None, motion: Motion, headings: Mapping[str, str]) -> None:
    """Sections of the report, by file name and the beginning of the heading."""
    if folder is None:
        return
    made = sections(motion)
    for name, heading in headings.items():
        figure = next(figure for title, figure in made if title.startswith(heading))
        figure.savefig(folder / f"{name}.png", dpi=120)
