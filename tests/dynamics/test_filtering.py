"""Dynamics by filtering and smoothing: against the plain reference, and the report's own relations."""

from types import SimpleNamespace

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
from random_mechanisms import random_state
from reference_dynamics import function, mass_matrix, relative_difference

from kinecast.dynamics import filtering
from kinecast.dynamics.screws import drive, times
from kinecast.dynamics.spatial.articulated import rigid
from kinecast.dynamics.surroundings import at_rest
from kinecast.errors import NotSupportedError


@pytest.mark.parametrize("name", CASES)
def test_torques_and_loads_agree_with_the_reference(name, rng):
    assert_inverse_dynamics_and_loads(filtering, name, rng)


@pytest.mark.parametrize("name", CASES)
def test_accelerations_and_smoothed_states_follow_from_torques(name, rng):
    assert_forward_dynamics(filtering.forward_dynamics, name, rng)
    assert_forward_dynamics(filtering.forward_dynamics_and_loads, name, rng)


@pytest.mark.parametrize("name", CASES)
def test_covariance_recursion_and_closed_form_inverse(name, rng):
    structure, _ = case(name)
    q = random_state(rng, structure)[0]
    expected = mass_matrix(structure, q)
    x = ca.SX.sym("q", structure.n)
    both = [ca.densify(f(structure, x)) for f in (filtering.mass_matrix, filtering.inverse_mass_matrix)]
    matrix, inverse = (y.full() for y in ca.Function("f", [x], both)(q))
    assert relative_difference(matrix, expected) < TOLERANCE
    assert relative_difference(inverse @ expected, np.eye(structure.n)) < TOLERANCE


def test_a_long_chain_agrees_with_the_reference(rng):
    assert_long_chain(filtering.forward_dynamics, rng)


# ------------------------------------------------------------------------------------------------ inner quantities


def evaluated(structure, around, q, v, tau):
    """Everything of the report as numbers, a record a link, in the order of the tree's links (ground first)."""
    symbols = [ca.SX.sym(name, structure.n) for name in ("q", "v", "tau")]
    problem = filtering.boundary_value_problem(structure, *symbols[:2], around)
    passed = filtering.filtered(problem, symbols[2])
    accelerations, costates = filtering.smoothed(problem, passed)
    eye = ca.horzsplit(ca.SX.eye(6))
    records = []
    for k, link in enumerate(problem.tree.links):
        parts = {
            "phi": ca.horzcat(*(problem.phi[k].force(e) for e in eye)),
            "phi_transposed": ca.horzcat(*(problem.phi[k].motion(e) for e in eye)),
            "M": ca.horzcat(*(times(rigid(link), e) for e in eye)),
            "P": ca.horzcat(*(times(passed[k].P, e) for e in eye)),
            "G": ca.vertcat(*passed[k].gain.K),
            "D": 1 / passed[k].gain.inverse,
            "xi": problem.xi[k],
            "eta": problem.eta[k],
            "z": passed[k].z,
            "costate": costates[k],
            "ground": problem.ground,
            "acceleration": accelerations[link.coordinate],
        }
        function_ = ca.Function("f", symbols, [ca.densify(x) for x in parts.values()], list("qvt"), list(parts))
        results = function_(q=q, v=v, t=tau)
        record = SimpleNamespace(**{name: results[name].full() for name in parts})
        record.H = np.eye(6)[[drive(link)]]
        record.R, record.parent, record.coordinate = link.actuator_inertia, link.parent, link.coordinate
        records.append(record)
    return records


@pytest.mark.parametrize("name", ["chain, standard DH", "chain on a moving base", "tree, standard DH"])
def test_filter_and_smoother_solve_the_boundary_value_problem(name, rng):
    """(6.1)-(6.6) with x = z + P lambda, (8.1)."""
    structure, around = case(name)
    q, v, a = random_state(rng, structure)
    tau = function(structure, around)(q, v, a)[0].full()[:, 0]
    links = evaluated(structure, around, q, v, tau)
    states = [link.z + link.P @ link.costate for link in links]
    for k, link in enumerate(links):
        beyond = sum((links[i].phi @ states[i] for i in range(len(links)) if links[i].parent == k), np.zeros((6, 1)))
        assert relative_difference(states[k], beyond + link.M @ link.costate + link.xi) < TOLERANCE
        arriving = link.phi.T @ (link.ground if link.parent < 0 else links[link.parent].costate)
        driven = arriving + link.H.T @ link.acceleration + link.eta
        assert relative_difference(link.costate, driven) < TOLERANCE
        felt = link.H @ states[k] + link.R * link.acceleration
        assert relative_difference(felt, tau[[link.coordinate], None]) < TOLERANCE


def test_transition_is_applied_to_forces_and_accelerations_alike(rng):
    structure, around = case("tree, everything")
    q, v, tau = random_state(rng, structure)
    for link in evaluated(structure, around, q, v, tau):
        assert relative_difference(link.phi_transposed, link.phi.T) < TOLERANCE


