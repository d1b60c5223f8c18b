"""Joint limits as events: which coordinate left its range, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

Flags = NDArray[np.bool_]
Path = Callable[[float], Array]  # t -> q (n,) of one mechanism


@dataclass(frozen=True)
class LimitEvent:
    """A coordinate passes a bound [rad or m] on its way out at time `t` [s]; `index` is the member of a batch."""

    t: float
    coordinate: str
    side: Literal["lower", "upper"]
    bound: float
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        which = f" of initial state {', '.join(map(str, self.index))}" if self.index else ""
        return f"{self.coordinate}{which} passes its {self.side} limit {self.bound:g} at t = {self.t:.6g} s"


@dataclass(frozen=True, eq=False)
class Bounds:
    """The ranges (n,) of the coordinates; infinite where there are none."""

    coordinates: tuple[str, ...]
    lower: Array
    upper: Array

    @classmethod
    def of(cls, structure: Structure) -> Bounds | None:
        """The limits of a mechanism's positions; None if it has none at all."""
        ranges = [(-np.inf, np.inf) if joint.limits.q is None else joint.limits.q for joint in structure.movable]
        lower, upper = np.array(ranges, dtype=float).T
        return cls(structure.coordinates, lower, upper) if np.isfinite(ranges).any() else None

    def outside(self, q: Array) -> Flags:
        """Which coordinates (..., n) are out of their range."""
        found: Flags = (q < self.lower) | (q > self.upper)
        return found

    def event(self, t: float, k: int, q: float, index: tuple[int, ...]) -> LimitEvent:
        """The event that coordinate `k` is out of its range at `q`."""
        if q < self.lower[k]:
            return LimitEvent(t, self.coordinates[k], "lower", float(self.lower[k]), index)
        return LimitEvent(t, self.coordinates[k], "upper", float(self.upper[k]), index)

    def passing(self, k: int, begin: float, end: float, path: Path, index: tuple[int, ...]) -> LimitEvent:
        """The event that coordinate `k`, in its range at `begin` and out of it at `end`, leaves it between them."""
        from scipy.optimize import brentq

        there = self.event(end, k, float(path(end)[k]), index)

        def beyond(t: float) -> float:
            return float(path(t)[k]) - there.bound

        # Rounding may put the start of the path on the bound or a hair beyond it.
        at = begin if beyond(begin) * beyond(end) >= 0.0 else float(brentq(beyond, begin, end))
        return LimitEvent(at, there.coordinate, there.side, there.bound, index)


def hermite(begin: float, h: float, q0: Array, v0: Array, q1: Array, v1: Array) -> Path:
    """The cubic through positions and velocities at both ends of a step."""

    def path(t: float) -> Array:
        s = (t - begin) / h
        there: Array = q0 + s * h * v0 + s * s * ((3.0 - 2.0 * s) * (q1 - q0) + h * ((s - 2.0) * v0 + (s - 1.0) * v1))
        return there

    return path
