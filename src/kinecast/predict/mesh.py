"""The spline's knots as variables, the points in time where the program looks, and the state there.

A mesh cuts the motion into arcs; the ends of the arcs are the time variables b (the last is the duration), and the
segments of an arc are equally long. One arc is a uniform spline whose knots only scale with the duration; an arc a
segment is a spline whose knots are all free. Between arcs a knot may be double: the acceleration may jump there.

At a grid point the state z = (q, v, a[, jerk][, t]) depends on few variables y: the degree + 1 control points c around
it, and the ends of the arcs near it. z is linear in c, with weights W(b) that are rational in b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinecast.errors import InputError
from kinecast.motion.basis import Array, knot_kernel, local_basis

DEGREE = 3
Indices = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


@dataclass(frozen=True)
class Mesh:
    """Arcs of so many equal segments; `multiplicity` is that of the knots between arcs.

    `tied` arcs (index, fraction) end at that fraction of the duration: something is asked for there.
    """

    arcs: tuple[int, ...]
    multiplicity: int = 1
    tied: tuple[tuple[int, float], ...] = ()

    @property
    def segments(self) -> int:
        """Segments in all."""
        return sum(self.arcs)

    @property
    def even_ends(self) -> Array:
        """The ends of the arcs, as fractions of the duration, that make all segments equal."""
        return np.cumsum(self.arcs) / self.segments

    def place(self, fraction: float) -> tuple[int, float]:
        """(segment, fraction of it) of a fraction of the duration, for one arc or at the end of a tied one."""
        if fraction in (0.0, 1.0):
            return (0, 0.0) if fraction == 0.0 else (self.segments - 1, 1.0)
        for arc, tied in self.tied:
            if tied == fraction:
                return sum(self.arcs[: arc + 1]), 0.0
        assert len(self.arcs) == 1
        segment = min(int(fraction * self.segments), self.segments - 1)
        return segment, fraction * self.segments - segment

    @property
    def n_control(self) -> int:
        """Control points a coordinate."""
        return self.segments + DEGREE + (len(self.arcs) - 1) * (self.multiplicity - 1)

    @cached_property
    def knot_map(self) -> Array:
        """(knots, arcs): the knots are this matrix times the ends of the arcs."""
        rows = [np.zeros(len(self.arcs))] * (DEGREE + 1)
        for arc, segments in enumerate(self.arcs):
            for k in range(1, segments + 1):
                row = np.zeros(len(self.arcs))
                row[arc] = k / segments
                if arc:
                    row[arc - 1] = 1.0 - k / segments
                last = k == segments
                rows += [row] * (self.multiplicity if last and arc < len(self.arcs) - 1 else DEGREE + 1 if last else 1)
        return np.array(rows)

    def knots(self, ends: Array) -> Array:
        """The clamped knots [s] for given ends of the arcs [s]."""
        return np.asarray(self.knot_map @ ends)

    @cached_property
    def first_knots(self) -> Indices:
        """Index of the knot that begins each segment."""
        moves = np.abs(np.diff(self.knot_map, axis=0)).max(axis=1) > 0.0
        return np.flatnonzero(moves)


def free_mesh(segments: int, fractions: Sequence[float] = ()) -> Mesh:
    """Every segment an arc of its own; the knots nearest to `fractions` of the duration (increasing) stay there."""
    if segments == 1 and not fractions:
        return Mesh((1,))
    arcs = [round(fraction * segments) - 1 for fraction in fractions]
    if len(set(arcs)) < len(arcs) or (arcs and (min(arcs) < 0 or max(arcs) > segments - 2)):
        raise InputError(f"{segments} segments are too few for free knots: points on the way need knots of their own")
    return Mesh((1,) * segments, tied=tuple(zip(arcs, fractions, strict=True)))


@dataclass(frozen=True, eq=False)
class Weights:
    """State weights at all grid points G: `W` (G, orders, degree + 1) and their derivatives by the local ends of arcs.

    `first` (G, L, orders, degree + 1), `second` (G, L, L, orders, degree + 1). z[order, i] = sum over j of
    W[order, j] c[j, i].
    """

    W: Array
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class Grid:
    """Grid points of a mesh: point g lies in segment `segment[g]` at the fraction `fraction[g]` of it.

    The first `n_checks` points are those of path limits, the others those of Gauss's quadrature, with `share` as their
    weight in their segment (0 for the first).
    """

    mesh: Mesh
    segment: Indices
    fraction: Array
    share: Array
    n_checks: int
    orders: int

    def index(self, fraction: float) -> int:
        """The check point at a fraction of the duration, one of the mesh's places."""
        segment, inside = self.mesh.place(fraction)
        own = slice(self.n_checks)
        return int(np.flatnonzero((self.segment[own] == segment) & (self.fraction[own] == inside))[0])

    @cached_property
    def _first_knot(self) -> Indices:
        return np.asarray(self.mesh.first_knots[self.segment])

    @cached_property
    def control(self) -> Indices:
        """(G, degree + 1): the control points that matter at each point."""
        return np.asarray(self._first_knot[:, None] + np.arange(-DEGREE, 1))

    @cached_property
    def _around(self) -> Array:
        """(G, 2 degree, arcs): the knots around each point as a map of all ends of arcs."""
        return np.asarray(self.mesh.knot_map[self._first_knot[:, None] + np.arange(1 - DEGREE, DEGREE + 1)])

    @cached_property
    def ends(self) -> Indices:
        """(G, L): the ends of arcs that matter at each point; where fewer than L do, the last of them again."""
        matter = [np.flatnonzero(np.abs(around).max(axis=0)) for around in self._around]
        most = max(map(len, matter))
        return np.array([np.concatenate([m, np.repeat(m[-1:], most - len(m))]) for m in matter])

    @cached_property
    def _local_map(self) -> Array:
        """(G, 2 degree, L): the knots around each point from its local ends; a repeated end counts once."""
        local = np.take_along_axis(self._around, self.ends[:, None, :], axis=2)
        repeated = np.concatenate([np.zeros((len(self.ends), 1), bool), self.ends[:, 1:] == self.ends[:, :-1]], axis=1)
        return np.asarray(np.where(repeated[:, None, :], 0.0, local))

    @cached_property
    def time_map(self) -> Array:
        """(G, L): the time of each point from its local ends."""
        start, end = self._local_map[:, DEGREE - 1], self._local_map[:, DEGREE]
        return np.asarray(start + self.fraction[:, None] * (end - start))

    @cached_property
    def width_map(self) -> Array:
        """(G, L): the width of each point's segment, times its share in the quadrature, from its local ends."""
        return np.asarray(self.share[:, None] * (self._local_map[:, DEGREE] - self._local_map[:, DEGREE - 1]))

    def times(self, ends: Array) -> Array:
        """(G,) [s] for given ends of the arcs [s]."""
        return np.asarray((self.time_map * ends[self.ends]).sum(axis=1))

    @cached_property
    def order(self) -> Array:
        """0, 1, ... of the time derivatives in the state."""
        return np.arange(float(self.orders))

    @cached_property
    def unit_weights(self) -> Array:
        """`W` of one arc that lasts a second; W of order r goes with the duration to the power -r."""
        knots = self._local_map[..., 0]
        time = knots[:, DEGREE - 1] + self.fraction * (knots[:, DEGREE] - knots[:, DEGREE - 1])
        return local_basis(knots, time, DEGREE, self.orders - 1)

    @cached_property
    def unit_weights_transposed(self) -> Array:
        """(G, degree + 1, orders), contiguous."""
        return np.ascontiguousarray(np.swapaxes(self.unit_weights, 1, 2))

    @property
    def integrates(self) -> bool:
        """Whether there are points of the quadrature."""
        return self.n_checks < len(self.segment)

    @cached_property
    def in_quadrature(self) -> Array:
        """(G, 1): 1 at the points of the quadrature, 0 at those of path limits."""
        return (np.arange(len(self.segment)) >= self.n_checks).astype(float)[:, None]

    def weights(self, ends: Array) -> Weights:
        """The weights for given ends of the arcs [s]."""
        knots = (self._local_map @ ends[self.ends][..., None])[..., 0]
        W, first, second = knot_kernel(DEGREE, self.orders - 1, True).ufunc(knots, self.fraction)
        shape, count = (self.orders, DEGREE + 1), self.ends.shape[1]
        by_ends = np.swapaxes(self._local_map, 1, 2)  # (G, L, 2 degree)
        first = by_ends @ np.swapaxes(first, 1, 2)
        second = by_ends[:, None] @ second @ self._local_map[:, None]
        second = np.moveaxis(second, 1, -1)
        return Weights(
            W.reshape(-1, *shape),
            first.reshape(-1, count, *shape),
            np.ascontiguousarray(second).reshape(-1, count, count, *shape),
        )


