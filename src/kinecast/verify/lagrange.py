"""The Lagrangian paper: its two-link manipulator in closed form, its recursions, its sensitivities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kinecast.dynamics import lagrange, lagrange_regular
from kinecast.dynamics.mechanism import Load, Mechanism
from kinecast.dynamics.surroundings import AppliedLoad, at_rest, constant
from kinecast.mechanism import DH, Joint, Point
from kinecast.mechanism.checks import Array
from kinecast.verify.frame import CLOSED_FORM, Check, agree, all_agree
from kinecast.verify.samples import evaluate, numbers, states, symbols, varied

PAPER = "Xiang 2009"
# Table 1 has two equal links; here they differ, so that no two terms can be mistaken for each other.
LENGTH, TO_MASS, MASS, INERTIA, GRAVITY, LOAD = (0.4, 0.5), (0.15, 0.3), (0.5, 0.8), (0.1, 0.07), 9.81, 10.0
# Derivatives of sums over some hundred products.
DIFFERENTIATED = 1e-11


def checks(folder: Path | None) -> Iterator[Check]:
    """All lines of the paper."""
    yield from _two_links()
    yield from _regular_form()
    yield from _recursions()


def two_link_arm() -> Mechanism:
    """The paper's manipulator (figure 5): centres of mass at distances l from the joints, gravity along -y."""
    joints: list[Joint] = []
    for k, name in enumerate(("shoulder", "elbow")):
        parent = joints[-1].name if joints else None
        com, inertia = (TO_MASS[k] - LENGTH[k], 0, 0), (0, 0, INERTIA[k], 0, 0, 0)
        dh = DH(a=LENGTH[k])
        joints.append(Joint.from_dh(name, dh, parent=parent, mass=MASS[k], com=com, inertia=inertia))
    return Mechanism("two links", tuple(joints), (Point("tip", "elbow"),), gravity=np.array([0.0, -GRAVITY, 0.0]))


def closed_form(q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, Array]:
    """tau and its derivatives by q, v, a at states (..., 2): the right sides of (52)-(65), which (69)-(82) repeat."""
    (L1, L2), (l1, l2), (m1, m2), (I1, I2), g, f = LENGTH, TO_MASS, MASS, INERTIA, GRAVITY, LOAD
    (q1, q2), (v1, v2), (a1, a2) = (np.moveaxis(x, -1, 0) for x in (q, v, a))
    s1, c1, s2, c2, s12, c12 = np.sin(q1), np.cos(q1), np.sin(q2), np.cos(q2), np.sin(q1 + q2), np.cos(q1 + q2)
    M11 = I1 + I2 + m1 * l1**2 + m2 * (L1**2 + l2**2 + 2 * L1 * l2 * c2)
    M12 = I2 + m2 * l2**2 + m2 * L1 * l2 * c2
    M22 = I2 + m2 * l2**2 + 0 * c2
    h = m2 * L1 * l2
    lifted = (m2 * g * l2 + f * L2) * c12
    turned = -(m2 * g * l2 + f * L2) * s12
    first = m1 * g * l1 + m2 * g * L1 + f * L1
    tau = np.stack(
        [
            M11 * a1 + M12 * a2 - 2 * h * v1 * v2 * s2 - h * v2**2 * s2 + lifted + first * c1,
            M22 * a2 + M12 * a1 + h * v1**2 * s2 + lifted,
        ],
        axis=-1,
    )
    tau_q = _matrix(
        turned - first * s1,
        -2 * h * s2 * a1 - h * s2 * a2 - 2 * h * v1 * v2 * c2 - h * v2**2 * c2 + turned,
        turned,
        -h * s2 * a1 + h * v1**2 * c2 + turned,
    )
    tau_v = _matrix(-2 * h * v2 * s2, -2 * h * v1 * s2 - 2 * h * v2 * s2, 2 * h * v1 * s2, 0 * v1)
    return tau, tau_q, tau_v, _matrix(M11, M12, M12, M22)


def _matrix(first: Array, second: Array, third: Array, fourth: Array) -> Array:
    return np.stack([np.stack([first, second], axis=-1), np.stack([third, fourth], axis=-1)], axis=-2)


