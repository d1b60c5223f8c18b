"""Linear equations with a mass matrix, using that joints on different branches do not meet in it.

M = L^T D L with L unit triangular and as sparse as M itself: L[k, i] exists where i carries k (Featherstone, 2005). The
elimination goes from the tips inward, so that no entry appears where there was none.

Example::

    system = BranchSystem(tree, mass_matrix(tree, q))
    qdd = system.solve({k: tau[k] for k in range(tree.n)})
"""

from __future__ import annotations

import casadi as ca

from kinecast.dynamics.surroundings import Expression
from kinecast.dynamics.tree import Tree

Sparse = dict[int, Expression]  # coordinate -> value


class BranchSystem:
    """The factors of one mass matrix."""

    def __init__(self, tree: Tree, M: Expression) -> None:
        self.order = [link.coordinate for link in tree.links if link.coordinate >= 0]
        self.above: dict[int, list[int]] = {}  # the coordinates that carry a coordinate, nearest first
        for k, link in enumerate(tree.links):
            if link.coordinate >= 0:
                carriers = (tree.links[i].coordinate for i in tree.ancestors(k))
                self.above[link.coordinate] = [c for c in carriers if c >= 0]
        entry = {(k, i): M[k, i] for k in self.order for i in [k, *self.above[k]]}
        self.reciprocal: Sparse = {}
        for k in reversed(self.order):
            self.reciprocal[k] = 1 / entry[k, k]
            for i in self.above[k]:
                factor = entry[k, i] * self.reciprocal[k]
                for j in [i, *self.above[i]]:
                    entry[i, j] -= factor * entry[k, j]
                entry[k, i] = factor
        self.L = entry

    def solve(self, right: Sparse) -> Sparse:
        """x with M x = right; what is missing on the right is zero."""
        x = self._inward(right)
        for k in self.order:
            self._outward(x, k)
        return x

    def inverse(self) -> Expression:
        """M^-1 (n, n), of which one half is computed."""
        n = len(self.order)
        result = ca.SX(n, n)
        for last, c in enumerate(self.order):
            x = self._inward({c: ca.SX(1)})
            for k in self.order[: last + 1]:
                self._outward(x, k)
                if k in x:
                    result[k, c] = result[c, k] = x[k]
        return result

    def _inward(self, right: Sparse) -> Sparse:
        x = dict(right)
        for k in reversed(self.order):
            if k in x:
                for i in self.above[k]:
                    x[i] = x.get(i, 0) - self.L[k, i] * x[k]
                x[k] = x[k] * self.reciprocal[k]
        return x

    def _outward(self, x: Sparse, k: int) -> None:
        for i in self.above[k]:
            if i in x:
                x[k] = x.get(k, 0) - self.L[k, i] * x[i]


def columns(matrix: Expression) -> list[Sparse]:
    """The structural nonzeros of a matrix, column by column."""
    found: list[Sparse] = [{} for _ in range(matrix.shape[1])]
    for row, column in zip(matrix.sparsity().row(), matrix.sparsity().get_col(), strict=True):
        found[column][row] = matrix[row, column]
    return found