@pytest.mark.parametrize("name", ["chain of turning joints", "tree, any axes"])
def test_gains_and_covariances_are_kalmans(name, rng):
    """(8.5), (8.9), (8.25); the innovations' covariances are the pivots of the inertia matrix."""
    structure, around = case(name)
    q, v, tau = random_state(rng, structure)
    links = evaluated(structure, around, q, v, tau)
    for k, link in enumerate(links):
        beyond = np.zeros((6, 6))
        for other in links:
            if other.parent == k:
                kept = np.eye(6) - other.G @ other.H
                beyond += other.phi @ (kept @ other.P @ kept.T) @ other.phi.T  # (8.25), (8.4)
        assert relative_difference(link.P, beyond + link.M) < TOLERANCE
        assert relative_difference(link.D, link.H @ link.P @ link.H.T) < TOLERANCE
        assert relative_difference(link.G, link.P @ link.H.T / link.D) < TOLERANCE
        updated = link.P - link.G @ link.H @ link.P
        assert np.abs(updated @ link.H.T).max() < TOLERANCE * np.abs(link.P).max()
    determinant = np.linalg.det(mass_matrix(structure, q))
    pivots = np.prod([link.D for link in links])
    assert abs(pivots - determinant) < TOLERANCE * determinant


def test_closed_form_accelerations_of_10_1_as_printed(rng):
    """(10.1)-(10.6), (10.29)-(10.31) on a chain: alpha1 + alpha2 + alpha3, links numbered from the tip."""
    structure, _ = case("chain, standard DH")
    around = at_rest(structure.with_gravity(np.zeros(3)))  # the report's ground does not accelerate
    q, v, a = random_state(rng, structure)
    tau = function(structure, around)(q, v, a)[0].full()[:, 0]
    links = evaluated(structure, around, q, v, tau)[::-1]
    N = len(links)
    eye = np.eye(6)
    kept = [eye - link.G @ link.H for link in links]  # I - G_k H_k
    # phi_{k+1,k}: a link's forces to the next one; here every record carries the way to its own parent.
    step = [links[k].phi for k in range(N)]

    def psi(k, i):
        """psi(k-, i+), (10.6)."""
        product = step[i]
        for j in range(i + 1, k):
            product = step[j] @ kept[j] @ product
        return product

    after, before = [None] * N, [None] * N  # Lambda+ and Lambda-
    for k in reversed(range(N)):
        after[k] = step[k].T @ before[k + 1] @ step[k] if k + 1 < N else np.zeros((6, 6))  # (10.30)
        before[k] = kept[k].T @ after[k] @ kept[k] + links[k].H.T @ links[k].H / links[k].D  # (10.31)
        summed = sum(  # (10.29), its D_k read as D_i
            (psi(i, k).T @ links[i].H.T @ links[i].H @ psi(i, k) / links[i].D for i in range(k + 1, N)),
            np.zeros((6, 6)),
        )
        assert relative_difference(after[k], summed) < TOLERANCE
    torque = [tau[link.coordinate] for link in links]
    P_plus = [kept[k] @ links[k].P for k in range(N)]
    c = [1 / links[k].D + links[k].G.T @ after[k] @ links[k].G for k in range(N)]  # (10.3)
    d = [links[k].G.T @ after[k] - c[k] @ links[k].H for k in range(N)]
    for k in range(N):
        G = links[k].G
        inner, outer = range(k + 1, N), range(k)
        alpha1 = c[k] * torque[k]
        alpha1 = alpha1 + sum(d[k] @ psi(k, i) @ links[i].G * torque[i] for i in outer)
        alpha1 = alpha1 + sum(G.T @ psi(i, k).T @ d[i].T * torque[i] for i in inner)
        alpha2 = d[k] @ links[k].xi
        alpha2 = alpha2 + sum(d[k] @ psi(k, i) @ kept[i] @ links[i].xi for i in outer)
        alpha2 = alpha2 + sum(G.T @ psi(i, k).T @ before[i] @ links[i].xi for i in inner)
        alpha3 = G.T @ (after[k] @ P_plus[k] - eye) @ links[k].eta
        alpha3 = alpha3 + sum(d[k] @ psi(k, i) @ P_plus[i] @ links[i].eta for i in outer)
        alpha3 = alpha3 + sum(
            G.T @ psi(i, k).T @ kept[i].T @ (after[i] @ P_plus[i] - eye) @ links[i].eta for i in inner
        )
        total = alpha1 + alpha2 + alpha3
        assert abs(total[0, 0] - a[links[k].coordinate]) < TOLERANCE * max(1, np.abs(a).max())


@pytest.mark.parametrize("n", [6, 7, 10])
def test_operations_are_those_of_the_docstring(n):
    assert counted(resting(filtering.forward_dynamics), n) == (218 * n - 319, 206 * n - 324)
    assert counted(resting(filtering.inverse_dynamics), n) == (130 * n - 164, 105 * n - 138)


def test_closed_loops_are_refused_by_name(rng):
    looped, q = looped_structure(rng), ca.SX.sym("q", 3)
    for attempt in (
        lambda: filtering.inverse_dynamics(looped, q, q, q, at_rest(looped)),
        lambda: filtering.forward_dynamics(looped, q, q, q, at_rest(looped)),
        lambda: filtering.mass_matrix(looped, q),
        lambda: filtering.inverse_mass_matrix(looped, q),
    ):
        with pytest.raises(NotSupportedError, match="filtering.*four-bar"):
            attempt()
