"""Of several ways to compute the same, the one that needs the fewest operations for the mechanism at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from kinecast.engine.program import read


def cheapest(ways: Sequence[Any]) -> Any:
    """The way with the fewest multiplications, divisions and additions; the first of equals.

    A way is an expression or a tuple of them.
    """
    return ways[0] if len(ways) == 1 else min(ways, key=_operations)


def _operations(way: Any) -> int:
    results = [ca.densify(x) for x in (way if isinstance(way, tuple) else (way,))]
    return read(ca.Function("counted", ca.symvar(ca.veccat(*results)), results)).counts.flops
