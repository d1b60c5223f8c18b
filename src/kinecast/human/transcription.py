"""From B-spline control points to instants and back: values, Jacobian and Hessian of a motion problem in its variables.

The variables are the free control points of all coordinates, then further variables of single instants. The other
control points follow from the free ones, point by point, as P_i = sum_j (A_ij + B_ij S) F_j + C_i with the left-right
exchange S: a periodic step or a start at rest needs no equality constraints. Nothing here depends on the task: rows
and weights say what is constrained and minimised.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kinecast.human.node import Node
from kinecast.human.skeleton import Mirror
from kinecast.mechanism.checks import Array
from kinecast.motion.bspline import BSpline

_SLAB = 32  # rows of a matrix that are copied at a time: what is made on the way stays in the cache


class Space:
    """Arrays by name that are used again at every iterate: fresh ones would cost a third of the time in page faults."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def __call__(self, name: str, *shape: int) -> Array:
        """The array of this name and shape, with whatever is in it."""
        if name not in self._arrays or self._arrays[name].shape != shape:
            self._arrays[name] = np.empty(shape)
        return self._arrays[name]


@dataclass(frozen=True)
class Variables:
    """How control points follow from the variables: P = own F + mirrored S F + constant."""

    knots: Array
    degree: int
    own: Array  # (control points, free points)
    mirrored: Array  # (control points, free points)
    constant: Array  # (control points, n)
    mirror: Mirror
    further: NDArray[np.intp]  # the instants that have a further variable, in order

    @property
    def n(self) -> int:
        """Coordinates."""
        return int(self.constant.shape[1])

    @property
    def free(self) -> int:
        """Free control points of each coordinate."""
        return int(self.own.shape[1])

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.free * self.n + len(self.further)

    def spline(self, x: Array) -> BSpline:
        """The motion that belongs to the variables."""
        points = x[: self.free * self.n].reshape(self.free, self.n)
        return BSpline(self.knots, self.own @ points + self.mirrored @ self.mirror(points) + self.constant, self.degree)

    def rows_of(self, weights: Array, coordinates: Array) -> tuple[Array, Array]:
        """(matrix, constant) of the linear functions sum_i,c weights[., i] coordinates[., c] P_ic of the variables."""
        swapped = coordinates[:, list(self.mirror.index)] * np.asarray(self.mirror.sign)
        plain = np.einsum("rj,rc->rjc", weights @ self.own, coordinates)
        turned = np.einsum("rj,rc->rjc", weights @ self.mirrored, swapped)
        matrix = np.zeros((len(weights), self.size))
        matrix[:, : self.free * self.n] = (plain + turned).reshape(len(weights), -1)
        return matrix, np.einsum("ri,rc,ic->r", weights, coordinates, self.constant)


@dataclass(frozen=True)
class Rows:
    """Constraint rows: outputs of instants, and linear functions of the variables; `names` for people."""

    instant: Array
    output: Array
    low: Array
    high: Array
    matrix: Array
    matrix_low: Array
    matrix_high: Array
    names: tuple[str, ...] = field(default=(), repr=False)


