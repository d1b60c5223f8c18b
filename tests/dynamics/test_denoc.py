"""DeNOC dynamics: against the plain reference, the closed forms of Saha's examples, and its tables of operations."""

import casadi as ca
import numpy as np
import pytest
from formulation_checks import (
    TOLERANCE,
    assert_forward_dynamics,
    assert_inverse_dynamics_and_loads,
    assert_long_chain,
    counted,
    looped_structure,
    resting,
)
from mechanism_cases import CASES, case
from planar_rods import rods
from random_mechanisms import random_state
from reference_dynamics import function, mass_matrix, relative_difference, values

from kinecast.dynamics import denoc
from kinecast.dynamics.denoc_matrices import bodies_in_motion
from kinecast.dynamics.surroundings import at_rest
from kinecast.errors import NotSupportedError
from kinecast.literature import FORWARD_DYNAMICS, INVERSE_DYNAMICS
from kinecast.mechanism.builtin import serial

# Closed forms are a few dozen operations.
CLOSED_FORM = 1e-13

REDYSIM_INVERSE = next(count for count in INVERSE_DYNAMICS if count.source.startswith("ReDySim"))
REDYSIM_FORWARD = next(count for count in FORWARD_DYNAMICS if count.source.startswith("ReDySim"))


def numbers(expressions, symbols, at):
    return [x.full() for x in ca.Function("f", symbols, [ca.densify(x) for x in expressions]).call(at)]


@pytest.mark.parametrize("name", CASES)
def test_torques_and_loads_agree_with_the_reference(name, rng):
    assert_inverse_dynamics_and_loads(denoc, name, rng)


@pytest.mark.parametrize("name", CASES)
def test_accelerations_follow_from_their_torques(name, rng):
    assert_forward_dynamics(denoc.forward_dynamics, name, rng)


@pytest.mark.parametrize("name", CASES)
def test_inertia_matrix_its_inverse_and_solution_without_it(name, rng):
    structure, _ = case(name)
    q, phi, _ = random_state(rng, structure)
    expected = mass_matrix(structure, q)
    x, y = ca.SX.sym("q", structure.n), ca.SX.sym("phi", structure.n)
    matrix, inverse, solution = numbers(
        [denoc.mass_matrix(structure, x), denoc.inverse_mass_matrix(structure, x), denoc.solve(structure, x, y)],
        [x, y],
        [q, phi],
    )
    assert relative_difference(matrix, expected) < TOLERANCE
    assert relative_difference(inverse @ expected, np.eye(structure.n)) < TOLERANCE
    assert relative_difference(expected @ solution, phi[:, None]) < TOLERANCE


def test_a_long_chain_there_and_back(rng):
    assert_long_chain(denoc.forward_dynamics, rng)
    structure = serial(30)
    state = random_state(rng, structure)
    (computed,) = values(denoc.inverse_dynamics, structure, at_rest(structure), state)
    tau = function(structure, at_rest(structure))(*state)[0].full()
    assert relative_difference(computed, tau) < TOLERANCE


# ------------------------------------------------------------------------------------------------ matrices as printed


@pytest.mark.parametrize("name", ["chain, standard DH", "chain, any axes", "tree, everything"])
def test_inertia_and_convective_matrices_are_products_of_the_complement(name, rng):
    """(9.11a) and (9.16a), with the rates of N_l and N_d from differentiation."""
    structure, _ = case(name)
    q, v, _ = random_state(rng, structure)
    x, y = ca.SX.sym("q", structure.n), ca.SX.sym("v", structure.n)
    N = denoc.twist_propagation(structure, x) @ denoc.joint_motion(structure, x)
    N_rate = ca.reshape(ca.jtimes(ca.vec(ca.densify(N)), x, y), N.shape)
    bodies = bodies_in_motion(structure, x, y)
    M, W = (ca.diagcat(*(getattr(body, which) for body in bodies)) for which in "MW")
    actuators = np.diag([joint.actuator_inertia for joint in structure.movable])
    by_definition = [N.T @ M @ N + actuators, N.T @ (M @ N_rate + W @ M @ N)]
    ours = [denoc.mass_matrix(structure, x), denoc.convective_matrix(structure, x, y)]
    matrix, convective, *rest = numbers(by_definition + ours, [x, y], [q, v])
    assert relative_difference(rest[0], matrix) < TOLERANCE
    assert relative_difference(rest[1], convective) < TOLERANCE