def _two_links() -> Iterator[Check]:
    arm, state = two_link_arm(), states(2, 100)
    down = Load("tip", force=[0.0, -LOAD, 0.0])
    expected = closed_form(*state)
    found: dict[str, tuple[Array, ...]] = {}
    for method in ("lagrange", "lagrange_regular", "newton_euler", "spatial"):
        tau, d = arm.inverse_dynamics(*state, loads=down, sensitivities=True, method=method)
        found[method] = (tau, d.q, d.v, d.a)
    named = {
        "(52), (69) tau_1": (0, (0,), ""),
        "(53), (70) tau_2": (0, (1,), ""),
        "(54), (71) d tau_1 / d theta_1": (1, (0, 0), ""),
        "(55), (72) d tau_1 / d theta_2": (1, (0, 1), ""),
        "(56), (73) d tau_1 / d theta_1'": (2, (0, 0), ""),
        "(57), (74) d tau_1 / d theta_2'": (2, (0, 1), ""),
        "(58), (75) d tau_1 / d theta_1''": (3, (0, 0), "(75) prints d theta_1 below the bar"),
        "(59), (76) d tau_1 / d theta_2''": (3, (0, 1), "(76) prints d theta_2 below the bar"),
        "(60), (77) d tau_2 / d theta_1": (1, (1, 0), ""),
        "(61), (78) d tau_2 / d theta_2": (1, (1, 1), "(61) prints d theta_2'' below the bar"),
        "(62), (79) d tau_2 / d theta_1'": (2, (1, 0), ""),
        "(63), (80) d tau_2 / d theta_2'": (2, (1, 1), ""),
        "(64), (81) d tau_2 / d theta_1''": (3, (1, 0), ""),
        "(65), (82) d tau_2 / d theta_2''": (3, (1, 1), ""),
    }
    for item, (which, at, misprint) in named.items():
        entry: tuple[Any, ...] = (..., *at)
        yield agree(PAPER, item, expected[which][entry], found["lagrange"][which][entry], misprint=misprint)
    for which, what in enumerate(("tau", "by theta", "by theta'", "by theta''")):
        others = {method: arrays[which] for method, arrays in found.items() if method != "lagrange"}
        yield all_agree(PAPER, f"(52)-(65) {what}, other methods", expected[which], others)


def _regular_form() -> Iterator[Check]:
    """(6)-(11) against the default on a tree with sliding joints and a load."""
    mechanism = varied(5, tree=True, gears=True)
    q, v, a = (x[0] for x in states(5))
    x, y, z = symbols(mechanism, "qva")
    force, moment = np.array([3.0, -20.0, 5.0]), np.array([1.0, 2.0, -4.0])
    point = mechanism.point("grip")
    around = at_rest(mechanism, [AppliedLoad(point.joint, point.at, constant(force), constant(moment))])
    tau = numbers([lagrange_regular.inverse_dynamics(mechanism, x, y, z, around)], [x, y, z], [q, v, a])[0]
    (reference,) = evaluate(mechanism, "inverse_dynamics", [q, v, a, force, moment], loads=("grip",))
    signs = "(6) prints gravity and loads with +; as accelerations and loads on the link they enter with -, as in (16)"
    yield agree(PAPER, "(6)-(10) tau of a 5-joint tree", reference, tau[:, 0], DIFFERENTIATED, misprint=signs)
    zero = np.zeros(5)
    weightless = mechanism.with_gravity(zero[:3])
    M = evaluate(weightless, "inverse_dynamics_sensitivities", [q, zero, zero], "lagrange_regular")[3]
    (expected,) = evaluate(mechanism, "mass_matrix", [q])
    yield agree(PAPER, "(7) M", expected, M)
    (V,) = evaluate(weightless, "inverse_dynamics", [q, v, zero], "lagrange_regular")
    (bias,) = evaluate(weightless, "bias_torques", [q, v])
    yield agree(PAPER, "(8) V", bias, V, DIFFERENTIATED)
    names = ("dtau/dq (11)", "dtau/dv (11)", "dtau/da (11)")
    references = evaluate(mechanism, "inverse_dynamics_sensitivities", [q, v, a])[1:]
    regular = evaluate(mechanism, "inverse_dynamics_sensitivities", [q, v, a], "lagrange_regular")[1:]
    for name, one, other in zip(names, references, regular, strict=True):
        yield agree(PAPER, name, one, other, DIFFERENTIATED)


