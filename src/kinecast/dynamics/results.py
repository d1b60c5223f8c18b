"""What goes in beside the state, and what comes out beside values: loads, a moving ground, sensitivities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kinecast.mechanism.checks import Array, read_only

_NO_MOMENT = read_only(np.zeros(3))
_AT_REST = read_only(np.zeros(6))


@dataclass(frozen=True, eq=False)
class Load:
    """A force [N] and a moment [N m] (..., 3) that the surroundings exert ON the body at a named point or body.

    World axes: they do not turn with the body. Leading axes are batch axes.
    """

    point: str
    force: ArrayLike = field(default_factory=lambda: _NO_MOMENT)
    moment: ArrayLike = field(default_factory=lambda: _NO_MOMENT)


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Motion of the ground frame (..., 6): (angular; linear) velocity [rad/s, m/s] and its rate [rad/s2, m/s2].

    World axes, which coincide with the ground's at the instant looked at. The linear parts belong to its origin.
    """

    velocity: ArrayLike = field(default_factory=lambda: _AT_REST)
    acceleration: ArrayLike = field(default_factory=lambda: _AT_REST)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """The entries of a batch of matrices that are not structurally zero: `values` (..., entries) at `positions`.

    `positions[k]` are the indices (i, k) or (joint, component, k) of entry k; `shape` is that of one matrix.
    """

    values: Array
    positions: tuple[np.ndarray, ...]
    shape: tuple[int, ...]

    def dense(self) -> Array:
        """The matrices (..., *shape) with their zeros."""
        result = np.zeros(self.values.shape[:-1] + self.shape)
        where: tuple[Any, ...] = (..., *self.positions)
        result[where] = self.values
        return result


M = TypeVar("M", Array, SparseMatrix)


@dataclass(frozen=True, eq=False)
class Sensitivities(Generic[M]):
    """Derivatives by position, velocity and acceleration: [..., i, k] is that of output i by coordinate k."""

    q: M
    v: M
    a: M


@dataclass(frozen=True, eq=False)
class ForwardSensitivities(Generic[M]):
    """Derivatives of accelerations by position, velocity and torque: [..., i, k] that of a_i by coordinate k."""

    q: M
    v: M
    tau: M