@pytest.mark.parametrize("name", CASES)
def test_convective_matrix_gives_the_vector_and_its_skew_part_is_half_the_inertias_rate(name, rng):
    structure, _ = case(name)
    q, v, _ = random_state(rng, structure)
    x, y = ca.SX.sym("q", structure.n), ca.SX.sym("v", structure.n)
    M = ca.densify(denoc.mass_matrix(structure, x))
    M_rate = ca.reshape(ca.jtimes(ca.vec(M), x, y), M.shape)
    C, h, M_rate = numbers(
        [denoc.convective_matrix(structure, x, y), denoc.convective_vector(structure, x, y), M_rate], [x, y], [q, v]
    )
    assert relative_difference(C @ v[:, None], h) < TOLERANCE
    twice = M_rate - 2 * C
    assert relative_difference(twice + twice.T, 0 * C) < TOLERANCE


def test_convective_matrix_is_that_of_christoffel_in_a_plane_but_not_in_space(rng):
    def difference(structure):
        q, v, _ = random_state(rng, structure)
        x, y = ca.SX.sym("q", structure.n), ca.SX.sym("v", structure.n)
        n, M = structure.n, ca.densify(denoc.mass_matrix(structure, x))
        slope = [[ca.jacobian(M[i, j], x) for j in range(n)] for i in range(n)]
        symbols = ca.vertcat(
            *(
                ca.horzcat(
                    *(
                        0.5 * sum((slope[i][j][k] + slope[i][k][j] - slope[j][k][i]) * y[k] for k in range(n))
                        for j in range(n)
                    )
                )
                for i in range(n)
            )
        )
        ours, christoffel = numbers([denoc.convective_matrix(structure, x, y), symbols], [x, y], [q, v])
        return relative_difference(ours, christoffel)

    assert difference(rods([0.3, 0.25, 0.22], [0.5, 0.4, 0.3])) < TOLERANCE
    assert difference(serial(4)) > 1e-3


def test_generalized_forces_and_drives_make_the_equation_of_motion(rng):
    structure, around = case("tree, standard DH")
    q, v, a = random_state(rng, structure)
    tau = function(structure, around)(q, v, a)[0].full()
    x, y = ca.SX.sym("q", structure.n), ca.SX.sym("v", structure.n)
    h, given = numbers(
        [denoc.convective_vector(structure, x, y), denoc.generalized_forces(structure, x, around)], [x, y], [q, v]
    )
    assert relative_difference(mass_matrix(structure, q) @ a[:, None] + h, tau + given) < TOLERANCE


# ------------------------------------------------------------------------------------------------ examples


def equation_of_motion(structure, q, v):
    """(I, C, generalized forces) at numbers."""
    x, y = ca.SX.sym("q", structure.n), ca.SX.sym("v", structure.n)
    forces = denoc.generalized_forces(structure, x, at_rest(structure))
    return numbers([denoc.mass_matrix(structure, x), denoc.convective_matrix(structure, x, y), forces], [x, y], [q, v])


def test_example_9_1_one_link(rng):
    """(9.23f), (9.24a), (9.24c); gravity along x."""
    m, a, g = 1.7, 0.6, 9.81
    q, v = rng.uniform(-3, 3, 1), rng.normal(size=1)
    inertia, convective, forces = equation_of_motion(rods([a], [m], gravity=(g, 0, 0)), q, v)
    assert relative_difference(inertia, np.array([[m * a**2 / 3]])) < CLOSED_FORM
    assert relative_difference(convective, np.zeros((1, 1))) < CLOSED_FORM
    assert relative_difference(forces, np.array([[-0.5 * m * g * a * np.sin(q[0])]])) < CLOSED_FORM


