"""Poses of links with their coordinates put in, applied to vectors as plane rotations of four products each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import cross
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Link, Tree, cos_sin, quarter_turns, turn

X, Z = 0, 2
Six = tuple[Expression, Expression]  # (angular, linear) acceleration, or (moment, force)


# Of cosine, sine and two components: these components after the turn in their plane.
PlaneTurn = Callable[[Expression, Expression, Expression, Expression], tuple[Expression, Expression]]


def turned_in_plane(c: Expression, s: Expression, x: Expression, y: Expression) -> tuple[Expression, Expression]:
    """Four products and two sums."""
    return c * x - s * y, s * x + c * y


def turned_in_three_products(
    c: Expression, s: Expression, x: Expression, y: Expression
) -> tuple[Expression, Expression]:
    """Three products and three sums, k = c (x + y) being in both, and two more sums for an angle that varies."""
    if (isinstance(c, float) and c * s == 0.0) or x.is_zero() or y.is_zero():
        return turned_in_plane(c, s, x, y)
    k = c * (x + y)
    return k - (c + s) * y, k + (s - c) * x


@dataclass(frozen=True, eq=False)
class LinkPose:
    """A link's pose in its parent for one q: rotation Rz(gamma) Rx(alpha) Rz(theta), translation offset + z (d + q)."""

    link: Link
    turns: tuple[tuple[int, Expression, Expression], ...]  # (axis, cosine, sine), the first nearest the parent
    slide: Expression  # along the link's own z, m
    in_plane: PlaneTurn = turned_in_plane

    def to_child(self, x: Expression) -> Expression:
        """Components in the link's axes of a vector given in its parent's."""
        for axis, c, s in self.turns:
            x = rotated(axis, c, -s, x, self.in_plane)
        return x

    def to_parent(self, x: Expression) -> Expression:
        """Components in the parent's axes of a vector given in the link's."""
        for axis, c, s in reversed(self.turns):
            x = rotated(axis, c, s, x, self.in_plane)
        return x

    @property
    def z(self) -> Expression:
        """The joint's axis in the parent's axes: constant."""
        return constant((turn(Z, self.link.gamma) @ turn(X, self.link.alpha))[:, 2])

    @property
    def offset(self) -> Expression:
        """The constant part of the translation that is not along z, in the parent's axes."""
        return constant(self.link.offset)

    @property
    def translation(self) -> Expression:
        """Of the link's origin, in the parent's axes; constant for a revolute joint."""
        return constant(self.link.offset) + self.z * self.slide

    def wrench_to_parent(self, p: Six) -> Six:
        """A wrench (n, f) about the parent's origin, in its axes."""
        n, f = p
        if self.slide.nnz():  # along z, while still in the link's axes: two products
            n = n + ca.vertcat(-self.slide * f[1], self.slide * f[0], ca.SX(1, 1))
        n, f = self.to_parent(n), self.to_parent(f)
        return n + cross(self.offset, f), f

    def acceleration_to_child(self, a: Six) -> Six:
        """Angular acceleration, and acceleration of the link's origin, when the parent starts to move from rest."""
        angular, linear = a
        linear = self.to_child(linear + cross(angular, self.offset))
        angular = self.to_child(angular)
        if self.slide.nnz():
            linear = linear + ca.vertcat(self.slide * angular[1], -self.slide * angular[0], ca.SX(1, 1))
        return angular, linear


def rotated(axis: int, c: Expression, s: Expression, x: Expression, in_plane: PlaneTurn) -> Expression:
    """A vector turned about x or z by the angle whose cosine and sine are given."""
    if axis == X:
        return ca.vertcat(x[0], *in_plane(c, s, x[1], x[2]))
    return ca.vertcat(*in_plane(c, s, x[0], x[1]), x[2])


def link_poses(tree: Tree, q: Expression) -> list[LinkPose]:
    """The poses of all links, fixed turns that are none left out."""
    poses = []
    for link in tree.links:
        fixed = [(Z, *cos_sin(link.gamma)), (X, *cos_sin(link.alpha))]
        slide: Expression = ca.SX(link.d) if link.d else ca.SX(1, 1)
        if link.kind == "revolute":
            fixed.append((Z, *_cos_sin(q[link.coordinate], link.theta)))
        else:
            fixed.append((Z, *cos_sin(link.theta)))
        if link.kind == "prismatic":
            slide = slide + q[link.coordinate]
        turns = tuple(t for t in fixed if not (isinstance(t[1], float) and t[1] == 1.0))
        poses.append(LinkPose(link, turns, slide))
    return poses


def _cos_sin(q: Expression, theta: float) -> tuple[Expression, Expression]:
    """Cosine and sine of q + theta; right angles are taken out, so that zero angles cost no addition."""
    quarter = quarter_turns(theta)
    c, s = (ca.cos(q), ca.sin(q)) if quarter is not None else (ca.cos(q + theta), ca.sin(q + theta))
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarter or 0]


def ground_acceleration(around: Surroundings) -> Expression:
    """Acceleration of the ground frame's origin less gravity: a body at rest feels it as a push upwards."""
    return around.base_acceleration[3:] - around.gravity


def applied_loads(tree: Tree, around: Surroundings) -> dict[int, list[tuple[Expression, Expression, Expression]]]:
    """For each loaded link: (place in the link's frame, force, moment in world axes). Loads on the ground: none."""
    found: dict[int, list[tuple[Expression, Expression, Expression]]] = {}
    for load in around.loads:
        if load.joint is None:
            continue
        body = tree.bodies[load.joint]
        if body.link >= 0:
            at = constant((body.pose @ np.append(load.at, 1.0))[:3])
            found.setdefault(body.link, []).append((at, load.force, load.moment))
    return found
