"""Operation counts of every algorithm by every method, of one mechanism. Nothing is compiled; SymPy is not needed.

Published counts of forward dynamics leave out the bias torques (inverse dynamics without accelerations), as one sees
from rows that count fewer operations than the same author's inverse dynamics. So both are counted: the whole, and what
is left when the bias torques are given.

Example::

    counted = operation_counts(kinecast.load("puma560"))
    counted.counts["inverse_dynamics", "denoc"].multiplications
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca

from kinecast.dynamics.algorithms import ALGORITHMS, DEFAULT_METHOD
from kinecast.dynamics.spatial.forward import forward_dynamics
from kinecast.dynamics.surroundings import nothing
from kinecast.dynamics.tracing import function_of, methods_for
from kinecast.dynamics.tree import build, regrouped
from kinecast.engine.program import Counts, read
from kinecast.errors import KinecastError

if TYPE_CHECKING:
    from kinecast.dynamics.mechanism import Mechanism
    from kinecast.mechanism import Structure

GIVEN_BIAS = "forward_dynamics, bias torques given"


@dataclass(frozen=True)
class Counted:
    """By (algorithm, method): the counts, and why there are none where a method cannot count this mechanism's."""

    counts: dict[tuple[str, str], Counts] = field(default_factory=dict)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)


def operation_counts(
    mechanism: Mechanism, begin: Callable[[str, int, int], None] = lambda what, k, of: None
) -> Counted:
    """Counts of everything that the default and the formulations of the literature compute.

    `begin` is told what is counted now, and the how many-th of how many that is: 55 joints take minutes.
    """
    found = Counted()
    pairs = _pairs()
    for k, (algorithm, method) in enumerate(pairs, start=1):
        begin(f"{algorithm} by {method}", k, len(pairs))
        try:
            if algorithm == GIVEN_BIAS:
                counts = _given_bias(mechanism, method)
            else:
                counts = mechanism.operation_counts(algorithm, method=method)
        except KinecastError as error:  # a singular mass matrix, too many joints for a method
            found.refused[algorithm, method] = str(error)
            continue
        found.counts[algorithm, method] = counts
    return found


def _pairs() -> list[tuple[str, str]]:
    """(algorithm, method) in the order of the table."""
    pairs = []
    for algorithm in ALGORITHMS:
        methods = (DEFAULT_METHOD, *methods_for(algorithm))
        pairs += [(algorithm, method) for method in methods]
        if algorithm == "forward_dynamics":
            pairs += [(GIVEN_BIAS, method) for method in methods]
    return pairs


def _given_bias(structure: Structure, method: str) -> Counts:
    """The linear problem M a = tau - bias: forward dynamics of a mechanism at rest without gravity."""
    q, tau, still = ca.SX.sym("q", structure.n), ca.SX.sym("tau", structure.n), ca.SX(structure.n, 1)
    if method == DEFAULT_METHOD:
        a = forward_dynamics(regrouped(build(structure)), q, still, tau, nothing())
    else:
        function = function_of(method, "forward_dynamics")
        assert function is not None  # `_pairs` has only those that can
        a = function(structure, q, still, tau, nothing())
    return read(ca.Function("a", [q, tau], [ca.densify(a)])).counts
