"""By how much a motion exceeds its limits, where and when: at the points that the solver saw, and between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinecast.motion.basis import Array
from kinecast.predict.program import Program
from kinecast.predict.rows import Group

BETWEEN = 40  # points a segment that stand for all times: ten between two check points of the usual four


@dataclass(frozen=True)
class Excess:
    """The worst of one group: `value` exceeds `limit` by `amount` (the group's unit) at the time `t` (NaN: none)."""

    group: Group
    amount: float
    value: float
    limit: float
    t: float

    @property
    def relative(self) -> float:
        """Compared with the size of the limit."""
        return self.amount / self.group.scale

    @property
    def where(self) -> str:
        """Such as "tau.shoulder at t = 0.21 s"."""
        return self.group.name if np.isnan(self.t) else f"{self.group.name} at t = {self.t:.4g} s"

    @property
    def words(self) -> str:
        """Such as "tau.shoulder is 12.1 N m at t = 0.21 s, 2.1 N m beyond its limit of 10 N m"."""
        unit = f" {self.group.unit}" if self.group.unit else ""
        at = "" if np.isnan(self.t) else f" at t = {self.t:.4g} s"
        if not np.isfinite(self.amount):
            return f"{self.group.words} is not a number{at}"
        if self.group.kind in ("require", "boundary", "mesh"):
            return f"{self.group.words} is missed by {self.amount:.4g}{unit}{at}"
        return (
            f"{self.group.name} is {self.value:.4g}{unit}{at}, "
            f"{self.amount:.4g}{unit} beyond its limit of {self.limit:.4g}{unit}"
        )


def excesses(program: Program, x: Array) -> list[Excess]:
    """Of every group the row that exceeds its limits the most, ranked by how much of the limit that is."""
    values = program.rows(x)
    lower, upper = program.plain_bounds()
    times = program.plain_times(x)
    amount = np.maximum(np.maximum(lower - values, values - upper), 0.0)
    amount = np.where(np.isnan(amount), np.inf, amount)
    found = []
    for k, group in enumerate(program.groups):
        rows = np.flatnonzero(program.row_group == k)
        if len(rows) == 0:
            continue
        worst = rows[np.argmax(amount[rows])]
        limit = float(upper[worst] if values[worst] > upper[worst] else lower[worst]) + 0.0  # nobody reads "-0"
        found.append(Excess(group, float(amount[worst]), float(values[worst]), limit, float(times[worst])))
    return sorted(found, key=lambda excess: -excess.relative)
