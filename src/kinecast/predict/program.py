"""The sparse nonlinear program: values, gradient, Jacobian and Hessian of all grid points from one kernel call each.

Variables x: control points (control point by control point, the n coordinates together), ends of arcs [s],
relaxations. With B the derivative of the state z by the variables near a grid point, a limited quantity c(z) has the
gradient B^T dc/dz (41)-(42), and the Lagrangian's Hessian is the sum over grid points of B^T H B + sum_k g_k d2 z_k,
with g and H the gradient and Hessian by z of what the point contributes.

What the solver sees is scaled: x / `x_scale`, rows / `row_scale`, objective / `f_scale`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.mesh import DEGREE, Grid, Indices
from kinecast.predict.rows import Group, PathRows, StateRows, TimeRows
from kinecast.predict.terms import Terms

if TYPE_CHECKING:
    from kinecast.engine import Kernel

PointData = Callable[[Array], Array]  # times (G,) -> what the points are told (G, n_data)


@dataclass(frozen=True, eq=False)
class _Point:
    """Everything first-order at one x: state z (G, n_z), derivatives by the local ends (G, n_z, L), weights."""

    ends: Array
    z: Array
    by_ends: Array
    weights: Array
    by_control_and_ends: Array
    curvature: Callable[[], Array]
    width: Array
    data: Array


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of a sparse matrix's entries, column by column, and where each computed entry goes."""

    rows: Indices
    columns: Indices
    target: Indices

    @classmethod
    def of(cls, rows: Indices, columns: Indices, height: int) -> Pattern:
        """From the positions of all entries, of which several may share one."""
        keys, target = np.unique(columns.astype(np.int64) * height + rows, return_inverse=True)
        return cls(keys % height, keys // height, target.ravel())

    def gather(self, entries: Array) -> Array:
        """The sums of the entries that share a position."""
        return np.asarray(np.bincount(self.target, entries, len(self.rows)), dtype=float)


@dataclass(frozen=True, eq=False)
class Program:
    """One program. `relaxed` groups have a variable each, which widens their limits by that many times their scale."""

    grid: Grid
    terms: Terms
    point_data: PointData
    weights: Array
    path: PathRows
    state: StateRows
    time: TimeRows
    groups: tuple[Group, ...]
    x_lower: Array
    x_upper: Array
    x_scale: Array
    f_scale: float
    relaxed: tuple[int, ...] = ()
    hessian: str = "exact"

    # ------------------------------------------------------------------ sizes

    @property
    def n(self) -> int:
        """Coordinates."""
        return self.terms.structure.n

    @property
    def n_control(self) -> int:
        """Variables that are control points."""
        return self.grid.mesh.n_control * self.n

    @property
    def n_motion(self) -> int:
        """Variables that are control points or ends of arcs."""
        return self.n_control + len(self.grid.mesh.arcs)

    @property
    def n_x(self) -> int:
        """All variables."""
        return self.n_motion + len(self.relaxed)

    @cached_property
    def row_group(self) -> Indices:
        """The group of every row."""
        return np.concatenate([self.path.group, self.state.group, self.time.group]).astype(np.intp)

    @cached_property
    def row_scale(self) -> Array:
        """What rows are divided by: the scale of their group."""
        return np.array([group.scale for group in self.groups])[self.row_group]

    @cached_property
    def _side(self) -> Indices:
        """Rows as the solver sees them: a relaxed row with two bounds is two rows."""
        both = self._relaxation >= 0
        both &= np.isfinite(self._bounds[0]) & np.isfinite(self._bounds[1])
        return np.concatenate([np.arange(len(both)), np.flatnonzero(both)])

    @cached_property
    def _relaxation(self) -> Indices:
        """The relaxation variable of every row, -1 for none."""
        of_group = np.full(len(self.groups), -1)
        of_group[list(self.relaxed)] = np.arange(len(self.relaxed))
        return np.asarray(of_group[self.row_group])

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        lower = np.concatenate([self.path.lower, self.state.lower, self.time.lower])
        upper = np.concatenate([self.path.upper, self.state.upper, self.time.upper])
        return lower, upper

    @property
    def n_rows(self) -> int:
        """Rows as the solver sees them."""
        return len(self._side)

    def row_bounds(self) -> tuple[Array, Array]:
        """(lower, upper) of the rows, unscaled."""
        lower, upper = (bound[self._side] for bound in self._bounds)
        first = len(self._relaxation)
        split = self._side[first:]
        upper[split] = np.inf  # the first of the two rows keeps the lower bound, the second the upper one
        lower[first:] = -np.inf
        return lower, upper

    def plain_bounds(self) -> tuple[Array, Array]:
        """(lower, upper) of every row, before relaxation and splitting."""
        return self._bounds

    def plain_times(self, x: Array) -> Array:
        """The time [s] of every row; NaN where it has none."""
        t = self.grid.times(self.ends(x))
        state = np.full(len(self.state.lower), np.nan)
        state[self.state.row] = t[self.state.point]
        return np.concatenate([t[self.path.point], state, np.full(len(self.time.lower), np.nan)])

    def rows_as_seen(self, values: Array) -> Array:
        """One value a row spread over the rows as the solver sees them."""
        return np.asarray(values[self._side])

    # ------------------------------------------------------------------ values

    def control(self, x: Array) -> Array:
        """Control points (control points, n)."""
        return x[: self.n_control].reshape(-1, self.n)

    def ends(self, x: Array) -> Array:
        """Ends of arcs [s]."""
        return x[self.n_control : self.n_motion]

    @cached_property
    def _memory(self) -> dict[str, tuple[bytes, object]]:
        return {}

    def _once(self, name: str, x: Array, make: Callable[[Array], object]) -> object:
        """The latest result of `make`, if it was for this x."""
        key = x.tobytes()
        found = self._memory.get(name)
        if found is None or found[0] != key:
            found = key, make(x)
            self._memory[name] = found
        return found[1]

    def _point(self, x: Array) -> _Point:
        point = self._once("point", x, self._make_point)
        assert isinstance(point, _Point)
        return point

    def _make_point(self, x: Array) -> _Point:
        grid, ends = self.grid, self.ends(x)
        weights = grid.weights(ends)
        local = self.control(x)[grid.control]
        z = (weights.W @ local).reshape(len(local), -1)
        by_ends = np.moveaxis(weights.first, -1, 1) @ local[:, None]
        by_ends = np.moveaxis(by_ends.reshape(*by_ends.shape[:2], -1), 1, 2)
        t = grid.times(ends)
        if self.terms.timed:
            z = np.concatenate([z, t[:, None]], axis=1)
            by_ends = np.concatenate([by_ends, grid.time_map[:, None, :]], axis=1)

        def curvature() -> Array:
            """d2 z / d ends2 (G, orders * n, L, L)."""
            second = np.moveaxis(weights.second, 2, -1)  # (G, orders, L, L, 4)
            bent = second.reshape(len(local), -1, DEGREE + 1) @ local  # (G, orders L L, n)
            shape = second.shape
            return np.moveaxis(bent.reshape(*shape[:4], -1), -1, 2).reshape(len(local), -1, *shape[2:4])

        width = (grid.width_map * ends[grid.ends]).sum(axis=1)
        return _Point(ends, z, by_ends, weights.W, weights.first, curvature, width, self.point_data(t))

    def _values(self, x: Array) -> tuple[float, Array, Array]:
        """Objective, rows, integrand at the points of the quadrature."""
        answer = self._once("values", x, self._make_values)
        assert isinstance(answer, tuple)
        return answer

    def _make_values(self, x: Array) -> tuple[float, Array, Array]:
        point = self._point(x)
        integrand, limited = self.terms.values.ufunc(point.z, point.data, self.weights)
        state = point.z[self.state.point, self.state.order * self.n + self.state.coordinate] * self.state.factor
        rows = np.concatenate(
            [
                limited[self.path.point, self.path.quantity],
                np.bincount(self.state.row, state, len(self.state.lower)),
                self.time.matrix @ point.ends,
            ]
        )
        own = slice(self.grid.n_checks, None)
        return float(point.width[own] @ integrand[own]), rows, integrand[own]

    def objective(self, x: Array) -> float:
        """J, without relaxations."""
        return self._values(x)[0]

    def rows(self, x: Array) -> Array:
        """Every row's value, before relaxation and splitting."""
        return self._values(x)[1]

    def f(self, x: Array) -> float:
        """What the solver minimises: J, or with relaxed groups the sum of the relaxations."""
        return float(x[self.n_motion :].sum()) if self.relaxed else self.objective(x)

    def g(self, x: Array) -> Array:
        """Rows as the solver sees them, unscaled."""
        rows = self.rows(x)[self._side]
        if self.relaxed:
            rows = rows + self._relax_factor * np.append(x[self.n_motion :], 0.0)[self._relaxation[self._side]]
        return np.asarray(rows)

    @cached_property
    def _relax_factor(self) -> Array:
        """What a unit of its group's relaxation adds to each row: towards the side that is free."""
        lower, upper = self.row_bounds()
        sign = np.where(np.isfinite(upper), -1.0, np.where(np.isfinite(lower), 1.0, 0.0))
        return np.where(self._relaxation[self._side] >= 0, sign * self.row_scale[self._side], 0.0)

    # ------------------------------------------------------------------ first derivatives

    def _first(self, x: Array) -> tuple[Array, Array]:
        def make(x: Array) -> object:
            point = self._point(x)
            return self.terms.first.ufunc(point.z, point.data, self.weights)

        answer = self._once("first", x, make)
        assert isinstance(answer, tuple)
        return answer

    @cached_property
    def _columns(self) -> tuple[Indices, Indices]:
        """Variables near each point: control points (G, 4, n), ends of arcs (G, L)."""
        control = self.grid.control[:, :, None] * self.n + np.arange(self.n)
        return control, self.n_control + self.grid.ends

    def gradient(self, x: Array) -> Array:
        """df/dx."""
        if self.relaxed:
            return np.concatenate([np.zeros(self.n_motion), np.ones(len(self.relaxed))])
        point, own, orders = self._point(x), slice(self.grid.n_checks, None), self.terms.orders
        integrand = self._values(x)[2]
        by_z = self._first(x)[0][own]
        by_z = by_z * point.width[own, None]
        motion = by_z[:, : orders * self.n].reshape(len(by_z), orders, self.n)
        by_control = np.swapaxes(point.weights[own], 1, 2) @ motion
        by_ends = (by_z[:, None] @ point.by_ends[own])[:, 0] + integrand[:, None] * self.grid.width_map[own]
        columns, ends = self._columns
        index = np.concatenate([columns[own].ravel(), ends[own].ravel()])
        values = np.concatenate([by_control.ravel(), by_ends.ravel()])
        return np.asarray(np.bincount(index, values, self.n_x), dtype=float)

    @cached_property
    def jacobian_pattern(self) -> Pattern:
        """Where the Jacobian has entries."""
        columns, ends = self._columns
        shown = self._shown
        n_path, n_state = len(self.path.lower), len(self.state.lower)
        path_rows = np.arange(n_path)
        pieces = [
            (np.broadcast_to(path_rows[:, None, None], shown.shape)[shown], columns[self.path.point][shown]),
            _grid_of(path_rows, ends[self.path.point]),
            _grid_of(n_path + self.state.row, self._state_columns),
            _grid_of(n_path + self.state.row, ends[self.state.point]),
        ]
        row, arc = np.nonzero(self.time.matrix)
        pieces.append((n_path + n_state + row, self.n_control + arc))
        rows, cols = (np.concatenate([piece[k].ravel() for piece in pieces]) for k in (0, 1))
        # Rows that are split have their entries twice, and each its relaxation.
        first = len(self._relaxation)
        copy_of = np.full(first, -1)
        copy_of[self._side[first:]] = np.arange(first, self.n_rows)
        twice = copy_of[rows] >= 0
        relax = np.flatnonzero(self._relaxation[self._side] >= 0)
        self._memory["copied"] = b"", np.flatnonzero(twice)
        return Pattern.of(
            np.concatenate([rows, copy_of[rows[twice]], relax]),
            np.concatenate([cols, cols[twice], self.n_motion + self._relaxation[self._side][relax]]),
            self.n_rows,
        )

    @cached_property
    def _shown(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """(path rows, 4, n): the control points whose coordinate the row's quantity can depend on at all."""
        structure = np.zeros(self.terms.first.outputs[1].size, bool)
        structure[self.terms.first.patterns[1]] = True
        by_z = structure.reshape(-1, self.terms.n_z)[:, : self.terms.orders * self.n]
        by_coordinate = np.asarray(by_z.reshape(len(by_z), -1, self.n).any(axis=1))
        return np.repeat(by_coordinate[self.path.quantity][:, None, :], DEGREE + 1, axis=1)

    @property
    def _state_columns(self) -> Indices:
        return np.asarray(self.grid.control[self.state.point] * self.n + self.state.coordinate[:, None])

    def jacobian(self, x: Array) -> Array:
        """Entries of dg/dx in the order of `jacobian_pattern`, unscaled."""
        pattern, point, orders = self.jacobian_pattern, self._point(x), self.terms.orders
        at = self.path.point
        by_z = self._first(x)[1][at, self.path.quantity]
        motion = by_z[:, : orders * self.n].reshape(len(by_z), orders, self.n)
        by_control = np.swapaxes(point.weights[at], 1, 2) @ motion
        by_ends = (by_z[:, None] @ point.by_ends[at])[:, 0]
        s = self.state
        state_control = point.weights[s.point, s.order] * s.factor[:, None]
        state_ends = point.by_ends[s.point, s.order * self.n + s.coordinate] * s.factor[:, None]
        time = self.time.matrix[np.nonzero(self.time.matrix)]
        pieces = [by_control[self._shown], by_ends.ravel(), state_control.ravel(), state_ends.ravel(), time]
        entries = np.concatenate(pieces)
        copied = np.asarray(self._memory["copied"][1])
        relax = self._relax_factor[self._relaxation[self._side] >= 0]
        return pattern.gather(np.concatenate([entries, entries[copied], relax]))

    # ------------------------------------------------------------------ second derivatives

    @property
    def _curved(self) -> Kernel:
        return self.terms.gauss_newton if self.hessian == "gauss-newton" else self.terms.second

    @cached_property
    def _pairs(self) -> tuple[Indices, Indices, Indices]:
        """Which entries of the blocks of all points lie in the upper triangle: control, ends; the whole index."""
        columns, ends = self._columns
        flat = columns.reshape(len(columns), -1)
        structure = np.zeros(self._curved.outputs[1].size, bool)
        structure[self._curved.patterns[1]] = True
        n_motion = self.terms.orders * self.n
        by_z = structure.reshape(self.terms.n_z, -1)[:n_motion, :n_motion].reshape(
            -1, self.n, self.terms.orders, self.n
        )
        coupled = by_z.any(axis=(0, 2))
        block = np.tile(coupled, (DEGREE + 1, DEGREE + 1))
        upper = (flat[:, :, None] <= flat[:, None, :]) & block
        return np.flatnonzero(upper), np.flatnonzero(ends[:, :, None] <= ends[:, None, :]), flat

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """Where the Hessian of the Lagrangian, of which only the upper triangle counts, has entries."""
        control, pair, flat = self._pairs
        ends = self._columns[1]
        size, count = flat.shape[1], ends.shape[1]
        pieces = [
            (np.repeat(flat, size, axis=1).ravel()[control], np.tile(flat, (1, size)).ravel()[control]),
            (np.repeat(flat, count, axis=1).ravel(), np.tile(ends, (1, size)).ravel()),
            (np.repeat(ends, count, axis=1).ravel()[pair], np.tile(ends, (1, count)).ravel()[pair]),
        ]
        rows, cols = (np.concatenate([piece[k] for piece in pieces]) for k in (0, 1))
        return Pattern.of(rows, cols, self.n_x)

    def lagrangian_hessian(self, x: Array, share: float, multipliers: Array) -> Array:
        """Entries of the Hessian of share * f + multipliers . g in the order of `hessian_pattern`, unscaled."""
        key = np.concatenate([x, [share], multipliers])
        entries = self._once("hessian", key, lambda _: self._make_hessian(x, share, multipliers))
        return np.asarray(entries)

    def _make_hessian(self, x: Array, share: float, multipliers: Array) -> Array:
        pattern, point, grid, n = self.hessian_pattern, self._point(x), self.grid, self.n
        share = 0.0 if self.relaxed else share  # the sum of relaxations is linear
        rows = np.bincount(self._side, multipliers, len(self._relaxation))
        n_path, n_state = len(self.path.lower), len(self.state.lower)
        of_points = np.zeros((len(point.z), self._curved.inputs[3].size))
        np.add.at(of_points, (self.path.point, self.path.quantity), rows[:n_path])
        widths = share * point.width
        g, H = self._curved.ufunc(point.z, point.data, self.weights, of_points, widths)
        s = self.state
        np.add.at(g, (s.point, s.order * n + s.coordinate), rows[n_path : n_path + n_state][s.row] * s.factor)
        orders = point.weights.shape[1]
        motion = orders * n
        W = point.weights
        # control - control: W (x) W against H's blocks of coordinates
        both = (W[:, :, None, :, None] * W[:, None, :, None, :]).reshape(len(g), orders**2, -1)
        blocks = H[:, :motion, :motion].reshape(-1, orders, n, orders, n)
        blocks = np.swapaxes(blocks, 2, 3).reshape(len(g), orders**2, n * n)
        by_control = (np.swapaxes(both, 1, 2) @ blocks).reshape(-1, DEGREE + 1, DEGREE + 1, n, n)
        by_control = np.swapaxes(by_control, 2, 3)
        # control - ends: W H dz/db + g dW/db, and the quadrature weight's own dependence on b
        through = H @ point.by_ends
        own = slice(grid.n_checks, None)
        ratio = np.zeros_like(grid.width_map)
        ratio[own] = grid.width_map[own] / point.width[own, None]
        mixed = through[:, :motion] + g[:, :motion, None] * ratio[:, None, :]
        count = mixed.shape[-1]
        crossed = np.swapaxes(W, 1, 2) @ mixed.reshape(len(g), orders, -1)
        slope = np.swapaxes(point.by_control_and_ends, 1, 2)  # (G, 4, orders, L)
        crossed = crossed.reshape(-1, DEGREE + 1, n, count)
        by_order = np.swapaxes(g[:, :motion].reshape(-1, orders, n), 1, 2)  # (G, n, orders)
        crossed = crossed + by_order[:, None] @ slope
        # ends - ends
        paired = np.swapaxes(point.by_ends, 1, 2) @ through
        along = (g[:, None] @ point.by_ends)[:, 0]
        paired = paired + along[:, :, None] * ratio[:, None, :] + ratio[:, :, None] * along[:, None, :]
        bent = point.curvature().reshape(len(g), motion, -1)
        paired = paired + (g[:, None, :motion] @ bent).reshape(paired.shape)
        control, pair, _ = self._pairs
        return pattern.gather(np.concatenate([by_control.ravel()[control], crossed.ravel(), paired.ravel()[pair]]))


def _grid_of(rows: Indices, columns: Indices) -> tuple[Indices, Indices]:
    return np.broadcast_to(rows[:, None], columns.shape), columns
