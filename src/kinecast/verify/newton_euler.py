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
from kinecast.mechanism import DH, Joint, Transform
from kinecast.mechanism.geometry import rot_x, rot_z
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
    yield from _transformations()
    yield from _two_links()
    yield from _sliders()
    yield from _chapter_three()


def _transformations() -> Iterator[Check]:
    """Chapter II: a link's transformation as the product of four, and the equilibrium of a link."""
    theta, d, a, alpha = 0.7, 0.3, -0.4, 1.1
    along_z = Transform(rot_z(theta), np.array([0, 0, d])).matrix()
    along_x = Transform(rot_x(alpha), np.array([a, 0, 0])).matrix()
    c, s, ca_, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    printed = [[c, -ca_ * s, sa * s, a * c], [s, ca_ * c, -sa * c, a * s], [0, sa, ca_, d], [0, 0, 0, 1]]
    yield agree(PAPER, "(2.3)-(2.8) T = T_z,theta T_z,d T_x,a T_x,alpha", printed, along_z @ along_x)
    short = 0.15  # l_j = a - 0.15
    link = Joint.from_dh("link", DH(0.0, d, a, alpha), mass=1.0, com=[-short, 0.0, 0.0])
    way = link.before @ Transform(rot_z(theta), np.zeros(3)) @ link.after
    centre = way.rotation @ link.com + way.translation
    yield agree(
        PAPER,
        "(2.11), (2.12) x_j, x_Gj in the frame before",
        [[a * c, a * s, d], [(a - short) * c, (a - short) * s, d]],
        [way.translation, centre],
    )
    mechanism = varied(3, seed=3)
    state = [x[3] for x in states(3)]
    (loads,) = evaluate(mechanism, "joint_loads", state, "newton_euler")
    worlds = [mechanism.pose(name, state[0]) for name in mechanism.coordinates]
    j, beyond = 1, 2
    body, R, Rd = mechanism.joints[j], worlds[j][:3, :3], worlds[beyond][:3, :3]
    motion, rates = (call(body.name, *state[:k]) for call, k in ((mechanism.acceleration, 3), (mechanism.velocity, 2)))
    r, omega, change = R @ body.com, rates[:3], motion[:3]
    centre_acceleration = motion[3:] + np.cross(change, r) + np.cross(omega, np.cross(omega, r))
    F_G = body.mass * (centre_acceleration - mechanism.gravity)
    inertia = R @ body.inertia @ R.T
    tau_G = inertia @ change + np.cross(omega, inertia @ omega)
    near, far = worlds[j - 1][:3, 3], worlds[j][:3, 3]
    F_d, tau_d = Rd @ loads[beyond, 3:], Rd @ loads[beyond, :3]
    F_p, tau_p = R @ loads[j, 3:], R @ loads[j, :3]
    yield agree(PAPER, "(2.1) equilibrium of forces on a link", F_G + F_d, F_p)
    balance = tau_G + tau_d - np.cross(F_G, far + r - near) - np.cross(F_d, far - near)
    yield agree(PAPER, "(2.2) equilibrium of moments on a link", balance, tau_p)


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
    # Norms of the internal forces of the arm without offset: 0.5 kg each, the second 0.2 m from its joint; horizontal.
    heading = np.stack([-np.sin(q[:, 1]), np.cos(q[:, 1])])  # d/dq2 of the way to the mass centre, along and across
    inward = np.stack([-np.cos(q[:, 1]), -np.sin(q[:, 1])])
    pull = 0.5 * 0.2 * (heading * a[:, 1] + inward * v[:, 1] ** 2)
    loads = arm.joint_loads(q, v, a, method="newton_euler")
    norms = np.linalg.norm(loads[..., 3:], axis=-1)
    shift = np.stack([np.zeros(len(q)), a[:, 0]])
    expected = [np.linalg.norm(pull + mass * shift, axis=0) for mass in (1.0, 0.5)]
    yield agree(PAPER, "4.2 forces in slide and turn (norms)", np.stack(expected, -1), norms)


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
