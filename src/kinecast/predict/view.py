"""A program as solvers see it: scaled, without the variables that are fixed, functions called by CasADi's names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.mesh import Indices
from kinecast.predict.program import Program


@dataclass(frozen=True, eq=False)
class Entries:
    """Those entries of a pattern that lie in rows and columns of free variables, and what they are multiplied with."""

    rows: Indices
    columns: Indices
    chosen: Indices
    scale: Array
    width: int

    def sparsity(self, height: int) -> Any:
        """CasADi's form of it; columns are the free variables."""
        starts = np.searchsorted(self.columns, np.arange(self.width + 1))
        return ca.Sparsity(height, self.width, starts.tolist(), self.rows.tolist())


@dataclass(frozen=True, eq=False)
class View:
    """A program in scaled variables, of which the fixed ones are left out, and scaled rows."""

    program: Program
    start: Array  # of all variables, unscaled: the fixed ones keep these values

    @cached_property
    def free(self) -> Indices:
        """The variables that are not fixed."""
        return np.flatnonzero(self.program.x_lower < self.program.x_upper)

    @cached_property
    def row_factor(self) -> Array:
        """What rows are multiplied with."""
        return 1.0 / self.program.rows_as_seen(self.program.row_scale)

    @cached_property
    def scale(self) -> Array:
        """Of the free variables."""
        return np.asarray(self.program.x_scale[self.free])

    @cached_property
    def _number(self) -> Indices:
        number = np.full(self.program.n_x, -1)
        number[self.free] = np.arange(len(self.free))
        return number

    @cached_property
    def jacobian(self) -> Entries:
        """Of the rows."""
        pattern, scale = self.program.jacobian_pattern, self.program.x_scale
        chosen = np.flatnonzero(self._number[pattern.columns] >= 0)
        rows, columns = pattern.rows[chosen], pattern.columns[chosen]
        factor = self.row_factor[rows] * scale[columns]
        return Entries(rows, self._number[columns], chosen, factor, len(self.free))

    @cached_property
    def hessian(self) -> Entries:
        """Of the Lagrangian, upper triangle."""
        pattern, scale = self.program.hessian_pattern, self.program.x_scale
        chosen = np.flatnonzero((self._number[pattern.columns] >= 0) & (self._number[pattern.rows] >= 0))
        rows, columns = pattern.rows[chosen], pattern.columns[chosen]
        return Entries(self._number[rows], self._number[columns], chosen, scale[rows] * scale[columns], len(self.free))

    def whole(self, x: Array) -> Array:
        """All variables, unscaled, from the free ones."""
        full = self.start.copy()
        full[self.free] = x * self.scale
        return full

    def answer(self, name: str, x: Array, given: dict[str, Any]) -> Any:
        """What CasADi calls `name`, at all variables x."""
        p = self.program
        if name == "f":
            return p.f(x) / p.f_scale
        if name == "g":
            return p.g(x) * self.row_factor
        if name == "grad:f:x":
            return p.gradient(x)[self.free] * self.scale / p.f_scale
        if name == "jac:g:x":
            return p.jacobian(x).take(self.jacobian.chosen) * self.jacobian.scale
        share = _or_zero(given["lam:f"], 1)[0] / p.f_scale
        multipliers = _or_zero(given["lam:g"], p.n_rows) * self.row_factor
        if name == "triu:hess:gamma:x:x":
            return p.lagrangian_hessian(x, share, multipliers).take(self.hessian.chosen) * self.hessian.scale
        pattern = p.jacobian_pattern
        by_rows = np.bincount(pattern.columns, p.jacobian(x) * multipliers[pattern.rows], p.n_x)
        return (share * p.gradient(x) + by_rows)[self.free] * self.scale


def _or_zero(values: Any, count: int) -> Any:
    return np.zeros(count) if values is None else values