def test_example_9_3_two_links(rng):
    """(9.27a), (9.27d), (9.29), (9.30), (9.31)."""
    (m1, m2), (a1, a2) = rng.uniform(0.5, 2, 2), rng.uniform(0.2, 0.6, 2)
    q, v = rng.uniform(-3, 3, 2), rng.normal(size=2)
    structure = rods([a1, a2], [m1, m2])
    inertia, convective, _ = equation_of_motion(structure, q, v)
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    i22 = m2 * a2**2 / 3
    i21 = i22 + m2 * a1 * a2 * c2 / 2
    i11 = (m1 * a1**2 + m2 * a2**2) / 3 + m2 * a1**2 + m2 * a1 * a2 * c2
    assert relative_difference(inertia, np.array([[i11, i21], [i21, i22]])) < CLOSED_FORM
    h = m2 * a1 * a2 * s2 / 2
    expected = h * np.array([[-v[1], -v[0] - v[1]], [v[0], 0.0]])
    assert relative_difference(convective, expected) < CLOSED_FORM
    vector = np.array([[-2 * h * (v[1] / 2 + v[0]) * v[1]], [h * v[0] ** 2]])
    x, y = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    assert (
        relative_difference(numbers([denoc.convective_vector(structure, x, y)], [x, y], [q, v])[0], vector)
        < CLOSED_FORM
    )


def planar_arm(masses, lengths, q, v, g):
    """(I, C, tau^g) by (9.42b-d); s_23, c_23 are the sine and cosine of theta_2 + theta_3."""
    (m1, m2, m3), (a1, a2, a3) = masses, lengths
    c2, c3, c23 = np.cos(q[1]), np.cos(q[2]), np.cos(q[1] + q[2])
    s2, s3, s23 = np.sin(q[1]), np.sin(q[2]), np.sin(q[1] + q[2])
    v1, v2, v3 = v
    v12, v123 = v1 + v2, v1 + v2 + v3
    i11 = (
        (m1 * a1**2 + m2 * a2**2 + m3 * a3**2) / 3
        + m2 * a1**2
        + m3 * (a1**2 + a2**2)
        + (m2 + 2 * m3) * a1 * a2 * c2
        + m3 * a3 * (a2 * c3 + a1 * c23)
    )
    i12 = (
        (m2 * a2**2 + m3 * a3**2) / 3
        + m3 * a2**2
        + (m2 * a2 / 2 + m3 * a2) * a1 * c2
        + m3 * a3 * (2 * a2 * c3 + a1 * c23) / 2
    )
    i13 = m3 * a3**2 / 3 + m3 * a3 * (a2 * c3 + a1 * c23) / 2
    i22 = (m2 * a2**2 + m3 * a3**2) / 3 + m3 * (a2**2 + a2 * a3 * c3)
    i23 = m3 * a3**2 / 3 + m3 * a2 * a3 * c3 / 2
    i33 = m3 * a3**2 / 3
    A = m2 * a1 * a2 * s2 + m3 * (2 * a1 * a2 * s2 + a1 * a3 * s23)
    B = m3 * (a1 * a3 * s23 + a2 * a3 * s3)
    D = m3 * a2 * a3 * s3
    convective = 0.5 * np.array(
        [
            [-A * v2 - B * v3, -A * v12 - B * v3, -B * v123],
            [A * v1 - D * v3, -D * v3, -D * v123],
            [B * v1 + D * v2, D * v12, 0.0],
        ]
    )
    c1, c12, c123 = np.cos(q[0]), np.cos(q[0] + q[1]), np.cos(q.sum())
    gravity = (
        -0.5
        * g
        * np.array(
            [
                m1 * a1 * c1 + 2 * m2 * (a1 * c1 + a2 * c12 / 2) + 2 * m3 * (a1 * c1 + a2 * c12 + a3 * c123 / 2),
                m2 * a2 * c12 + 2 * m3 * (a2 * c12 + a3 * c123 / 2),
                m3 * a3 * c123,
            ]
        )
    )
    return np.array([[i11, i12, i13], [i12, i22, i23], [i13, i23, i33]]), convective, gravity[:, None]


