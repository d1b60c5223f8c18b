"""Checks that several formulations pass, on the mechanisms of `mechanism_cases` against `reference_dynamics`."""

import casadi as ca
import numpy as np
from mechanism_cases import case
from random_mechanisms import random_state, random_structure
from reference_dynamics import function, mass_matrix, relative_difference, values

from kinecast.dynamics.surroundings import at_rest
from kinecast.engine.program import read
from kinecast.mechanism import Loop, Place
from kinecast.mechanism.builtin import serial

# Rounding of some thousand operations, and of solving with mass matrices of condition below 400.
TOLERANCE = 1e-10


def assert_inverse_dynamics_and_loads(formulation, name, rng):
    structure, around = case(name)
    state = random_state(rng, structure)
    expected = function(structure, around)(*state)
    (tau,) = values(formulation.inverse_dynamics, structure, around, state)
    (loads,) = values(formulation.joint_loads, structure, around, state)
    assert relative_difference(tau, expected[0].full()) < TOLERANCE
    assert relative_difference(loads, expected[1].full()) < TOLERANCE


def assert_forward_dynamics(formula, name, rng):
    """`formula` gives the accelerations, and the joint loads if it returns two things."""
    structure, around = case(name)
    q, v, a = random_state(rng, structure)
    expected = function(structure, around)(q, v, a)
    computed, *loads = values(formula, structure, around, (q, v, expected[0].full()[:, 0]))
    assert relative_difference(computed, a[:, None]) < TOLERANCE
    for load in loads:
        assert relative_difference(load, expected[1].full()) < TOLERANCE


def assert_long_chain(formula, rng):
    """Thirty links; their mass matrix is badly conditioned: it is the torques of the accelerations that must agree."""
    structure = serial(30)
    q, v, a = random_state(rng, structure)
    tau = function(structure, at_rest(structure))(q, v, a)[0].full()
    computed, *_ = values(formula, structure, at_rest(structure), (q, v, tau[:, 0]))
    missing = mass_matrix(structure, q) @ (computed - a[:, None])
    assert np.abs(missing).max() < TOLERANCE * np.abs(tau).max()


def counted(formula, n, names="qva"):
    """(multiplications and divisions, additions) of formula(structure, *symbols) for the general chain of n joints."""
    symbols = [ca.SX.sym(name, n) for name in names]
    results = formula(serial(n), *symbols)
    results = results if isinstance(results, tuple) else (results,)
    counts = read(ca.Function("f", symbols, [ca.densify(x) for x in results])).counts
    return counts.multiplications + counts.divisions, counts.additions


def resting(formula):
    """The formula with the structure's own gravity and nothing else around."""
    return lambda structure, *symbols: formula(structure, *symbols, at_rest(structure))


def looped_structure(rng):
    """A mechanism with a closed loop called four-bar."""
    structure = random_structure(rng, 3)
    ends = (Place(joint.name, np.zeros(3)) for joint in structure.joints[1:])
    return structure.replace(loops=(Loop("four-bar", *ends),))