GAUSS_POINTS = 4  # exact for polynomials of degree 7: with cubic splines, for squared torques of slow motions


def make_grid(
    mesh: Mesh,
    check_points: int,
    orders: int,
    places: Sequence[tuple[int, float]] = (),
    gauss_points: int = GAUSS_POINTS,
) -> Grid:
    """The grid of a mesh: `check_points` a segment, the segment's beginning the first, and the end of the motion.

    `gauss_points` a segment are for the quadrature, 0 if there is nothing to integrate.

    Where the acceleration may jump, the limit from the left is a point too, and so are these `places`.
    """
    corners = np.cumsum(mesh.arcs) - 1 if mesh.multiplicity > 1 else [mesh.segments - 1]
    regular = {(k, i / check_points) for k in range(mesh.segments) for i in range(check_points)}
    checks = sorted(regular | {(int(k), 1.0) for k in corners} | set(places))
    nodes, shares = np.polynomial.legendre.leggauss(gauss_points) if gauss_points else (np.zeros(0), np.zeros(0))
    gauss = [(k, 0.5 + 0.5 * node) for k in range(mesh.segments) for node in nodes]
    segment, fraction = np.array([*checks, *gauss]).T
    share = np.concatenate([np.zeros(len(checks)), np.tile(0.5 * shares, mesh.segments)])
    return Grid(mesh, segment.astype(np.intp), fraction, share, len(checks), orders)
