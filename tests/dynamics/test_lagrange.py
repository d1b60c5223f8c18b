"""Lagrangian dynamics, recursive and regular, against the plain reference and the closed forms of the paper."""

import casadi as ca
import numpy as np
import pytest
from mechanism_cases import CASES, case
from random_mechanisms import random_state
from reference_dynamics import function, relative_difference, values

from kinecast.dynamics import lagrange, lagrange_regular, newton_euler
from kinecast.dynamics.surroundings import AppliedLoad, at_rest, constant
from kinecast.engine.program import read
from kinecast.errors import NotSupportedError
from kinecast.literature import INVERSE_DYNAMICS
from kinecast.mechanism import Joint, Loop, Place, Structure
from kinecast.mechanism.builtin import serial
from kinecast.mechanism.joints import DH

# Two recursions of some hundred operations a link, in double precision; a wrong term shows at 1e-3 and more.
TOLERANCE = 1e-11

# The paper's table 1, with different numbers for the two links, and gravity and a load that point down.
LENGTH, HALF, MASS, INERTIA, GRAVITY, LOAD = (0.4, 0.5), (0.15, 0.3), (0.5, 0.8), (0.1, 0.07), 9.81, 10.0


SMALL = [name for name in CASES if case(name)[0].n <= lagrange_regular.LARGEST]


@pytest.mark.parametrize(("formulation", "name"), [
    *(pytest.param(lagrange, name, id=f"recursive, {name}") for name in CASES),
    *(pytest.param(lagrange_regular, name, id=f"regular, {name}") for name in SMALL),
])  # fmt: skip
def test_torques_and_sensitivities_agree_with_the_reference(formulation, name, rng):
    structure, around = case(name)
    state = random_state(rng, structure)
    tau, _, tau_q, tau_v, tau_a, *_ = [x.full() for x in function(structure, around)(*state)]
    computed = values(formulation.inverse_dynamics_sensitivities, structure, around, state)
    for got, wanted in zip(computed, (tau, tau_q, tau_v, tau_a), strict=True):
        assert relative_difference(got, wanted) < TOLERANCE
    (alone,) = values(formulation.inverse_dynamics, structure, around, state)
    assert relative_difference(alone, tau) < TOLERANCE


def test_a_long_chain_agrees_with_the_reference(rng):
    structure = serial(30)
    state = random_state(rng, structure)
    around = at_rest(structure)
    tau, _, tau_q, tau_v, tau_a, *_ = [x.full() for x in function(structure, around)(*state)]
    computed = values(lagrange.inverse_dynamics_sensitivities, structure, around, state)
    for got, wanted in zip(computed, (tau, tau_q, tau_v, tau_a), strict=True):
        assert relative_difference(got, wanted) < TOLERANCE


@pytest.mark.parametrize("name", ["chain, standard DH", "chain on a moving base", "tree, everything"])
def test_the_matrices_a_b_c_have_their_sensitivities(name, rng):
    """(21)-(26), and that (23), (25) and (26) are (21) and twice (22) again."""
    structure, around = case(name)
    symbols = [ca.SX.sym(x, structure.n) for x in "qva"]
    q, v, a = symbols
    links = lagrange.kinematics(structure, *symbols, around)
    coordinate = {joint: k for k, joint in enumerate(structure.coordinates)}
    differences = []
    for link, change in zip(links, lagrange.kinematics_sensitivities(structure, links), strict=True):
        for k in change.dA:
            at = coordinate[structure.joints[k].name]
            for matrix, by, analytic in (
                (link.A, q, change.dA[k]),
                (link.B, q, change.dB[k]),
                (link.B, v, change.dA[k]),
                (link.C, q, change.dC[k]),
                (link.C, v, 2 * change.dB[k]),
                (link.C, a, change.dA[k]),
            ):
                by_one = ca.jacobian(ca.vec(ca.densify(matrix)), by[at])
                differences.append(by_one - ca.vec(ca.densify(analytic)))
    worst = ca.Function("differences", symbols, [ca.norm_inf(ca.densify(ca.vertcat(*differences)))])
    assert len(differences) >= 6 * structure.n
    assert float(worst(*random_state(rng, structure))) < 1e-10  # entries of C reach some 100


def two_links():
    """The paper's manipulator (figure 6, table 2), its load at the tip."""
    joints = [
        Joint.from_dh(
            str(k + 1),
            DH(a=LENGTH[k]),
            parent=None if k == 0 else "1",
            mass=MASS[k],
            com=[HALF[k] - LENGTH[k], 0, 0],
            inertia=[0, 0, INERTIA[k], 0, 0, 0],
        )
        for k in range(2)
    ]
    structure = Structure("two links", tuple(joints), gravity=[0, -GRAVITY, 0])
    load = AppliedLoad("2", np.zeros(3), constant([0, -LOAD, 0]), ca.SX(3, 1))
    return structure, at_rest(structure, [load])


