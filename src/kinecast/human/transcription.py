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
        # (instants, free points, 6): the plain and the mirrored share of each free point in q, v, a
        self._basis = np.concatenate([basis @ variables.own, basis @ variables.mirrored]).transpose(1, 2, 0).copy()
        self._constant = (basis @ variables.constant).transpose(1, 0, 2)  # (instants, orders, n)
        self._index, self._sign = np.array(variables.mirror.index), np.array(variables.mirror.sign)
        self._nz = 3 * n + 1

    def motion(self, x: Array) -> Array:
        """(instants, 3 n + 1): q, v, a and the further variable of each instant."""
        v = self.variables
        points = x[: v.free * v.n].reshape(v.free, v.n)
        both = np.concatenate([points, v.mirror(points)]).reshape(2, v.free, v.n)
        basis = self._basis.reshape(len(self.instants), v.free, 2, 3)
        z = np.zeros((len(self.instants), self._nz))
        z[:, :-1] = (np.einsum("kjmr,mjn->krn", basis, both, optimize=True) + self._constant).reshape(
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
        """Gradient of the objective, Jacobian of the rows (transposed), Hessian of objective f + multipliers . rows."""
        rows, count = self.rows, len(self.rows.instant)
        z = self.motion(x)
        m = np.zeros((len(z), self.node.size))
        m[rows.instant, rows.output] = multipliers[:count]
        m[:, self.effort] += objective * self.weights
        dy, dz = self.node.derivatives(z, self.parameters, m)
        jacobian = np.concatenate([self._chain(dy)[:, rows.instant, rows.output], rows.matrix.T], axis=1)
        q, g = self.quadratic
        gradient = self._gradient(dy[:, :, self.effort] * self.weights[:, None]) + q @ x + g
        return gradient, jacobian, self._hessian(dz) + objective * q

    def _mirrored(self, blocks: Array, axis: int) -> Array:
        """Blocks and their mirror images: the exchange S on the coordinates along an axis, doubled along axis 1."""
        shape = [1] * blocks.ndim
        shape[axis] = len(self._sign)
        return np.concatenate([blocks, np.take(blocks, self._index, axis=axis) * self._sign.reshape(shape)], axis=1)

    def _chain(self, dy: Array) -> Array:
        """(variables, instants, outputs) from derivatives (instants, 3 n + 1, outputs)."""
        v, (count, _, n_y) = self.variables, dy.shape
        blocks = self._mirrored(dy[:, :-1].reshape(count, 3, v.n, n_y), 2).reshape(count, 6, v.n * n_y)
        chained = np.empty((v.size, count, n_y))
        chained[: v.free * v.n] = (self._basis @ blocks).reshape(count, v.free * v.n, n_y).transpose(1, 0, 2)
        chained[v.free * v.n :] = 0.0
        chained[v.free * v.n + np.arange(len(v.further)), v.further] = dy[v.further, -1]
        return chained

    def _gradient(self, dz: Array) -> Array:
        """(variables,) summed over the instants, from (instants, 3 n + 1)."""
        v, count = self.variables, len(dz)
        blocks = self._mirrored(dz[:, :-1].reshape(count, 3, v.n), 2)
        return np.concatenate([np.einsum("kjr,krn->jn", self._basis, blocks).ravel(), dz[v.further, -1]])

    def _hessian(self, dz: Array) -> Array:
        """(variables, variables) summed over the instants, from (instants, 3 n + 1, 3 n + 1)."""
        v, count = self.variables, len(dz)
        points = v.free * v.n
        hessian = np.zeros((v.size, v.size))
        # (instants, order of the second index, order of the first, first coordinate and second coordinate together)
        blocks = dz[:, :-1, :-1].reshape(count, 3, v.n, 3, v.n).transpose(0, 3, 1, 2, 4)
        blocks = np.concatenate([blocks, blocks[:, :, :, self._index] * self._sign[:, None]], axis=2)
        half = self._basis[:, None] @ blocks.reshape(count, 3, 6, v.n * v.n)
        both = self._basis.reshape(count, v.free, 2, 3).transpose(2, 1, 0, 3).reshape(2 * v.free, count * 3)
        plain, turned = (both @ half.reshape(count * 3, points * v.n)).reshape(2, v.free, points, v.n)
        full = plain + turned[:, :, self._index] * self._sign
        hessian[:points, :points] = full.transpose(1, 0, 2).reshape(points, points)
        if len(v.further):
            column = self._mirrored(dz[v.further, :-1, -1].reshape(-1, 3, v.n), 2)
            hessian[points:, :points] = (self._basis[v.further] @ column).reshape(-1, points)
            hessian[:points, points:] = hessian[points:, :points].T
            hessian[points + np.arange(len(v.further)), points + np.arange(len(v.further))] = dz[v.further, -1, -1]
        return hessian
