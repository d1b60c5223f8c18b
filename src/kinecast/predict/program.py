"""The sparse nonlinear program: values, gradient, Jacobian and Hessian of all grid points from one kernel call each.

Variables x: control points (control point by control point, the n coordinates together), ends of arcs [s],
relaxations. The kernels answer for the state z at all grid points, `chain` turns that into derivatives by x, and the
patterns here say where each of these goes.

What the solver sees is scaled: x / `x_scale`, rows / `row_scale`, objective / `f_scale`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.chain import LOCAL, Chain, Scratch, chain_at
from kinecast.predict.mesh import Grid, Indices
from kinecast.predict.pattern import Pattern
from kinecast.predict.rows import Group, PathRows, StateRows, TimeRows
from kinecast.predict.terms import Terms

if TYPE_CHECKING:
    from kinecast.engine import Kernel

PointData = Callable[[Array], Array]  # times (G,) -> what the points are told (G, n_data)


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

    @cached_property
    def _scratch(self) -> Scratch:
        return Scratch()

    def _once(self, name: str, x: Array, make: Callable[[Array], object]) -> object:
        """The latest result of `make`, if it was for this x."""
        key = x.tobytes()
        found = self._memory.get(name)
        if found is None or found[0] != key:
            found = key, make(x)
            self._memory[name] = found
        return found[1]

    def _chain(self, x: Array) -> tuple[Chain, Array]:
        """The state and its derivatives, and what the points are told."""

        def make(x: Array) -> object:
            chain = chain_at(self.grid, self.control(x), self.ends(x), self.terms.timed)
            return chain, self.point_data(chain.t)

        answer = self._once("chain", x, make)
        assert isinstance(answer, tuple)
        return answer

    def _values(self, x: Array) -> tuple[float, Array, Array]:
        """Objective, rows, integrand at the points of the quadrature."""
        answer = self._once("values", x, self._make_values)
        assert isinstance(answer, tuple)
        return answer

    def _make_values(self, x: Array) -> tuple[float, Array, Array]:
        chain, data = self._chain(x)
        integrand, limited = self.terms.values.ufunc(chain.z, data, self.weights)
        rows = [limited.ravel().take(self._places)]
        if len(self.state.lower):
            state = chain.z[self.state.point, self.state.order * self.n + self.state.coordinate] * self.state.factor
            rows.append(np.bincount(self.state.row, state, len(self.state.lower)))
        if len(self.time.lower):
            rows.append(self.time.matrix @ chain.ends)
        own = integrand[self.grid.n_checks :]
        whole = self.weights[0] * chain.ends[-1] if self.terms.only_time else chain.width[self.grid.n_checks :] @ own
        return float(whole), np.concatenate(rows) if len(rows) > 1 else rows[0], own

    @cached_property
    def _places(self) -> Indices:
        """Of every path row, where its quantity stands among those of all grid points."""
        return np.asarray(self.path.point * self.terms.values.outputs[1].size + self.path.quantity)

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
            chain, data = self._chain(x)
            return self.terms.first.ufunc(chain.z, data, self.weights)

        answer = self._once("first", x, make)
        assert isinstance(answer, tuple)
        return answer

    @cached_property
    def _columns(self) -> tuple[Indices, Indices]:
        """Variables near each point: control points (G, LOCAL, n), ends of arcs (G, L)."""
        control = self.grid.control[:, :, None] * self.n + np.arange(self.n)
        return control, self.n_control + self.grid.ends

    def gradient(self, x: Array) -> Array:
        """df/dx."""
        if self.relaxed:
            return self._unit(slice(self.n_motion, None))
        if self.terms.only_time:
            return self.weights[0] * self._unit(self.n_motion - 1)
        (chain, _), own = self._chain(x), slice(self.grid.n_checks, None)
        integrand = self._values(x)[2]
        by_control, by_ends = chain.gradient(self._first(x)[0][own] * chain.width[own, None], own)
        by_ends += integrand[:, None] * self.grid.width_map[own]
        columns, ends = self._columns
        index = np.concatenate([columns[own].ravel(), ends[own].ravel()])
        return np.asarray(np.bincount(index, np.concatenate([by_control.ravel(), by_ends.ravel()]), self.n_x))

    def _unit(self, where: int | slice) -> Array:
        """Zeros for all variables, ones where they are asked for."""
        unit = np.zeros(self.n_x)
        unit[where] = 1.0
        return unit

    @cached_property
    def jacobian_pattern(self) -> Pattern:
        """Where the Jacobian has entries."""
        (columns, ends), chosen = self._columns, self._chosen
        n_path, n_state = len(self.path.lower), len(self.state.lower)
        row, arc = np.nonzero(self.time.matrix)
        pieces = [
            (chosen[1], columns.reshape(len(columns), -1)[self.path.point[chosen[1]], chosen[2]]),
            _grid_of(np.arange(n_path), ends[self.path.point]),
            _grid_of(n_path + self.state.row, self._state_columns),
            _grid_of(n_path + self.state.row, ends[self.state.point]),
            (n_path + n_state + row, self.n_control + arc),
        ]
        rows, cols = (np.concatenate([piece[k].ravel() for piece in pieces]) for k in (0, 1))
        twice = self._copy_of[rows] >= 0
        relax = np.flatnonzero(self._relaxation[self._side] >= 0)
        return Pattern.of(
            np.concatenate([rows, self._copy_of[rows[twice]], relax]),
            np.concatenate([cols, cols[twice], self.n_motion + self._relaxation[self._side][relax]]),
            self.n_rows,
            np.flatnonzero(twice),
        )

    @cached_property
    def _copy_of(self) -> Indices:
        """Of every row that the solver sees as two, the second; else -1."""
        first = len(self._relaxation)
        copy_of = np.full(first, -1)
        copy_of[self._side[first:]] = np.arange(first, self.n_rows)
        return copy_of

    @cached_property
    def _chosen(self) -> tuple[Indices, Indices, Indices]:
        """Path rows' entries by control points that can differ from zero: place in the chain's array, row, (j, i)."""
        structure = np.zeros(self.terms.first.outputs[1].size, bool)
        structure[self.terms.first.patterns[1]] = True
        quantities = len(structure) // self.terms.n_z
        by_z = structure.reshape(quantities, self.terms.n_z)[:, : self.terms.orders * self.n]
        by_coordinate = np.asarray(by_z.reshape(quantities, -1, self.n).any(axis=1))
        row, near = np.nonzero(np.tile(by_coordinate[self.path.quantity], (1, LOCAL)))
        j, i = np.divmod(near, self.n)
        place = ((self.path.point[row] * LOCAL + j) * quantities + self.path.quantity[row]) * self.n + i
        return place, row, near

    @property
    def _state_columns(self) -> Indices:
        return np.asarray(self.grid.control[self.state.point] * self.n + self.state.coordinate[:, None])

    def jacobian(self, x: Array) -> Array:
        """Entries of dg/dx in the order of `jacobian_pattern`, unscaled."""
        pattern, (chain, _), s = self.jacobian_pattern, self._chain(x), self.state
        by_control, by_ends = chain.jacobian(self._first(x)[1][: self.grid.n_checks], self._scratch)
        by_ends = by_ends.reshape(-1, by_ends.shape[2]).take(self._places, axis=0)
        entries = [by_control.ravel().take(self._chosen[0]), by_ends.ravel()]
        if len(s.lower):
            state_control = chain.W[s.point, :, s.order] * s.factor[:, None]
            state_ends = chain.by_ends[s.point, :, s.order * self.n + s.coordinate] * s.factor[:, None]
            entries += [state_control.ravel(), state_ends.ravel()]
        own = np.concatenate([*entries, self._time_entries])
        if self.relaxed:
            relax = self._relax_factor[self._relaxation[self._side] >= 0]
            own = np.concatenate([own, own[pattern.copied], relax])
        return pattern.gather(own)

    @cached_property
    def _time_entries(self) -> Array:
        return np.asarray(self.time.matrix[np.nonzero(self.time.matrix)])

    # ------------------------------------------------------------------ second derivatives

    @property
    def _curved(self) -> Kernel:
        return self.terms.gauss_newton if self.hessian == "gauss-newton" else self.terms.second

    @cached_property
    def _pairs(self) -> tuple[Indices, Indices, Indices, Indices, Indices, Indices]:
        """Entries in the upper triangle of the blocks control - control and ends - ends: places, rows, columns."""
        columns, ends = self._columns
        structure = np.zeros(self._curved.outputs[1].size, bool)
        structure[self._curved.patterns[1]] = True
        orders, motion = self.terms.orders, self.terms.orders * self.n
        by_z = structure.reshape(self.terms.n_z, -1)[:motion, :motion]
        coupled = by_z.reshape(orders, self.n, orders, self.n).any(axis=(0, 2))  # (i, k)
        row = columns.reshape(len(columns), 1, -1, 1)  # the block is [g, l, (j, i), k]
        column = columns[:, :, None, :]
        control = np.flatnonzero((row <= column) & np.tile(coupled, (LOCAL, 1)))
        pair = np.flatnonzero(ends[:, :, None] <= ends[:, None, :])
        shape = np.broadcast_shapes(row.shape, column.shape)
        count = ends.shape[1]
        return (
            control,
            np.broadcast_to(row, shape).ravel()[control],
            np.broadcast_to(column, shape).ravel()[control],
            pair,
            np.repeat(ends, count, axis=1).ravel()[pair],
            np.tile(ends, (1, count)).ravel()[pair],
        )

    @cached_property
    def hessian_pattern(self) -> Pattern:
        """Where the Hessian of the Lagrangian, of which only the upper triangle counts, has entries."""
        _, row, column, _, first, second = self._pairs
        columns, ends = self._columns
        shape = (len(ends), LOCAL, ends.shape[1], self.n)
        crossed = [np.broadcast_to(columns[:, :, None, :], shape), np.broadcast_to(ends[:, None, :, None], shape)]
        rows = np.concatenate([row, crossed[0].ravel(), first])
        return Pattern.of(rows, np.concatenate([column, crossed[1].ravel(), second]), self.n_x)

    def lagrangian_hessian(self, x: Array, share: float, multipliers: Array) -> Array:
        """Entries of the Hessian of share * f + multipliers . g in the order of `hessian_pattern`, unscaled."""
        key = np.concatenate([x, [share], multipliers])
        entries = self._once("hessian", key, lambda _: self._make_hessian(x, share, multipliers))
        return np.asarray(entries)

    def _make_hessian(self, x: Array, share: float, multipliers: Array) -> Array:
        pattern, (chain, data), s = self.hessian_pattern, self._chain(x), self.state
        share = 0.0 if self.relaxed else share  # the sum of relaxations is linear
        rows = np.bincount(self._side, multipliers, len(self._relaxation)) if self.relaxed else multipliers
        n_path, n_state = len(self.path.lower), len(s.lower)
        quantities = self._curved.inputs[3].size
        of_points = np.bincount(self._places, rows[:n_path], len(chain.z) * quantities).reshape(-1, quantities)
        out = (self._scratch("g", *chain.z.shape), self._scratch("H", *chain.z.shape, chain.z.shape[1]))
        g, H = self._curved.ufunc(chain.z, data, self.weights, of_points, share * chain.width, out=out)
        if n_state:
            np.add.at(g, (s.point, s.order * self.n + s.coordinate), rows[n_path : n_path + n_state][s.row] * s.factor)
        by_control, crossed, paired = chain.hessian(g, H, self._scratch)
        control, pair = self._pairs[0], self._pairs[3]
        entries = self._scratch("entries", len(pattern.target))
        by_control.take(control, out=entries[: len(control)], mode="clip")  # which needs no buffer of its own
        entries[len(control) :] = np.concatenate([crossed.ravel(), paired.ravel()[pair]])
        return pattern.gather(entries)


def _grid_of(rows: Indices, columns: Indices) -> tuple[Indices, Indices]:
    return np.broadcast_to(rows[:, None], columns.shape), columns