def _recursions() -> Iterator[Check]:
    """(12)-(35) on a tree with sliding joints and a load: every recursion against automatic differentiation."""
    mechanism = varied(5, tree=True, gears=True)
    at = [x[1] for x in states(5)]
    state = symbols(mechanism, "qva")
    q, v, a = state
    point = mechanism.point("grip")
    pull = AppliedLoad(point.joint, point.at, constant([3.0, -20.0, 5.0]), constant([1.0, 2.0, -4.0]))
    around = at_rest(mechanism, [pull])
    links = lagrange.kinematics(mechanism, q, v, a, around)
    changes = lagrange.kinematics_sensitivities(mechanism, links)
    sums = lagrange.backward(mechanism, links, around)
    rates = lagrange.backward_sensitivities(mechanism, links, sums, changes)

    def rate(matrix: ca.SX) -> ca.SX:
        """Of a function of q and v, in time."""
        dense = ca.vec(ca.densify(matrix))
        return ca.reshape(ca.jtimes(dense, q, v) + ca.jtimes(dense, v, a), matrix.shape)

    def one(name: str, pairs: list[tuple[ca.SX, ca.SX]], misprint: str = "") -> Check:
        reference, computed = (ca.vertcat(*(ca.vec(ca.densify(pair[k])) for pair in pairs)) for k in (0, 1))
        expected, found = numbers([reference, computed], state, at)
        return agree(PAPER, name, expected, found, DIFFERENTIATED, misprint=misprint)

    def slope(matrix: ca.SX, by: ca.SX, k: int) -> ca.SX:
        return ca.reshape(ca.jacobian(ca.vec(ca.densify(matrix)), by[k]), matrix.shape)

    poses = [numbers([link.A], state, at)[0] for link in links]
    ours = [mechanism.pose(joint.name, at[0]) for joint in mechanism.joints]
    yield agree(PAPER, "(12) A", ours, poses)
    yield one("(13) B", [(rate(link.A), link.B) for link in links])
    yield one("(14) C", [(rate(link.B), link.C) for link in links])
    last, r = links[-1], np.append(point.at, 1.0)
    moved = [matrix @ ca.DM(r) for matrix in (last.B, last.C)]
    velocity, acceleration = numbers(moved, state, at)
    expected = np.array([mechanism.velocity("grip", *at[:2])[3:], mechanism.acceleration("grip", *at)[3:]])
    found = np.array([velocity[:3, 0], acceleration[:3, 0]])
    yield agree(PAPER, "(15) motion of a point", expected, found, misprint="not B r' and C r'': B_j r_j and C_j r_j")
    every = [(j, k) for j, change in enumerate(changes) for k in change.dA]  # every joint has a coordinate here
    yield one("(21) dA/dq", [(slope(links[j].A, q, k), changes[j].dA[k]) for j, k in every])
    yield one("(22) dB/dq", [(slope(links[j].B, q, k), changes[j].dB[k]) for j, k in every])
    same = "prints dT/dq' where dT/dq is meant"
    again = [(slope(links[j].B, v, k), changes[j].dA[k]) for j, k in every]
    yield one("(23) dB/dq'", again, f"(23), k = i, {same}")
    yield one("(24) dC/dq", [(slope(links[j].C, q, k), changes[j].dC[k]) for j, k in every])
    yield one("(25) dC/dq'", [(slope(links[j].C, v, k), 2 * changes[j].dB[k]) for j, k in every])
    again = [(slope(links[j].C, a, k), changes[j].dA[k]) for j, k in every]
    yield one("(26) dC/dq''", again, f"(26), k = i, {same.replace('dq' + chr(39), 'dq' + chr(39) * 2)}")
    every = [(j, k) for j, change in enumerate(rates) for k in change.D_q]
    yield one("(27) dD/dq", [(slope(sums[j].D, q, k), rates[j].D_q[k]) for j, k in every])
    yield one("(28) dD/dq'", [(slope(sums[j].D, v, k), 2 * rates[j].half_D_v[k]) for j, k in every])
    yield one("(29) dD/dq''", [(slope(sums[j].D, a, k), rates[j].D_a[k]) for j, k in every])
    every = [(j, k) for j, change in enumerate(rates) for k in change.r_q[0]]
    yield one("(30) dE/dq", [(slope(sums[j].pulls[0][1], q, k), rates[j].r_q[0][k]) for j, k in every])
    every = [(j, k) for j, change in enumerate(rates) for k in change.r_q.get(1, {})]
    yield one("(31) dF/dq", [(slope(sums[j].pulls[1][1], q, k), rates[j].r_q[1][k]) for j, k in every])
    tau = lagrange.inverse_dynamics(mechanism, q, v, a, around)
    analytic = lagrange.inverse_dynamics_sensitivities(mechanism, q, v, a, around)[1:]
    for number, by, name, matrix in zip((33, 34, 35), state, ("q", "q'", "q''"), analytic, strict=True):
        yield one(f"({number}) dtau/d{name}", [(ca.jacobian(tau, by), matrix)])
    load = [np.array([3.0, -20.0, 5.0]), np.array([1.0, 2.0, -4.0])]
    (expected,) = evaluate(mechanism, "inverse_dynamics", [*at, *load], loads=("grip",))
    yield agree(
        PAPER, "(16), (37) tau of a tree, load included", expected, numbers([tau], state, at)[0][:, 0], CLOSED_FORM
    )
