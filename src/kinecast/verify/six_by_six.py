"""The 6 x 6 elimination paper: its two-link arm, its equations as printed, every kind of joint, tree and ground."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import numpy as np

from kinecast.dynamics import six_by_six
from kinecast.dynamics.screws import drive, passages, times
from kinecast.dynamics.surroundings import at_rest
from kinecast.dynamics.tree import build
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array
from kinecast.verify.frame import SOLVED, Check, agree
from kinecast.verify.samples import LOADED, State, evaluate, numbers, rods, states, symbols, varied

PAPER = "Nasser 1989"


def checks(folder: Path | None) -> Iterator[Check]:
    """All lines of the paper but its operation counts."""
    yield from _two_links()
    yield from _printed_equations()
    yield from _kinds()


def _two_links() -> Iterator[Check]:
    """The planar arm on which the author checked the procedure: accelerations and reactions in closed form."""
    (m1, m2), (a1, a2), g = (1.3, 0.7), (0.5, 0.35), 9.81
    arm = rods((a1, a2), (m1, m2))
    q, v, tau = (x[0] for x in states(2))
    h, c2 = m2 * a1 * a2 * np.sin(q[1]) / 2, np.cos(q[1])
    i22 = m2 * a2**2 / 3
    i12 = i22 + m2 * a1 * a2 * c2 / 2
    inertia = np.array([[m1 * a1**2 / 3 + i22 + m2 * a1**2 + m2 * a1 * a2 * c2, i12], [i12, i22]])
    weight2 = m2 * g * a2 * np.cos(q.sum()) / 2
    weight1 = (m1 / 2 + m2) * g * a1 * np.cos(q[0]) + weight2
    bias = np.array([weight1 - h * (2 * v[0] + v[1]) * v[1], weight2 + h * v[0] ** 2])
    a = np.linalg.solve(inertia, tau - bias)
    x, y, z = symbols(arm, ("q", "v", "tau"))
    both = six_by_six.forward_dynamics_and_loads(arm, x, y, z, at_rest(arm))
    accelerations, loads = numbers(both, [x, y, z], [q, v, tau])
    yield agree(PAPER, "two-link arm, hinge accelerations", a, accelerations[:, 0])
    along1, across1 = _axes(q[0])
    along2, across2 = _axes(q.sum())
    elbow = a1 * (a[0] * across1 - v[0] ** 2 * along1)
    second = elbow + a2 / 2 * (a.sum() * across2 - v.sum() ** 2 * along2)
    lift = np.array([0.0, g])
    force2 = m2 * (second + lift)
    force1 = force2 + m1 * (elbow / 2 + lift)
    expected = np.array([[along1 @ force1, across1 @ force1], [along2 @ force2, across2 @ force2]])
    yield agree(PAPER, "two-link arm, reaction forces", expected, loads.reshape(2, 6)[:, 3:5])


def _axes(angle: float) -> tuple[Array, Array]:
    return np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])


def _printed_equations() -> Iterator[Check]:
    """L_i U_i = F_i (2.1.19), solved as it stands at every link of a tree with turning and sliding joints."""
    mechanism = varied(7, tree=True, gears=True, seed=2)
    q, v, a = (x[0] for x in states(7))
    (tau,) = evaluate(mechanism, "inverse_dynamics", [q, v, a])
    around = at_rest(mechanism)
    tree = build(mechanism)
    x, y, z = state = symbols(mechanism, ("q", "v", "tau"))
    ways = passages(tree, x)
    links = six_by_six.inbound(tree, ways, y, z, around)
    _, arriving = six_by_six.outbound(tree, ways, links, around)
    unit = ca.horzsplit(ca.SX.eye(6))
    accelerations, reactions, closed = np.empty(7), [], []
    for link, equations, before in zip(tree.links, links, arriving, strict=True):
        sides = [
            ca.horzcat(*(times(equations.A_star, column) for column in unit)),
            equations.B,
            before + equations.sigma_star,
            times(equations.A_reduced, before) + equations.B_reduced,
        ]
        A, B, motion, reaction = numbers(sides, state, [q, v, tau])
        Z = np.eye(6)[:, [drive(link)]]
        L = np.eye(6) - Z @ Z.T - A @ Z @ Z.T - link.actuator_inertia * Z @ Z.T
        U = np.linalg.solve(L, A @ motion + B - Z * tau[link.coordinate])[:, 0]
        accelerations[link.coordinate] = U[drive(link)]
        reactions.append(np.delete(U, drive(link)))
        closed.append(np.delete(reaction[:, 0], drive(link)))
    sign = "(2.1.13.2) prints - omega_{i-1} x z theta' in sigma*; right: +, as in (2.1.1)"
    name = "(2.1.7)-(2.1.20) accelerations of a 7-joint tree"
    yield agree(PAPER, name, a, accelerations, SOLVED, misprint=sign)
    yield agree(PAPER, "(2.1.19) five reactions at each link, closed form", reactions, closed, SOLVED)


def _kinds() -> Iterator[Check]:
    """What inverse dynamics says the accelerations need gives them back, and the same loads in the joints."""
    ground = [np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3]), np.array([1.0, 0.5, -0.4, 2.0, -1.0, 0.6])]
    pulls = [np.array(x) for x in ((4.0, -9.0, 2.0), (1.0, 0.3, -2.0), (-6.0, 3.0, 8.0), (0.2, 1.5, 1.0))]
    six = states(6)
    for item, mechanism, further, base, loads in (
        ("2.1 rotational joints", varied(6, sliding="none"), [], False, ()),
        ("2.2 translational joints", varied(6, sliding="mixed"), [], False, ()),
        ("2.3 topological tree", varied(6, tree=True), [], False, ()),
        ("2.1.2 prescribed base motion", varied(6), ground, True, ()),
        ("(2.1.7.2) actuator inertia", varied(6, gears=True), [], False, ()),
        ("(2.1.7.6) external loads", varied(6, tree=True, gears=True), pulls, False, LOADED),
    ):
        yield _there_and_back(item, mechanism, (six[0][1], six[1][1], six[2][1]), list(further), base, loads)


def _there_and_back(
    item: str, mechanism: Structure, state: State, further: list[Array], base: bool, loads: tuple[str, ...]
) -> Check:
    q, v, a = state
    (tau,) = evaluate(mechanism, "inverse_dynamics", [q, v, a, *further], base=base, loads=loads)
    arguments = [q, v, tau, *further]
    (found,) = evaluate(mechanism, "forward_dynamics", arguments, "six_by_six", base=base, loads=loads)
    return agree(PAPER, f"{item}: accelerations of their torques", a, found, SOLVED)
