"""What acts on a mechanism from outside: gravity, loads at points, the motion of the ground it stands on.

Every formulation takes one `Surroundings` in place of a handful of loose arguments. All vectors are CasADi columns
(symbols when traced, numbers when tried out) in world axes, which are the axes of the ground frame at the instant
looked at; SI units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kinecast.mechanism import Structure

Expression = Any  # a casadi SX or DM: CasADi publishes no types


@dataclass(frozen=True, eq=False)
class AppliedLoad:
    """A force [N] and a moment [N m] that the surroundings exert ON the body of `joint` (None: on the ground).

    They act at the place `at` (3,) [m, body axes]; force and moment (3, 1) have world axes: they do not turn with it.
    """

    joint: str | None
    at: np.ndarray
    force: Expression
    moment: Expression


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Gravity (3, 1) [m/s2], motion of the ground frame (6, 1) (angular; linear) [rad/s, m/s] and its rate, and loads.

    A ground at rest has structurally empty vectors, so that nothing of it is left in a traced program.
    """

    gravity: Expression
    base_velocity: Expression
    base_acceleration: Expression
    loads: tuple[AppliedLoad, ...] = ()

    @property
    def base_turns(self) -> bool:
        """Whether the ground may turn: with a turning ground every entry of every inertia matters."""
        return bool(self.base_velocity[:3].nnz() or self.base_acceleration[:3].nnz())


def at_rest(structure: Structure, loads: Sequence[AppliedLoad] = ()) -> Surroundings:
    """The structure's own gravity, a ground at rest, and these loads."""
    return Surroundings(constant(structure.gravity), ca.SX(6, 1), ca.SX(6, 1), tuple(loads))


def nothing() -> Surroundings:
    """No gravity, a ground at rest, no loads."""
    return Surroundings(ca.SX(3, 1), ca.SX(6, 1), ca.SX(6, 1))


def constant(values: Any) -> Expression:
    """Numbers as an SX whose zeros are structural, so that products with them vanish when traced."""
    return ca.SX(ca.sparsify(ca.DM(np.asarray(values, dtype=float))))
