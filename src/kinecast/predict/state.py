"""What a user's function of the state sees: ``plan.require(lambda s: s.point("tip").position[1] >= 0.1)``.

Everything is a CasADi expression: the function is called once, with symbols, then differentiated and compiled.
Torques and joint loads are symbols of their own here, so that their analytic sensitivities are used where they occur.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import joint_rotation_translation
from kinecast.dynamics.surroundings import Expression, constant
from kinecast.errors import InputError
from kinecast.mechanism import Structure


@dataclass(frozen=True, eq=False)
class PointState:
    """A named point: position [m], velocity, acceleration (3, 1) in world axes; rotation (3, 3) of its body."""

    position: Expression
    velocity: Expression
    acceleration: Expression
    rotation: Expression


@dataclass(frozen=True, eq=False)
class JointState:
    """A joint's coordinate: position, velocity, acceleration, and the torque [N m] or force [N] of its drive."""

    q: Expression
    v: Expression
    a: Expression
    tau: Expression


@dataclass(frozen=True, eq=False)
class LoadState:
    """The force [N] and moment [N m] (3, 1) that a joint transmits to its body, at the joint's origin, in body axes."""

    force: Expression
    moment: Expression


@dataclass(frozen=True, eq=False)
class State:
    """The mechanism at one instant: `q`, `v`, `a`, `tau` (n, 1) and the time `t` [s] since the start of the motion."""

    structure: Structure
    q: Expression
    v: Expression
    a: Expression
    t: Expression
    tau: Expression
    loads: Expression  # (6 joints, 1): [mx, my, mz, fx, fy, fz] of every joint

    def joint(self, name: str) -> JointState:
        """The joint called `name`, which must be one that moves."""
        self.structure.joint(name)
        if name not in self.structure.coordinates:
            raise InputError(f"joint {name!r} is fixed: it has no position, velocity, acceleration or torque")
        k = self.structure.coordinates.index(name)
        return JointState(self.q[k], self.v[k], self.a[k], self.tau[k])

    def load(self, name: str) -> LoadState:
        """What the joint called `name` transmits to its body."""
        k = self.structure.joints.index(self.structure.joint(name))
        load = self.loads[6 * k : 6 * k + 6]
        return LoadState(load[3:], load[:3])

    def point(self, name: str) -> PointState:
        """The point called `name` (a joint's name: the origin of its body)."""
        point = self.structure.point(name)
        rotation, origin = self._poses[point.joint]
        position = origin + rotation @ constant(point.at)
        velocity = self._rate(position)
        return PointState(position, velocity, self._rate(velocity), rotation)

    @property
    def center_of_mass(self) -> Expression:
        """Of the whole mechanism, (3, 1) [m] in world axes."""
        moment = ca.SX(3, 1)
        for joint in self.structure.joints:
            rotation, origin = self._poses[joint.name]
            moment += joint.mass * (origin + rotation @ constant(joint.com))
        return moment / self.structure.mass

    def _rate(self, x: Expression) -> Expression:
        """The time derivative of what depends on q and v."""
        return ca.jtimes(x, ca.vertcat(self.q, self.v), ca.vertcat(self.v, self.a))

    @cached_property
    def _poses(self) -> dict[str | None, tuple[Expression, Expression]]:
        """Rotation and origin of every body in world axes."""
        poses: dict[str | None, tuple[Expression, Expression]] = {None: (constant(np.eye(3)), ca.SX(3, 1))}
        for i in self.structure.order:
            joint = self.structure.joints[i]
            rotation, origin = poses[joint.parent]
            q = self.q[self.structure.coordinates.index(joint.name)] if joint.moves else None
            turned, moved = joint_rotation_translation(joint, q)
            poses[joint.name] = rotation @ turned, origin + rotation @ moved
        return poses


def answer_of(function: Callable[[State], Any], state: State, where: str) -> Any:
    """What a user's function makes of the symbols."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # CasADi's, on NumPy's functions of its symbols: they work
        try:
            return function(state)
        except RuntimeError as error:
            if "truth value" not in str(error):
                raise
            raise InputError(
                f"{where} asks whether an expression is true (if, and, or, not, a < b < c), which nothing knows before "
                "there is a motion; several comparisons go in a list"
            ) from None


def conditions(answer: object, where: str) -> list[tuple[Expression, float, float]]:
    """(expression, lower, upper) of what a requirement returned: comparisons, or several of them in a list."""
    if isinstance(answer, (list, tuple)):
        return [condition for part in answer for condition in conditions(part, where)]
    if not isinstance(answer, ca.SX):
        raise InputError(
            f"{where} must return comparisons such as s.q[0] <= 1, got {answer!r}; "
            "two-sided bounds are two comparisons in a list"
        )
    found = []
    for k in range(answer.numel()):
        entry = answer[k]
        bounds = {ca.OP_LE: (-np.inf, 0.0), ca.OP_LT: (-np.inf, 0.0), ca.OP_EQ: (0.0, 0.0)}
        if not entry.is_op(ca.OP_LE) and not entry.is_op(ca.OP_LT) and not entry.is_op(ca.OP_EQ):
            raise InputError(f"{where} must return comparisons (<=, >=, ==), got the expression {entry}")
        found.append((entry.dep(0) - entry.dep(1), *bounds[entry.op()]))
    return found
