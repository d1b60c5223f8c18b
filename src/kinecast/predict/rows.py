"""Constraints of the program as tables: one entry a row, arrays in place of objects.

Three kinds of rows: `PathRows` limit a quantity that the kernels compute at a check point, `StateRows` a combination
of entries of the state z at grid points (limits on q and v, boundary conditions, periodicity), `TimeRows` the ends of
the arcs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.mesh import Indices


@dataclass(frozen=True)
class Group:
    """Rows that are one thing to the user, such as the torque limit of one joint.

    `scale` is the size (in `unit`) that a relaxation or a violation is compared with. A `hard` group is never relaxed.
    """

    kind: str  # tau | q | v | load | require | duration | boundary | mesh
    name: str  # "tau.shoulder"
    unit: str
    scale: float
    hard: bool = False

    @property
    def words(self) -> str:
        """How a sentence calls it."""
        what, _, of = self.name.partition(".")
        kinds = {"tau": "the torque limit of", "q": "the position limit of", "v": "the velocity limit of"}
        if self.kind == "load":
            joint, _, component = of.rpartition(".")
            return f"the limit on the load {component} in {joint}"
        if self.kind in kinds:
            return f"{kinds[self.kind]} {of}"
        return (
            "the bounds of the duration" if self.kind == "duration" else self.name if self.kind == "require" else what
        )


@dataclass(frozen=True, eq=False)
class PathRows:
    """Quantity `quantity` (of those the kernels limit) at grid point `point`, between `lower` and `upper`."""

    point: Indices
    quantity: Indices
    lower: Array
    upper: Array
    group: Indices


@dataclass(frozen=True, eq=False)
class StateRows:
    """Row `row[k]` has the term `factor[k]` * z[order[k], coordinate[k]] at grid point `point[k]`; one bound a row."""

    row: Indices
    point: Indices
    order: Indices
    coordinate: Indices
    factor: Array
    lower: Array
    upper: Array
    group: Indices


@dataclass(frozen=True, eq=False)
class TimeRows:
    """Rows `matrix` @ (ends of arcs), between `lower` and `upper`."""

    matrix: Array
    lower: Array
    upper: Array
    group: Indices


class StateRowsMaker:
    """Collects state rows; each call adds rows of one group at several grid points."""

    def __init__(self) -> None:
        self._terms: list[tuple[int, int, int, int, float]] = []
        self._bounds: list[tuple[float, float, int]] = []

    def add(self, terms: Sequence[tuple[int, int, int, float]], lower: float, upper: float, group: int) -> None:
        """One row: terms (point, order, coordinate, factor)."""
        row = len(self._bounds)
        self._terms += [(row, *term) for term in terms]
        self._bounds.append((lower, upper, group))

    def rows(self) -> StateRows:
        """All of them."""
        terms = np.array(self._terms, dtype=float).reshape(-1, 5)
        bounds = np.array(self._bounds, dtype=float).reshape(-1, 3)
        row, point, order, coordinate = terms[:, :4].astype(np.intp).T
        return StateRows(
            row, point, order, coordinate, terms[:, 4], bounds[:, 0], bounds[:, 1], bounds[:, 2].astype(np.intp)
        )