def closed_form(q, v, a):
    """tau and its derivatives as (52)-(65) and again (69)-(82) print them, with the left sides of the errata."""
    (L1, L2), (l1, l2), (m1, m2), (I1, I2), g, f = LENGTH, HALF, MASS, INERTIA, GRAVITY, LOAD
    s2, c2 = np.sin(q[1]), np.cos(q[1])
    s1, c1, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    M11 = I1 + I2 + m1 * l1**2 + m2 * (L1**2 + l2**2 + 2 * L1 * l2 * c2)  # 58, 75
    M12 = I2 + m2 * l2**2 + m2 * L1 * l2 * c2  # 59, 64, 76, 81
    M22 = I2 + m2 * l2**2  # 65, 82
    h = m2 * L1 * l2
    second = m2 * g * l2 * c12 + f * L2 * c12
    tau = [
        M11 * a[0] + M12 * a[1] - 2 * h * v[0] * v[1] * s2 - h * v[1] ** 2 * s2
        + second + m1 * g * l1 * c1 + m2 * g * L1 * c1 + f * L1 * c1,  # 52, 69
        M22 * a[1] + M12 * a[0] + h * v[0] ** 2 * s2 + second,  # 53, 70
    ]  # fmt: skip
    second = -m2 * g * l2 * s12 - f * L2 * s12
    tau_q = [
        [second - m1 * g * l1 * s1 - m2 * g * L1 * s1 - f * L1 * s1,  # 54, 71
         -2 * h * s2 * a[0] - h * s2 * a[1] - 2 * h * v[0] * v[1] * c2 - h * v[1] ** 2 * c2 + second],  # 55, 72
        [second,  # 60, 77
         -h * s2 * a[0] + h * v[0] ** 2 * c2 + second],  # 61, 78
    ]  # fmt: skip
    tau_v = [[-2 * h * v[1] * s2, -2 * h * v[0] * s2 - 2 * h * v[1] * s2], [2 * h * v[0] * s2, 0]]  # 56, 57, 62, 63
    return tau, tau_q, tau_v, [[M11, M12], [M12, M22]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("formulation", [lagrange, lagrange_regular, newton_euler])
def test_the_two_link_manipulator_has_the_papers_closed_form(formulation, seed):
    structure, around = two_links()
    state = random_state(np.random.default_rng(seed), structure)
    computed = values(formulation.inverse_dynamics_sensitivities, structure, around, state)
    for got, wanted in zip(computed, closed_form(*state), strict=True):
        np.testing.assert_allclose(got.squeeze(), wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize("formulation", [lagrange, lagrange_regular])
def test_a_closed_loop_is_refused(formulation):
    structure = serial(2).replace(loops=(Loop("ring", Place("j2", np.zeros(3)), Place(None, np.zeros(3))),))
    symbols = [ca.SX.sym(x, 2) for x in "qva"]
    with pytest.raises(NotSupportedError, match="Lagrangian dynamics of 'serial2': closed loops"):
        formulation.inverse_dynamics(structure, *symbols, at_rest(structure))


def test_the_regular_equations_of_a_long_chain_are_refused():
    structure = serial(13)
    symbols = [ca.SX.sym(x, 13) for x in "qva"]
    with pytest.raises(NotSupportedError, match="'serial13': 13 coordinates are too many .* at most 12; .*lagrange"):
        lagrange_regular.inverse_dynamics(structure, *symbols, at_rest(structure))


def operations(formula, structure):
    symbols = [ca.SX.sym(x, structure.n) for x in "qva"]
    results = formula(structure, *symbols, at_rest(structure))
    return read(ca.Function("f", symbols, results if isinstance(results, tuple) else [results])).counts


@pytest.mark.parametrize("n", [6, 10])
def test_no_more_operations_than_published_for_this_recursion(n):
    counts = operations(lagrange.inverse_dynamics, serial(n))
    published = next(row for row in INVERSE_DYNAMICS if row.source.startswith("Hollerbach"))
    assert (counts.multiplications, counts.additions) == (303 * n - 381, 230 * n - 310)
    assert np.all(np.array([counts.multiplications, counts.additions]) <= published.at(n))


@pytest.mark.parametrize("n", [2, 6, 12])
def test_newton_euler_sensitivities_cost_less_than_lagrangian_ones(n):
    """The claim of the thesis behind the Newton-Euler formulation: by a factor of 2.4 at n = 2, falling to 1.7."""
    ratio = (
        operations(lagrange.inverse_dynamics_sensitivities, serial(n)).flops
        / operations(newton_euler.inverse_dynamics_sensitivities, serial(n)).flops
    )
    assert 1.6 < ratio < 2.5
