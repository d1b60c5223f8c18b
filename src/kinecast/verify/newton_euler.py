"""The Newton-Euler thesis: its two arms, and each recursion of its chapter III against automatic differentiation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kinecast.dynamics import newton_euler
from kinecast.dynamics.mechanism import Mechanism
from kinecast.dynamics.newton_euler_sensitivities import motion_sensitivities, reaction_sensitivities
from kinecast.dynamics.surroundings import AppliedLoad, at_rest, constant
from kinecast.verify.frame import Check, agree, all_agree
from kinecast.verify.samples import LOADED, evaluate, numbers, states, symbols, varied

PAPER = "Barman 2020"
# Derivatives of sums over some hundred products.
DIFFERENTIATED = 1e-11
METHODS = ("newton_euler", "lagrange", "lagrange_regular", "denoc", "filtering", "spatial")

# Quantity -> (equations, attribute of a link or reaction, letters it depends on, what is misprinted).
MOTION = (
    ("omega", "3.5-3.13", "w", "qv", "(3.13) prints 0 for d/dq' of a prismatic joint; right: R_j^T omega_{j-1,i'}"),
    ("omega'", "3.14-3.22", "wd", "qva", "(3.18), i = j, prints R_{j,i}^T e; right: omega x R_j^T e"),
    ("x", "3.23-3.28", "x", "q", ""),
    ("x_G", "3.29-3.31", "xG", "q", ""),
    ("x'", "3.32-3.40", "xd", "qv", "(3.40) prints R_j^T x'_{j-1,i'} alone, prismatic; right: + Delta x'_{j,i'}"),
    ("x'_G", "3.41-3.46", "xdG", "qv", ""),
    (
        "x''",
        "3.47-3.55",
        "xdd",
        "qva",
        "(3.51) prints omega_{j,i''} x Delta x and (3.52) omega_j x R_j^T e; right: with omega'",
    ),
    (
        "x''_G",
        "3.56-3.61",
        "xddG",
        "qva",
        "(3.56) prints d'_G in its last term, (3.61) x' in its first line; right: one derivative more",
    ),
    ("F_G", "3.67-3.68", "FG", "qva", "gravity and loads with the opposite sign of what acts on the link"),
    ("tau_G", "3.64-3.71", "tauG", "qva", ""),
)
REACTION = (
    (
        "F_p",
        "3.72-3.79",
        "Fp",
        "qva",
        "(3.76), j = k, prints R_{k,i}^T F; right: R_k^T F; (3.79) prints 0 for q', q''; right: unchanged by the load",
    ),
    (
        "tau_p",
        "3.80-3.91",
        "taup",
        "qva",
        "(3.83), prismatic, i = j, lacks - F_d x Delta x_{j,i} - F_G x Delta x_{G,i}; (3.85), j = k, prints "
        "Delta x_j x F_{,i}; right: (r_k + Delta x_j) x F_{,i}; (3.87), (3.91) as (3.79)",
    ),
)


def checks(folder: Path | None) -> Iterator[Check]:
    """All lines of the thesis but its optima."""
    yield from _two_links()
    yield from _sliders()
    yield from _chapter_three()


def _two_links() -> Iterator[Check]:
    """Section 4.1: tables 4.1 and 4.2 in a horizontal plane. I + m l^2 = 0.12, m L l = 0.04, m L^2 = 0.08."""
    arm = Mechanism.load("planar2").with_gravity(np.zeros(3))
    q, v, a = states(2, 100)
    (v1, v2), (a1, a2) = v.T, a.T
    c, s = 0.04 * np.cos(q[:, 1]), 0.04 * np.sin(q[:, 1])
    tau = np.stack(
        [(0.32 + 2 * c) * a1 + (0.12 + c) * a2 - s * (2 * v1 + v2) * v2, (0.12 + c) * a1 + 0.12 * a2 + s * v1**2], -1
    )
    found = {method: arm.inverse_dynamics(q, v, a, method=method) for method in METHODS}
    yield all_agree(PAPER, "4.1 two-link arm, torques", tau, found)
    # The tip's link alone: m (acceleration of its middle) is the force in the elbow.
    heading, turning = q.sum(axis=1), v.sum(axis=1)
    push = np.zeros((2, len(q)))
    for length, angle, rate, change in ((0.4, q[:, 0], v1, a1), (0.2, heading, turning, a.sum(axis=1))):
        across, along = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
        push += 0.5 * length * (change * across - rate**2 * along)
    for method in ("newton_euler", "spatial"):
        loads = arm.joint_loads(q, v, a, method=method)
        name = f"4.1 force in the elbow (norm), {method}"
        yield agree(PAPER, name, np.hypot(*push), np.linalg.norm(loads[:, 1, 3:], axis=1))


def _sliders() -> Iterator[Check]:
    """Section 4.2 in both readings of theta_2 = pi/2 in table 4.3; 4.4 gives I + m l^2 = 0.12, m l = 0.1."""
    q, v, a = states(2, 100)
    s, c = 0.1 * np.sin(q[:, 1]), 0.1 * np.cos(q[:, 1])
    offset = [a[:, 0] - s * a[:, 1] - c * v[:, 1] ** 2, 0.12 * a[:, 1] - s * a[:, 0]]
    without = [a[:, 0] + c * a[:, 1] - s * v[:, 1] ** 2, 0.12 * a[:, 1] + c * a[:, 0]]
    for name, tau, reading in (
        ("slider_arm", offset, "theta_2 = pi/2 + q_2"),
        ("slider_arm_no_offset", without, "theta_2 = q_2"),
    ):
        arm = Mechanism.load(name)
        found = {method: arm.inverse_dynamics(q, v, a, method=method) for method in METHODS}
        yield all_agree(PAPER, f"4.2 prismatic-revolute arm, {reading}", np.stack(tau, -1), found)


def _chapter_three() -> Iterator[Check]:
    """Every derivative of chapter III on a tree of turning and sliding joints with two loads."""
    mechanism = varied(6, tree=True, gears=True, seed=1)
    at = [x[2] for x in states(6)]
    q, v, a = state = symbols(mechanism, "qva")
    rng = np.random.default_rng(3)
    forces = [(rng.normal(size=3) * 20, rng.normal(size=3) * 5) for _ in LOADED]
    points = [mechanism.point(name) for name in LOADED]
    pulls = [
        AppliedLoad(point.joint, point.at, constant(force), constant(moment))
        for point, (force, moment) in zip(points, forces, strict=True)
    ]
    around = at_rest(mechanism, pulls)
    links = newton_euler.motion(mechanism, q, v, a, around)
    reactions = newton_euler.reactions(mechanism, links, around)
    changes = motion_sensitivities(mechanism, links)
    rates = reaction_sensitivities(mechanism, links, reactions, changes, around)
    by = dict(zip("qva", state, strict=True))
    for table, values, derivatives in ((MOTION, links, changes), (REACTION, reactions, rates)):
        for name, equations, attribute, letters, misprint in table:
            reference: list[Any] = []
            computed: list[Any] = []
            for value, derivative in zip(values, derivatives, strict=True):
                for letter in letters:
                    reference.append(ca.jacobian(ca.densify(getattr(value, attribute)), by[letter]))
                    computed.append(getattr(derivative, f"{attribute}_{letter}"))
            expected, found = numbers([ca.vertcat(*reference), ca.vertcat(*computed)], state, at)
            yield agree(PAPER, f"({equations}) {name}", expected, found, DIFFERENTIATED, misprint=misprint)
    arguments = [*at, *(vector for pair in forces for vector in pair)]
    plain = evaluate(mechanism, "inverse_dynamics_sensitivities", arguments, loads=LOADED)
    ours = evaluate(mechanism, "inverse_dynamics_sensitivities", arguments, "newton_euler", loads=LOADED)
    items = ("(3.92), (3.94) tau", "(3.93), (3.95) dtau/dq", "dtau/dq'", "dtau/dq''")
    for item, one, other in zip(items, plain, ours, strict=True):
        yield agree(PAPER, f"{item}, by the default", one, other, DIFFERENTIATED)
