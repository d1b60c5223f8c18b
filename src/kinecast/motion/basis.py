"""Values of B-spline basis functions, and their exact derivatives with respect to the knots.

On one span only `degree + 1` basis functions differ from zero, and they depend on the 2 `degree` knots around the span.
Everything here works on those local pieces, and divides by differences of knots that contain the span only: it stays
exact where other knots coincide.

`local_basis` is plain NumPy. The derivatives with respect to knots come from the same recursion traced once and
compiled; `order` counts derivatives with respect to time.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kinecast.engine import Kernel

Array = NDArray[np.float64]


def local_basis(knots: Array, t: Array, degree: int, orders: int) -> Array:
    """Basis functions and time derivatives (..., orders + 1, degree + 1) at times `t` (...) inside the middle span.

    `knots` (..., 2 degree) are the knots around the span, whose ends are the two in the middle.
    """
    rows = _rows([knots[..., k] for k in range(2 * degree)], t, degree, orders, np.zeros(np.shape(t)))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _rows(knots: list[Any], t: Any, degree: int, orders: int, zero: Any) -> list[list[Any]]:
    """The recursion of Cox and de Boor over NumPy arrays or CasADi symbols: rows[order][function].

    The derivative of order r is what the functions of degree - r give on r times differenced control points.
    """
    values: list[list[Any]] = [[zero + 1.0]]
    for p in range(1, degree + 1):
        values.append(_raise(values[-1], knots, t, degree, p, zero))
    rows = []
    for order in range(orders + 1):
        if order > degree:
            rows.append([zero] * (degree + 1))
            continue
        row = values[degree - order]
        for p in range(degree - order + 1, degree + 1):
            row = _transposed_difference(row, knots, degree, p, zero)
        rows.append(row)
    return rows


def _raise(lower: list[Any], knots: list[Any], t: Any, degree: int, p: int, zero: Any) -> list[Any]:
    """The p + 1 functions of degree p from the p of degree p - 1."""
    raised = [zero] * (p + 1)
    for j in range(p):  # the function of degree p - 1 that lives on knots left .. right
        left, right = knots[degree - p + j], knots[degree + j]
        share = lower[j] / (right - left)
        raised[j] = raised[j] + (right - t) * share
        raised[j + 1] = raised[j + 1] + (t - left) * share
    return raised


def _transposed_difference(row: list[Any], knots: list[Any], degree: int, p: int, zero: Any) -> list[Any]:
    """Weights on p + 1 control points, from weights on their p differences p (c[j + 1] - c[j]) / (knot difference)."""
    spread = [zero] * (p + 1)
    for j in range(p):
        slope = p * row[j] / (knots[degree + j] - knots[degree - p + j])
        spread[j] = spread[j] - slope
        spread[j + 1] = spread[j + 1] + slope
    return spread


@cache
def knot_kernel(degree: int, orders: int, at_fraction: bool) -> Kernel:
    """(knots (2 degree), t ()) -> basis (orders + 1, degree + 1), and its Jacobian and Hessian by the knots.

    With `at_fraction`, `t` is a fraction of the middle span (it moves with the knots); otherwise it is a time.
    """
    from kinecast.engine import Port, kernel

    around, shape = 2 * degree, (orders + 1) * (degree + 1)

    def trace() -> Any:
        import casadi as ca

        knots, t = ca.SX.sym("knots", around), ca.SX.sym("t")
        start, end = knots[degree - 1], knots[degree]
        time = start + t * (end - start) if at_fraction else t
        rows = _rows([knots[k] for k in range(around)], time, degree, orders, ca.SX(1, 1))
        flat = ca.vertcat(*(ca.densify(x) for row in rows for x in row))
        first = ca.jacobian(flat, knots)
        second = ca.jacobian(ca.reshape(first.T, -1, 1), knots)
        return ca.Function("basis", [knots, t], [flat, ca.reshape(first.T, -1, 1), ca.reshape(second.T, -1, 1)])

    return kernel(
        f"spline_basis_{degree}",
        key=f"degree {degree}, orders {orders}, at_fraction {at_fraction}",
        inputs=[Port("knots", (around,)), Port("t", ())],
        outputs=[Port("basis", (shape,)), Port("first", (shape, around)), Port("second", (shape, around, around))],
        trace=trace,
    )
