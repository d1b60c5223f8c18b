"""The DeNOC chapter's robots: torques and free fall of examples 9.4 to 9.11 and exercise 9.15, with figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from kinecast.dynamics.mechanism import Mechanism
from kinecast.dynamics.tracing import methods_for
from kinecast.mechanism.checks import Array
from kinecast.motion.profiles import Profile, cycloid
from kinecast.simulate import Simulation, simulate
from kinecast.verify.denoc import PAPER, ThreeRods
from kinecast.verify.figures import save_curves
from kinecast.verify.frame import Check, agree, all_agree

# Two formulations, each with some thousand operations a sample.
BETWEEN_METHODS = 1e-11
DURATION, SAMPLES = 10.0, 201
# (example, figure, mechanism, what is known of its data, start, end)
QUARTER = np.pi / 2
ROBOTS = (
    ("9.5", "9.11", "puma560", "table 9.3 lost: data of Armstrong and others (1986)", (0.0,) * 6, (np.pi,) * 6),
    (
        "9.6",
        "9.13",
        "stanford",
        "table 9.4 lost: data of Paul (1981)",
        (0.0, -QUARTER, 0.635, 0.0, np.pi, np.pi),
        (np.pi / 3, -5 * np.pi / 6, 0.735, np.pi / 3, 5 * np.pi / 6, 5 * np.pi / 6),
    ),
    ("9.7", "9.15", "kuka_kr5", "masses of table 9.5(b); its DH table is lost", (0.0,) * 6, (np.pi / 3,) * 6),
)
FALLS = (
    ("9.9", "9.17", "puma560", (0.0,) * 6),
    ("9.10", "9.18", "stanford", (0.0, -QUARTER, 0.635, 0.0, np.pi, np.pi)),
    ("9.11", "9.19", "kuka_kr5", (0.0,) * 6),
)
# Tolerances of the integrator; after FALL seconds they have grown in the free motion, which is not stable.
RTOL, ATOL = 1e-11, 1e-13
FALL = 2.0
TOGETHER = 1e-7
ENERGY = 1e-8


def checks(folder: Path | None) -> Iterator[Check]:
    """Examples 9.4 to 9.11 and exercise 9.15; with a folder, their figures."""
    t = np.linspace(0.0, DURATION, SAMPLES)
    arm = Mechanism.load("planar3")
    for item, angle, figure in (
        ("9.4, exercise 9.11: three-link arm", np.pi, "9.8"),
        ("exercise 9.15", QUARTER, "exercise_9.15"),
    ):
        path = cycloid(t, np.zeros(3), np.full(3, angle), DURATION)
        yield _against_closed_form(item, arm, path, figure, t, folder)
    yield _profile(t)
    for item, figure, name, source, start, end in ROBOTS:
        yield _between_methods(item, figure, name, source, cycloid(t, start, end, DURATION), t, folder)
    yield from _three_link_fall(arm, folder)
    for item, figure, name, start in FALLS:
        yield from _robot_fall(item, figure, Mechanism.load(name), np.array(start), folder)


def _profile(t: Array) -> Check:
    """(9.36a) integrated from (9.36c) and (9.36b): at its end, as the chapter states."""
    profile = cycloid(t, [0.0], [np.pi], DURATION)
    ends = np.array([profile.q[-1, 0], profile.v[0, 0], profile.v[-1, 0], profile.a[0, 0], profile.a[-1, 0]])
    return agree(PAPER, "(9.36) theta(T) = pi, at rest at both ends", [np.pi, 0.0, 0.0, 0.0, 0.0], ends)


def _against_closed_form(item: str, arm: Mechanism, path: Profile, figure: str, t: Array, folder: Path | None) -> Check:
    closed = _closed_form_of(arm)
    expected = closed.torques(*path)
    methods = ["spatial", *methods_for("inverse_dynamics")]
    found = {method: arm.inverse_dynamics(*path, method=method) for method in methods}
    save_curves(folder, f"figure_{figure}", t, expected, arm.coordinates, "tau [N m]", f"Torques of {item}, by (9.42)")
    if figure == "9.8":
        save_curves(folder, "figure_9.7", t, np.degrees(path.q), arm.coordinates, "theta [deg]", "Trajectory (9.36)")
    note = "masses of table 9.2(b) lost: 0.5, 0.4, 0.3 kg"
    return all_agree(PAPER, f"{item}, torques by (9.42)", expected, found, note=note)


def _closed_form_of(arm: Mechanism) -> ThreeRods:
    masses, lengths = zip(*((joint.mass, joint.dh.a if joint.dh else 0.0) for joint in arm.joints), strict=True)
    return ThreeRods(masses, lengths, float(np.linalg.norm(arm.gravity)))


def _between_methods(
    item: str, figure: str, name: str, source: str, path: Profile, t: Array, folder: Path | None
) -> Check:
    robot = Mechanism.load(name)
    tau = robot.inverse_dynamics(*path)
    save_curves(folder, f"figure_{figure}", t, tau, robot.coordinates, "tau [N m, N]", f"Example {item}: {name}")
    found = {method: robot.inverse_dynamics(*path, method=method) for method in methods_for("inverse_dynamics")}
    return all_agree(PAPER, f"{item} torques of {name}, by the default", tau, found, BETWEEN_METHODS, note=source)


def _three_link_fall(arm: Mechanism, folder: Path | None) -> Iterator[Check]:
    closed = _closed_form_of(arm)
    t = np.linspace(0.0, FALL, SAMPLES)
    reference = _closed_form_fall(closed, t)
    found = {method: _fall(arm, 0.0, method).q for method in ("spatial", *methods_for("forward_dynamics"))}
    name = f"9.8, exercise 9.12: three-link arm falls {FALL:g} s, by (9.42) integrated"
    yield all_agree(PAPER, name, reference, found, TOGETHER)
    save_curves(
        folder, "figure_9.16", t, np.degrees(reference), arm.coordinates, "theta [deg]", "Free fall, example 9.8"
    )
    long = simulate(arm, 0.0, until=DURATION, rtol=1e-9, limits="ignore", progress=False)
    yield _energy(f"9.8 falling {DURATION:g} s at rtol 1e-9", long, 1e-7)


def _robot_fall(item: str, figure: str, robot: Mechanism, start: Array, folder: Path | None) -> Iterator[Check]:
    free = _fall(robot, start, "spatial")
    found = {method: _fall(robot, start, method).q for method in methods_for("forward_dynamics")}
    yield all_agree(PAPER, f"{item} {robot.name} falls {FALL:g} s, by the default", free.q, found, TOGETHER)
    turning = np.array([joint.turns for joint in robot.movable])
    shown = np.where(turning, np.degrees(free.q), free.q)
    save_curves(
        folder, f"figure_{figure}", free.t, shown, robot.coordinates, "q [deg, m]", f"Free fall, example {item}"
    )
    yield _energy(f"{item} falling {FALL:g} s", free, ENERGY)


def _energy(item: str, free: Simulation, tolerance: float) -> Check:
    """The largest drift, relative to the largest energy that was exchanged, against none."""
    drift = free.relative_energy_drift
    return agree(PAPER, f"{item}: energy is conserved", 0.0, np.nan if drift is None else drift, tolerance)


def _fall(mechanism: Mechanism, start: ArrayLike, method: str) -> Simulation:
    """Free from a start at rest, through the joints' limits as in the chapter."""
    return simulate(
        mechanism,
        start,
        until=FALL,
        method=method,
        samples=SAMPLES,
        limits="ignore",
        progress=False,
        rtol=RTOL,
        atol=ATOL,
    )


def _closed_form_fall(rods: ThreeRods, t: Array) -> Array:
    """theta (times, 3) from zero at rest: (9.42) integrated by Dormand and Prince's method of order 8."""
    from scipy.integrate import solve_ivp

    def rate(_: float, state: Array) -> Array:
        return np.concatenate([state[3:], rods.accelerations(state[:3], state[3:])])

    found = solve_ivp(rate, (t[0], t[-1]), np.zeros(6), method="DOP853", t_eval=t, rtol=RTOL, atol=ATOL)
    return np.asarray(found.y[:3].T)
