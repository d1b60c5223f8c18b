"""The Lagrangian paper: its two-link arm in closed form, recursions, sensitivities, splines, bases and loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kinecast.dynamics import lagrange, lagrange_regular
from kinecast.dynamics.mechanism import Load, Mechanism
from kinecast.dynamics.surroundings import AppliedLoad, at_rest, constant
from kinecast.mechanism import DH, Joint, Point
from kinecast.mechanism.checks import Array
from kinecast.motion.bspline import BSpline, uniform_knots
from kinecast.verify.frame import CLOSED_FORM, SOLVED, Check, agree, all_agree
from kinecast.verify.samples import evaluate, numbers, states, symbols, varied

PAPER = "Xiang 2009"
# Table 1 has two equal links; here they differ, so that no two terms can be mistaken for each other.
LENGTH, TO_MASS, MASS, INERTIA, GRAVITY, LOAD = (0.4, 0.5), (0.15, 0.3), (0.5, 0.8), (0.1, 0.07), 9.81, 10.0
# Derivatives of sums over some hundred products.
DIFFERENTIATED = 1e-11
# Central differences with a step of 1e-6: h^2 of truncation, 1e-16 / h of rounding.
DIFFERENCES = 1e-8


def checks(folder: Path | None) -> Iterator[Check]:
    """All lines of the paper."""
    yield from _two_links()
    yield from _matrices_of_two_links()
    yield from _regular_form()
    yield from _recursions()
    yield from _moving_base()
    yield from _closed_loop()
    yield from _splines()


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


def _matrices_of_two_links() -> Iterator[Check]:
    """(43)-(51): T, A, B, C, I, D, E, F of the arm, whose links are rods here, as (47) has them."""
    (L1, L2), (l1, l2), (m1, m2), (I1, I2), g, f = LENGTH, TO_MASS, MASS, INERTIA, GRAVITY, LOAD
    arm = two_link_arm()
    rods = [replace(joint, inertia=np.diag([0, size, size])) for joint, size in zip(arm.joints, INERTIA, strict=True)]
    arm = arm.replace(joints=rods)
    down = AppliedLoad("elbow", np.zeros(3), constant([0.0, -f, 0.0]), constant(np.zeros(3)))
    around = at_rest(arm, [down])
    at = [x[3] for x in states(2)]
    q, v, a = state = symbols(arm, "qva")
    links = lagrange.kinematics(arm, q, v, a, around)
    sums = lagrange.backward(arm, links, around)

    def planar(angle: float, length: float, order: int) -> Array:
        """T of (43), or its derivative of this order by the angle."""
        c, s = np.cos(angle + order * np.pi / 2), np.sin(angle + order * np.pi / 2)
        T = np.array([[c, -s, 0, length * c], [s, c, 0, length * s], [0, 0, 0, 0], [0, 0, 0, 0]])
        return T if order else T + np.diag([0.0, 0, 1, 1])

    (q1, q2), (v1, v2), (a1, a2) = at
    T1, T2 = ([planar(angle, length, order) for order in range(3)] for angle, length in ((q1, L1), (q2, L2)))
    B1, C1 = T1[1] * v1, T1[2] * v1**2 + T1[1] * a1
    A2, B2 = T1[0] @ T2[0], B1 @ T2[0] + T1[0] @ T2[1] * v2
    C2 = C1 @ T2[0] + 2 * B1 @ T2[1] * v2 + T1[0] @ T2[2] * v2**2 + T1[0] @ T2[1] * a2
    inertia = []
    for m, l, L, I in ((m1, l1, L1, I1), (m2, l2, L2, I2)):
        J = np.zeros((4, 4))
        J[0, 0], J[0, 3], J[3, 0], J[3, 3] = I + m * (l - L) ** 2, m * (l - L), m * (l - L), m
        inertia.append(J)
    D2 = inertia[1] @ C2.T
    E2 = m2 * np.array([l2 - L2, 0, 0, 1])
    F2 = np.array([0.0, 0, 0, 1])
    named: list[tuple[str, list[Array], list[Any]]] = [
        ("(43) T_1, T_2", [T1[0], T2[0]], [link.T[0] for link in links]),
        ("(44) A_1, A_2", [T1[0], A2], [link.A for link in links]),
        ("(45) B_1, B_2", [B1, B2], [link.B for link in links]),
        ("(46) C_1, C_2", [C1, C2], [link.C for link in links]),
        ("(47) I_1, I_2 of rods", inertia, [lagrange.augmented_inertia(joint) for joint in arm.joints]),
        ("(48) D_1, D_2", [inertia[0] @ C1.T + T2[0] @ D2, D2], [x.D for x in sums]),
        ("(49) E_1, E_2", [m1 * np.array([l1 - L1, 0, 0, 1]) + T2[0] @ E2, E2], [x.pulls[0][1].T for x in sums]),
        ("(50) F_1, F_2", [T2[0] @ F2, F2], [x.pulls[1][1].T for x in sums]),
        ("(51) g, f_2", [np.array([0, -g, 0, 0]), np.array([0, -f, 0, 0])], [x[0].T for x in sums[1].pulls.values()]),
    ]
    for item, expected, found in named:
        both = [np.atleast_2d(x) for x in expected]
        yield agree(PAPER, item, np.vstack(both), np.vstack(numbers(found, state, at)))


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


def _moving_base() -> Iterator[Check]:
    """(36): a base that moves is a chain of massless joints in front of one that does not."""
    mechanism = varied(4, gears=True)
    sliders = tuple(
        Joint(f"base {name}", "prismatic", f"base {'xyz'[k - 1]}" if k else None, axis=axis)
        for k, (name, axis) in enumerate(zip("xyz", np.eye(3), strict=True))
    )
    first, *others = mechanism.joints
    longer = mechanism.replace(joints=(*sliders, replace(first, parent="base z"), *others), points=())
    q, v, a = (x[4] for x in states(4))
    place, velocity, acceleration = np.random.default_rng(4).normal(size=(3, 3))
    driven = [np.concatenate(pair) for pair in ((place, q), (velocity, v), (acceleration, a))]
    (tau,) = evaluate(longer, "inverse_dynamics", driven, "lagrange")
    ground = [np.concatenate([np.zeros(3), x]) for x in (velocity, acceleration)]
    (expected,) = evaluate(mechanism, "inverse_dynamics", [q, v, a, *ground], "lagrange", base=True)
    yield agree(PAPER, "(36) moving basis by joints without mass", expected, tau[3:])


def _closed_loop() -> Iterator[Check]:
    """(38): a parallelogram of rods, cut at its last pin; the force there leaves the passive joints without torque."""
    m, M, length, width, g = 0.7, 1.1, 0.4, 0.6, 9.81
    lengths, masses = (length, width, length), (m, M, m)
    joints: list[Joint] = []
    for side, mass in zip(lengths, masses, strict=True):
        moment = mass * side * side / 12
        body: dict[str, Any] = {"mass": mass, "com": (-side / 2, 0, 0), "inertia": (0, moment, moment, 0, 0, 0)}
        joints.append(
            Joint.from_dh(f"pin{len(joints)}", DH(a=side), parent=joints[-1].name if joints else None, **body)
        )
    chain = Mechanism("cut", tuple(joints), (Point("end", "pin2"),), gravity=np.array([0.0, -g, 0.0]))
    angle, rate, change = 0.9, 1.3, -2.1  # of the crank; the coupler does not turn, the follower turns back on it
    q, v, a = np.array([angle, -angle, angle - np.pi]), rate * np.array([1, -1, 1]), change * np.array([1, -1, 1])

    def torques(force: Array) -> Array:
        (tau,) = evaluate(chain, "inverse_dynamics", [q, v, a, force, np.zeros(3)], "lagrange", loads=("end",))
        return tau

    free = torques(np.zeros(3))
    slope = np.column_stack([torques(x) - free for x in np.eye(3)[:2]])
    force = np.linalg.solve(slope[1:], -free[1:])
    tau = torques(np.append(force, 0.0))
    crank = (2 * m / 3 + M) * length**2 * change + (m + M) * g * length * np.cos(angle)
    yield agree(PAPER, "(38) closed loop cut at a joint: four-bar", [crank, 0.0, 0.0], tau, SOLVED)
    end = chain.pose("end", q)[:3, 3]
    yield agree(PAPER, "(38) its position constraint g(r_n) = 0", [width, 0.0, 0.0], end)


def _splines() -> Iterator[Check]:
    """(39)-(42): torques of a spline's motion by its control points and knots, against automatic differentiation."""
    arm, gravity = two_link_arm(), at_rest(two_link_arm())
    rng = np.random.default_rng(5)
    spline = BSpline(uniform_knots(4, 1.2), rng.normal(size=(7, 2)))
    t = 0.53
    at = [spline(t, derivative)[None] for derivative in range(3)]
    _, *slopes = evaluate(arm, "inverse_dynamics_sensitivities", [x[0] for x in at], "lagrange")
    parts = [spline.sensitivities(np.array([t]), derivative) for derivative in range(3)]
    chained = sum(np.einsum("ik,p->ipk", slope, part.control[0]) for slope, part in zip(slopes, parts, strict=True))
    P = ca.SX.sym("P", 7, 2)
    q, v, a = (ca.DM(spline.matrix(t, derivative)) @ P for derivative in range(3))
    tau = lagrange.inverse_dynamics(arm, q.T, v.T, a.T, gravity)
    (expected,) = numbers([ca.jacobian(tau, ca.vec(P))], [P], [spline.control])
    expected = expected.reshape(2, 2, 7).transpose(0, 2, 1)
    yield agree(PAPER, "(39), (41) dtau/dP of a spline's motion", expected, np.asarray(chained), DIFFERENTIATED)
    by_knot = sum(slope @ part.knots[0] for slope, part in zip(slopes, parts, strict=True))
    k, h = 5, 1e-6  # an inner knot, moved to both sides

    def moved(change: float) -> Array:
        knots = spline.knots.copy()
        knots[k] += change
        other = BSpline(knots, spline.control)
        return evaluate(arm, "inverse_dynamics", [other(t, derivative) for derivative in range(3)], "lagrange")[0]

    difference = (moved(h) - moved(-h)) / (2 * h)
    yield agree(PAPER, "(40), (42) dtau/dt_5, a knot", difference, np.asarray(by_knot)[:, k], DIFFERENCES)
