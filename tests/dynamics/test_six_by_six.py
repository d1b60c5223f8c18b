"""Forward dynamics by 6 x 6 elimination: reference, printed equations, the planar arm, operations."""

import casadi as ca
import numpy as np
import pytest
from formulation_checks import (
    TOLERANCE,
    assert_forward_dynamics,
    assert_long_chain,
    counted,
    looped_structure,
    resting,
)
from mechanism_cases import CASES, case
from planar_rods import rods
from random_mechanisms import random_state
from reference_dynamics import function, relative_difference, values

from kinecast.dynamics import six_by_six
from kinecast.dynamics.screws import drive, passages, times
from kinecast.dynamics.surroundings import at_rest
from kinecast.dynamics.tree import build
from kinecast.errors import NotSupportedError

# Closed forms are a few dozen operations.
CLOSED_FORM = 1e-12


@pytest.mark.parametrize("name", CASES)
def test_accelerations_and_loads_agree_with_the_reference(name, rng):
    assert_forward_dynamics(six_by_six.forward_dynamics_and_loads, name, rng)
    assert_forward_dynamics(six_by_six.forward_dynamics, name, rng)


def test_a_long_chain_agrees_with_the_reference(rng):
    assert_long_chain(six_by_six.forward_dynamics_and_loads, rng)


@pytest.mark.parametrize("name", ["chain, right angles", "tree, standard DH", "tree, everything"])
def test_the_printed_equations_hold_at_every_link(name, rng):
    """L_i U_i = F_i, (2.1.7.2), (2.1.19): solved as it stands it gives the acceleration and the same reactions."""
    structure, around = case(name)
    q, v, a = random_state(rng, structure)
    tau = function(structure, around)(q, v, a)[0].full()[:, 0]
    x, y, drives = (ca.SX.sym(s, structure.n) for s in ("q", "v", "tau"))
    tree = build(structure)
    ways = passages(tree, x)
    links = six_by_six.inbound(tree, ways, y, drives, around)
    _, arriving = six_by_six.outbound(tree, ways, links, around)
    checked = 0
    for link, equations, before in zip(tree.links, links, arriving, strict=True):
        reaction = times(equations.A_reduced, before) + equations.B_reduced
        A = ca.horzcat(*(times(equations.A_star, column) for column in ca.horzsplit(ca.SX.eye(6))))
        sides = [A, equations.B, before + equations.sigma_star, reaction]
        evaluated = ca.Function("f", [x, y, drives], [ca.densify(side) for side in sides])(q, v, tau)
        A, B, motion, reaction = (side.full() for side in evaluated)
        Z = np.eye(6)[:, [drive(link)]]
        L = np.eye(6) - Z @ Z.T - A @ Z @ Z.T - link.actuator_inertia * Z @ Z.T
        U = np.linalg.solve(L, A @ motion + B - Z * tau[link.coordinate])
        assert abs(U[drive(link), 0] - a[link.coordinate]) < TOLERANCE * max(1, np.abs(a).max())
        off_axis = np.delete(np.arange(6), drive(link))
        assert relative_difference(U[off_axis], reaction[off_axis]) < TOLERANCE
        checked += 1
    assert checked == structure.n


def test_two_link_arm_by_its_equations_of_motion(rng):
    """The planar arm by which the paper's author checked the procedure: hinge accelerations and reaction forces."""
    (m1, m2), (a1, a2), g = rng.uniform(0.5, 2, 2), rng.uniform(0.2, 0.6, 2), 9.81
    (q1, q2), (v1, v2), tau = rng.uniform(-3, 3, 2), rng.normal(size=2), rng.normal(size=2)
    c2, h = np.cos(q2), m2 * a1 * a2 * np.sin(q2) / 2
    i22 = m2 * a2**2 / 3
    i12 = i22 + m2 * a1 * a2 * c2 / 2
    i11 = m1 * a1**2 / 3 + i22 + m2 * a1**2 + m2 * a1 * a2 * c2
    weight2 = m2 * g * a2 * np.cos(q1 + q2) / 2
    weight1 = (m1 / 2 + m2) * g * a1 * np.cos(q1) + weight2
    right = tau - [-2 * h * v1 * v2 - h * v2**2 + weight1, h * v1**2 + weight2]
    a = np.linalg.solve([[i11, i12], [i12, i22]], right)

    def spoke(angle, rate, acceleration):  # acceleration of the tip of a unit spoke
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        return acceleration * across - rate**2 * along

    first, second = spoke(q1, v1, a[0]), spoke(q1 + q2, v1 + v2, a.sum())
    up = np.array([0, g])
    force2 = m2 * (a1 * first + a2 / 2 * second + up)
    force1 = m1 * (a1 / 2 * first + up) + force2
    expected = []
    for force, moment, angle in ((force1, tau[0], q1), (force2, tau[1], q1 + q2)):
        c, s = np.cos(angle), np.sin(angle)
        expected += [0, 0, moment, c * force[0] + s * force[1], -s * force[0] + c * force[1], 0]
    structure = rods([a1, a2], [m1, m2])
    state = (np.array([q1, q2]), np.array([v1, v2]), tau)
    computed, loads = values(six_by_six.forward_dynamics_and_loads, structure, at_rest(structure), state)
    assert relative_difference(computed, a[:, None]) < CLOSED_FORM
    assert relative_difference(loads, np.array(expected)[:, None]) < CLOSED_FORM


@pytest.mark.parametrize("n", [6, 7, 10])
def test_it_takes_no_more_operations_than_the_paper_states(n):
    multiplications, additions = counted(resting(six_by_six.forward_dynamics), n)
    assert (multiplications, additions) == (206 * n - 309, 201 * n - 324)
    assert multiplications <= 258 * n - 119
    assert additions <= 191 * n - 83
    with_loads = counted(resting(six_by_six.forward_dynamics_and_loads), n)
    assert with_loads == (241 * n - 276, 232 * n - 299)


def test_closed_loops_are_refused_by_name(rng):
    looped, q = looped_structure(rng), ca.SX.sym("q", 3)
    for formula in (six_by_six.forward_dynamics, six_by_six.forward_dynamics_and_loads):
        with pytest.raises(NotSupportedError, match="6 x 6.*four-bar"):
            formula(looped, q, q, q, at_rest(looped))
