"""The chain rule through the spline: from derivatives by the state z at a grid point to those by the variables near it.

Near a point are degree + 1 control points c (the n coordinates of each) and L ends of arcs b. z is linear in c with
weights W(b). With B = dz/d(c, b), what a point contributes has the gradient B^T g (41)-(42), (4.15), and the Hessian
B^T H B + sum over k of g_k d2 z_k, where g and H are gradient and Hessian by z.

Products over c go through the three orders of W one after the other: W (x) I is never formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.mesh import DEGREE, Grid

LOCAL = DEGREE + 1  # control points near a grid point


class Scratch:
    """Arrays kept from call to call: the page faults of fresh large ones take longer than what is computed in them."""

    def __init__(self) -> None:
        self._kept: dict[str, Array] = {}

    def __call__(self, name: str, *shape: int) -> Array:
        """The array of this name, with whatever was left in it."""
        kept = self._kept.get(name)
        if kept is None or kept.shape != shape:
            kept = self._kept[name] = np.empty(shape)
        return kept


@dataclass(frozen=True, eq=False)
class Chain:
    """State z (G, n_z) at the G grid points, its derivatives by the ends of arcs (G, L, n_z), and `width` (G,).

    `width` is the time that a point stands for in the quadrature, `stretch` (G, L) d log(width) / db; both are zero at
    the points of path limits, and `stretch` is None if there are no others. `W` (G, LOCAL, orders) are the weights.
    `bend` turns a gradient by the motion (G, orders, n) into the sums of g_k d2 z_k: by control points and ends
    (G, LOCAL * L, n), by ends twice (G, L, L).
    """

    z: Array
    by_ends: Array
    t: Array
    width: Array
    stretch: Array | None
    ends: Array  # all of them, not only those near a point
    W: Array
    n: int
    bend: Callable[[Array], tuple[Array, Array]]

    @property
    def orders(self) -> int:
        """Time derivatives in z."""
        return int(self.W.shape[2])

    def gradient(self, g: Array, own: slice) -> tuple[Array, Array]:
        """B^T g at the points `own`: by control points (own, LOCAL, n) and by ends (own, L)."""
        motion = self.orders * self.n
        by_control = self.W[own] @ g[:, :motion].reshape(len(g), self.orders, self.n)
        return by_control, (self.by_ends[own] @ g[:, :, None])[:, :, 0]

    def jacobian(self, J: Array, scratch: Scratch) -> tuple[Array, Array]:
        """Of the K rows of J (P, K, n_z) at the first P points: (P, LOCAL, K, n) and (P, K, L)."""
        points, rows, _ = J.shape
        own, motion = slice(points), self.orders * self.n
        by_order = np.swapaxes(J[:, :, :motion].reshape(points, rows, self.orders, self.n), 1, 2)
        by_order = _copied(by_order, scratch("by order", points, self.orders, rows * self.n))
        by_control = np.matmul(self.W[own], by_order, out=scratch("rows", points, LOCAL, rows * self.n))
        return by_control.reshape(points, LOCAL, rows, self.n), J @ np.swapaxes(self.by_ends[own], 1, 2)

    def hessian(self, g: Array, H: Array, scratch: Scratch) -> tuple[Array, Array, Array]:
        """The blocks control - control (G, LOCAL, LOCAL n, n), control - ends (G, LOCAL, L, n), ends - ends (G, L, L).

        The first has the control point l of one side apart: [g, l, (j, i), k] belongs to c[j, i] and c[l, k].
        """
        points, orders, n, count = len(g), self.orders, self.n, self.by_ends.shape[1]
        motion = orders * n
        by_motion = H[:, :motion, :motion].reshape(points, orders, n * motion)
        half = np.matmul(self.W, by_motion, out=scratch("half", points, LOCAL, n * motion))
        turned = np.swapaxes(half.reshape(points, LOCAL * n, orders, n), 1, 2)
        turned = _copied(turned, scratch("turned", points, orders, LOCAL * n * n))
        by_control = np.matmul(self.W, turned, out=scratch("blocks", points, LOCAL, LOCAL * n * n))
        by_control = by_control.reshape(points, LOCAL, LOCAL * n, n)
        # The quadrature's weight depends on b too: d(width f) = width (df + stretch f).
        through = self.by_ends @ H
        mixed = through[:, :, :motion]
        if self.stretch is not None:
            mixed = mixed + self.stretch[:, :, None] * g[:, None, :motion]
        mixed = np.swapaxes(mixed.reshape(points, count, orders, n), 1, 2).reshape(points, orders, count * n)
        by_order = g[:, :motion].reshape(points, orders, n)
        bent, paired = self.bend(by_order)
        crossed = (self.W @ mixed).reshape(points, LOCAL * count, n) + bent
        paired = paired + through @ np.swapaxes(self.by_ends, 1, 2)
        if self.stretch is not None:
            along = self.by_ends @ g[:, :, None] * self.stretch[:, None, :]
            paired += along + np.swapaxes(along, 1, 2)
        return by_control, crossed.reshape(points, LOCAL, count, n), paired


def _copied(view: Array, target: Array) -> Array:
    """`target`, with the entries of `view` in order."""
    target.reshape(view.shape)[...] = view
    return target


def chain_at(grid: Grid, control: Array, ends: Array, timed: bool) -> Chain:
    """The chain of a grid for control points (control points, n) and all ends of arcs [s]; z ends with t if `timed`."""
    return (_one_arc if len(grid.mesh.arcs) == 1 else _several_arcs)(grid, control, ends, timed)


def _one_arc(grid: Grid, control: Array, ends: Array, timed: bool) -> Chain:
    """Only the duration T counts: of z those of order r go with T to the power -r."""
    duration, order = float(ends[-1]), grid.order
    power = duration**-order
    local = control.take(grid.control, axis=0)
    points, n = len(local), local.shape[2]
    z = (grid.unit_weights @ local * power[:, None]).reshape(points, -1)
    by_ends = z * (-order / duration).repeat(n)
    t = grid.time_map[:, 0] * duration
    if timed:
        z = np.concatenate([z, t[:, None]], axis=1)
        by_ends = np.concatenate([by_ends, grid.time_map], axis=1)
    W = grid.unit_weights_transposed * power

    def bend(g: Array) -> tuple[Array, Array]:
        curvature = (order * (order + 1.0) / duration**2).repeat(n)
        along = (z[:, : grid.orders * n] * g.reshape(points, -1)) @ curvature
        return W @ (g * (-order / duration)[:, None]), along[:, None, None]

    return Chain(
        z=z,
        by_ends=by_ends[:, None],
        t=t,
        width=grid.width_map[:, 0] * duration,
        stretch=grid.in_quadrature / duration if grid.integrates else None,
        ends=ends,
        W=W,
        n=n,
        bend=bend,
    )


def _several_arcs(grid: Grid, control: Array, ends: Array, timed: bool) -> Chain:
    weights = grid.weights(ends)
    local = control[grid.control]
    points, count, n = len(local), grid.ends.shape[1], local.shape[2]
    z = (weights.W @ local).reshape(points, -1)
    by_ends = (weights.first.reshape(points, -1, LOCAL) @ local).reshape(points, count, -1)
    near = ends[grid.ends]
    t = (grid.time_map * near).sum(axis=1)
    if timed:
        z = np.concatenate([z, t[:, None]], axis=1)
        by_ends = np.concatenate([by_ends, grid.time_map[:, :, None]], axis=2)
    width = (grid.width_map * near).sum(axis=1)

    def bend(g: Array) -> tuple[Array, Array]:
        slope = np.moveaxis(weights.first, -1, 1).reshape(points, LOCAL * count, -1)
        weighted = g @ np.swapaxes(local, 1, 2)  # (G, orders, LOCAL)
        bent = weights.second.reshape(points, count**2, -1) @ weighted.reshape(points, -1, 1)
        return slope @ g, bent.reshape(points, count, count)

    return Chain(
        z=z,
        by_ends=by_ends,
        t=t,
        width=width,
        stretch=grid.width_map / np.where(width > 0.0, width, 1.0)[:, None] if grid.integrates else None,
        ends=ends,
        W=np.ascontiguousarray(np.swapaxes(weights.W, 1, 2)),
        n=n,
        bend=bend,
    )
