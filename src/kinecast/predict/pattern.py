"""Where the entries of a sparse matrix are, and how computed pieces add up to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.mesh import Indices


@dataclass(frozen=True, eq=False)
class Pattern:
    """Positions of a sparse matrix's entries, column by column, and where each computed entry goes.

    The entries numbered in `copied` are computed once and have two places.
    """

    rows: Indices
    columns: Indices
    target: Indices
    copied: Indices

    @classmethod
    def of(cls, rows: Indices, columns: Indices, height: int, copied: Indices | None = None) -> Pattern:
        """From the positions of all entries, of which several may share one."""
        keys, target = np.unique(columns.astype(np.int64) * height + rows, return_inverse=True)
        none = np.zeros(0, dtype=np.intp)
        return cls(keys % height, keys // height, target.ravel(), none if copied is None else copied)

    @cached_property
    def _order(self) -> Indices | None:
        """Which entry has each position, if none is shared."""
        return np.argsort(self.target) if len(self.target) == len(self.rows) else None

    def gather(self, entries: Array) -> Array:
        """The sums of the entries that share a position."""
        if self._order is not None:
            return entries.take(self._order)
        return np.asarray(np.bincount(self.target, entries, len(self.rows)), dtype=float)