def test_example_9_4_three_links_by_the_closed_form_of_9_42(rng):
    for _ in range(5):
        masses, lengths = rng.uniform(0.3, 3, 3), rng.uniform(0.1, 0.6, 3)
        q, v = rng.uniform(-3, 3, 3), rng.normal(size=3)
        for ours, theirs in zip(
            equation_of_motion(rods(lengths, masses), q, v), planar_arm(masses, lengths, q, v, 9.81), strict=True
        ):
            assert relative_difference(ours, theirs) < CLOSED_FORM


def test_example_9_4_torques_along_its_trajectory():
    """(9.36) with theta(0) = 0, theta(T) = pi, T = 10 s; torques of (9.42a)."""
    masses, lengths, T = np.array([0.5, 0.4, 0.3]), np.array([0.3, 0.25, 0.22]), 10.0
    structure = rods(lengths, masses)
    for t in np.linspace(0, T, 11):
        w = 2 * np.pi / T
        q = np.full(3, np.pi / T * (t - np.sin(w * t) / w))
        v = np.full(3, np.pi / T * (1 - np.cos(w * t)))
        a = np.full(3, np.pi / T * w * np.sin(w * t))
        inertia, convective, gravity = planar_arm(masses, lengths, q, v, 9.81)
        expected = inertia @ a[:, None] + convective @ v[:, None] - gravity
        (tau,) = values(denoc.inverse_dynamics, structure, at_rest(structure), (q, v, a))
        assert relative_difference(tau, expected) < CLOSED_FORM


# ------------------------------------------------------------------------------------------------ operations


@pytest.mark.parametrize("n", [6, 7, 10])
def test_inverse_dynamics_takes_no_more_operations_than_table_9_1(n):
    counts = counted(resting(denoc.inverse_dynamics), n)
    assert counts == (91 * n - 114, 79 * n - 103)
    for published in INVERSE_DYNAMICS:
        assert all(ours <= theirs for ours, theirs in zip(counts, published.at(n), strict=True))


@pytest.mark.parametrize("n", [6, 7, 10])
def test_accelerations_from_phi_take_no_more_operations_than_table_9_6(n):
    counts = counted(denoc.solve, n, ("q", "phi"))
    assert counts == (132 * n - 227, 130 * n - 240)
    assert all(ours <= theirs for ours, theirs in zip(counts, REDYSIM_FORWARD.at(n), strict=True))


@pytest.mark.parametrize("n", [6, 7, 10])
def test_forward_dynamics_takes_no_more_operations_than_both_tables_together(n):
    counts = counted(resting(denoc.forward_dynamics), n)
    assert counts == (203 * n - 318, 196 * n - 327)
    together = np.add(REDYSIM_INVERSE.at(n), REDYSIM_FORWARD.at(n))
    assert all(ours <= theirs for ours, theirs in zip(counts, together, strict=True))


def test_convective_matrix_takes_the_operations_of_its_docstring():
    assert counted(denoc.convective_matrix, 6, "qv") == (2053, 1908)


def test_closed_loops_are_refused_by_name(rng):
    looped, q = looped_structure(rng), ca.SX.sym("q", 3)
    for attempt in (
        lambda: denoc.inverse_dynamics(looped, q, q, q, at_rest(looped)),
        lambda: denoc.forward_dynamics(looped, q, q, q, at_rest(looped)),
        lambda: denoc.convective_matrix(looped, q, q),
    ):
        with pytest.raises(NotSupportedError, match="DeNOC.*four-bar"):
            attempt()