class Transcription:
    """A motion problem in its variables: what `interior_point.solve` asks for."""

    def __init__(
        self,
        node: Node,
        variables: Variables,
        instants: Array,
        parameters: Array,
        rows: Rows,
        bounds: tuple[Array, Array],
        weights: tuple[str, Array],
        quadratic: tuple[Array, Array],
    ) -> None:
        """`weights`: an output and its weight in the objective by instant; `quadratic`: Q, g of x.Qx/2 + g.x."""
        self.node, self.variables, self.instants, self.parameters, self.rows = (
            node,
            variables,
            instants,
            parameters,
            rows,
        )
        self.lower, self.upper = bounds
        self.low = np.concatenate([rows.low, rows.matrix_low])
        self.high = np.concatenate([rows.high, rows.matrix_high])
        self.effort, self.weights = node.outputs[weights[0]].start, weights[1]
        self.quadratic = quadratic
        n = variables.n
        shape = BSpline(variables.knots, variables.constant, variables.degree)
        basis = np.stack([shape.matrix(instants, order) for order in range(3)])  # (orders, instants, control points)
        self._constant = (basis @ variables.constant).transpose(1, 0, 2)  # (instants, orders, n)
        # (instants, plain points and then mirrored ones, 3)
        both = np.concatenate([basis @ variables.own, basis @ variables.mirrored], axis=2)
        self._both = both.transpose(1, 2, 0).copy()
        self._places = (rows.instant * node.size + rows.output).astype(np.intp)
        self._index, self._sign = np.array(variables.mirror.index), np.array(variables.mirror.sign)
        self._nz = 3 * n + 1
        self._space = Space()

    def motion(self, x: Array) -> Array:
        """(instants, 3 n + 1): q, v, a and the further variable of each instant."""
        v = self.variables
        points = x[: v.free * v.n].reshape(v.free, v.n)
        both = np.concatenate([points, v.mirror(points)]).reshape(2, v.free, v.n)
        basis = self._both.reshape(len(self.instants), 2, v.free, 3)
        z = np.zeros((len(self.instants), self._nz))
        z[:, :-1] = (np.einsum("kmjr,mjn->krn", basis, both, optimize=True) + self._constant).reshape(
            len(self.instants), -1
        )
        z[v.further, -1] = x[v.free * v.n :]
        return z

    def outputs(self, x: Array) -> Array:
        """(instants, outputs) of the node."""
        found: Array = self.node.value.ufunc(self.motion(x), self.parameters)
        return found

    def values(self, x: Array) -> tuple[float, Array]:
        """Objective and rows."""
        y = self.outputs(x)
        q, g = self.quadratic
        f = float(self.weights @ y[:, self.effort]) + float(0.5 * x @ q @ x + g @ x)
        return f, np.concatenate([y[self.rows.instant, self.rows.output], self.rows.matrix @ x])

    def derivatives(self, x: Array, multipliers: Array, objective: float) -> tuple[Array, Array, Array]:
        """Gradient of the objective, Jacobian of the rows (transposed), Hessian of objective f + multipliers . rows.

        The two matrices are overwritten by the next call.
        """
        rows, count, size = self.rows, len(self.rows.instant), self.variables.size
        z = self.motion(x)
        m = np.zeros((len(z), self.node.size))
        m[rows.instant, rows.output] = multipliers[:count]
        m[:, self.effort] += objective * self.weights
        out = self._space("dy", len(z), self._nz, self.node.size), self._space("dz", len(z), self._nz, self._nz)
        dy, dz = self.node.derivatives(z, self.parameters, m, out)
        jacobian = self._space("jacobian", size, len(self.low))
        chained = self._chain(dy).reshape(size, -1)
        for first in range(0, size, _SLAB):
            part = slice(first, first + _SLAB)
            jacobian[part, :count] = chained[part].take(self._places, axis=1)
        jacobian[:, count:] = rows.matrix.T
        q, g = self.quadratic
        gradient = self._gradient(dy[:, :, self.effort] * self.weights[:, None]) + q @ x + g
        hessian = self._hessian(dz)
        hessian += objective * q
        return gradient, jacobian, hessian

    def _chain(self, dy: Array) -> Array:
        """(variables, instants, outputs) from derivatives (instants, 3 n + 1, outputs)."""
        v, (count, _, n_y) = self.variables, dy.shape
        chained = self._space("chained", v.size, count, n_y)
        points = chained[: v.free * v.n].reshape(v.free, v.n, count, n_y)
        for k in range(count):
            by_point = (self._both[k] @ dy[k, :-1].reshape(3, v.n * n_y)).reshape(2, v.free, v.n, n_y)
            turned = by_point[1][:, self._index] * self._sign[:, None]
            np.add(by_point[0], turned, out=points[:, :, k])
        chained[v.free * v.n :] = 0.0
        chained[v.free * v.n + np.arange(len(v.further)), v.further] = dy[v.further, -1]
        return chained

    def _gradient(self, dz: Array) -> Array:
        """(variables,) summed over the instants, from (instants, 3 n + 1)."""
        v, count = self.variables, len(dz)
        plain, turned = np.einsum("kjr,krn->jn", self._both, dz[:, :-1].reshape(count, 3, v.n)).reshape(2, v.free, v.n)
        return np.concatenate([(plain + turned[:, self._index] * self._sign).ravel(), dz[v.further, -1]])

    def _hessian(self, dz: Array) -> Array:
        """(variables, variables) summed over the instants, from (instants, 3 n + 1, 3 n + 1)."""
        v, count, n, free = self.variables, len(dz), self.variables.n, self.variables.free
        points, hessian = free * n, self._space("hessian", v.size, v.size)
        # (instants, order of the second index; first point, first coordinate, second coordinate)
        half = self._space("half", count, 3, free, n, n)
        blocks = self._space("blocks", 3, n, n)
        for k in range(count):
            for order in range(3):
                np.copyto(blocks, dz[k, :-1, order * n : (order + 1) * n].reshape(3, n, n))
                by_point = (self._both[k] @ blocks.reshape(3, n * n)).reshape(2, free, n, n)
                np.add(by_point[0], by_point[1][:, self._index] * self._sign[:, None], out=half[k, order])
        both = self._both.transpose(1, 0, 2).reshape(2 * free, count * 3)
        whole = self._space("whole", 2 * free, points * n)
        np.matmul(both, half.reshape(count * 3, points * n), out=whole)
        plain, turned = whole.reshape(2, free, points, n)
        for k in range(free):
            hessian[k * n : (k + 1) * n, :points] = (plain[k] + turned[k][:, self._index] * self._sign).T
        if len(v.further):
            hessian[points:, points:] = 0.0
            by_z = dz[v.further, :-1, -1].reshape(-1, 3, n)
            column = (self._both[v.further] @ by_z).reshape(-1, 2, free, n)
            turned_column = column[:, 1][:, :, self._index] * self._sign
            hessian[points:, :points] = (column[:, 0] + turned_column).reshape(-1, points)
            hessian[:points, points:] = hessian[points:, :points].T
            hessian[points + np.arange(len(v.further)), points + np.arange(len(v.further))] = dz[v.further, -1, -1]
        return hessian
