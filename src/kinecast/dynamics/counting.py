"""Operation counts of every algorithm by every method, of one mechanism. Nothing is compiled; SymPy is not needed.

Published counts of forward dynamics leave out the bias torques (inverse dynamics without accelerations), as one sees
from rows that count fewer operations than the same author's inverse dynamics. So both are counted: the whole, and what
is left when the bias torques are given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from kinecast.dynamics.algorithms import ALGORITHMS, DEFAULT_METHOD
from kinecast.dynamics.spatial.forward import forward_dynamics
from kinecast.dynamics.surroundings import Surroundings
from kinecast.dynamics.tracing import METHODS, methods_for
from kinecast.dynamics.tree import build, regrouped
from kinecast.engine.program import Counts, read
from kinecast.errors import KinecastError

if TYPE_CHECKING:
    from kinecast.dynamics.mechanism import Mechanism
    from kinecast.mechanism import Structure

GIVEN_BIAS = "forward_dynamics, bias torques given"
# Beyond this, formulations that are not meant for many joints take minutes to trace.
MANY_JOINTS = 20


def operation_counts(mechanism: Mechanism) -> dict[tuple[str, str], Counts]:
    """Counts by (algorithm, method): the default's of everything, the literature's of what they have."""
    found: dict[tuple[str, str], Counts] = {}
    for algorithm, about in ALGORITHMS.items():
        methods = [DEFAULT_METHOD]
        if mechanism.n <= MANY_JOINTS and about.place is False:
            methods += [m for m in methods_for(algorithm) if m in METHODS]
        for method in methods:
            try:
                found[algorithm, method] = mechanism.operation_counts(algorithm, method=method)
            except KinecastError:  # a singular mass matrix, too many joints for a method: no such row
                continue
        if algorithm == "forward_dynamics" and (algorithm, DEFAULT_METHOD) in found:
            found[GIVEN_BIAS, DEFAULT_METHOD] = _given_bias(mechanism)
    return found


def _given_bias(structure: Structure) -> Counts:
    """The linear problem M a = tau - bias: forward dynamics of a mechanism at rest without gravity."""
    q, tau = ca.SX.sym("q", structure.n), ca.SX.sym("tau", structure.n)
    nowhere = Surroundings(ca.SX(3, 1), ca.SX(6, 1), ca.SX(6, 1))
    a = forward_dynamics(regrouped(build(structure)), q, ca.SX(structure.n, 1), tau, nowhere)
    return read(ca.Function("a", [q, tau], [a])).counts
