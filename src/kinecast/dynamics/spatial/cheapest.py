"""Of several ways to compute the same, the one that needs the fewest operations for the mechanism at hand."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from kinecast.dynamics.surroundings import Expression
from kinecast.engine.program import read


def cheapest(ways: Sequence[Expression]) -> Expression:
    """The expression with the fewest multiplications, divisions and additions; the first of equals."""
    return ways[0] if len(ways) == 1 else min(ways, key=_operations)


def _operations(expression: Expression) -> int:
    dense = ca.densify(expression)
    return read(ca.Function("counted", ca.symvar(dense), [dense])).counts.flops
