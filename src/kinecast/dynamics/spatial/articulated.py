"""Articulated inertia: what a subtree with free joints weighs to whoever pulls at its root, in the frames of the links.

A wrench (n; f) = [[J, B], [B^T, M]] (wd; a) moves the root of a subtree whose joints give way. J and M are symmetric.
The recursion goes inward: add up the children, eliminate the joint (U = column of its axis, D = U along the axis), then
move to the parent's frame by one slide or one plane rotation at a time, where each costs least.

Velocities do not appear: accelerations follow from torques less the *bias* torques (inverse dynamics at rest
accelerations), and the articulated problem is then linear and at rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from kinecast.dynamics.spatial.frames import LinkPose, PlaneTurn, Z
from kinecast.dynamics.surroundings import Expression
from kinecast.dynamics.tree import Link, Tree

Rows = tuple[tuple[Expression, ...], ...]  # a (3, 3) matrix by its entries
_NIL = ca.SX(0)


@dataclass(frozen=True, eq=False)
class Articulated:
    """J and M as full symmetric rows (entries shared), B[i][k]: moment i of acceleration k."""

    J: Rows
    B: Rows
    M: Rows

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(_added(self.J, other.J, True), _added(self.B, other.B), _added(self.M, other.M, True))

    def column(self, axis: int, kind: str) -> list[Expression]:
        """Wrench [n; f] that a unit acceleration of a joint along z (axis 2) asks for."""
        if kind == "revolute":
            return [*(self.J[i][axis] for i in range(3)), *(self.B[axis][i] for i in range(3))]
        return [*(self.B[i][axis] for i in range(3)), *(self.M[i][axis] for i in range(3))]


def _matrix(entry: Callable[[int, int], Expression], symmetric: bool = False) -> Rows:
    rows = [[entry(i, k) if k >= i or not symmetric else None for k in range(3)] for i in range(3)]
    return tuple(tuple(rows[min(i, k)][max(i, k)] if symmetric else rows[i][k] for k in range(3)) for i in range(3))


def _added(x: Rows, y: Rows, symmetric: bool = False) -> Rows:
    return _matrix(lambda i, k: x[i][k] + y[i][k], symmetric)


def rigid(link: Link) -> Articulated:
    """A link by itself: inertia, moment of the linear acceleration (first moment), mass."""
    sigma, s, m = link.pseudo_inertia[:3, :3], link.pseudo_inertia[:3, 3], link.mass
    trace = sigma.trace()
    J = _matrix(lambda i, k: ca.SX((trace if i == k else 0.0) - sigma[i, k]), True)
    tilde = ((0.0, -s[2], s[1]), (s[2], 0.0, -s[0]), (-s[1], s[0], 0.0))
    return Articulated(
        J, _matrix(lambda i, k: ca.SX(tilde[i][k])), _matrix(lambda i, k: ca.SX(m if i == k else 0.0), True)
    )


@dataclass(frozen=True, eq=False)
class Hinge:
    """A joint and what it carries: U = wrench [n; f] of its unit acceleration, D = U[axis] + rotor, K = U / D.

    Without a rotor K[axis] is exactly 1: the subtree then resists no acceleration along the axis.
    """

    axis: int  # place of the joint's axis in [n; f]
    U: list[Expression]
    K: list[Expression]
    inverse: Expression  # 1 / D
    rotor: float


def hinge(body: Articulated, link: Link) -> Hinge:
    """The joint of a link on its articulated subtree."""
    axis = Z if link.kind == "revolute" else 3 + Z
    U = body.column(Z, link.kind)
    inverse = 1 / (U[axis] + link.actuator_inertia)
    K = [inverse * u for u in U]
    if not link.actuator_inertia:
        K[axis] = ca.SX(1)
    return Hinge(axis, U, K, inverse, link.actuator_inertia)


def eliminated(body: Articulated, joint: Hinge) -> Articulated:
    """The joint gives way: body - U K^T."""

    def less(value: Expression, i: int, k: int) -> Expression:
        if not joint.rotor and joint.axis in (i, k):
            return _NIL
        return value - joint.U[i] * joint.K[k]

    return Articulated(
        _matrix(lambda i, k: less(body.J[i][k], i, k), True),
        _matrix(lambda i, k: less(body.B[i][k], i, 3 + k)),
        _matrix(lambda i, k: less(body.M[i][k], 3 + i, 3 + k), True),
    )


def in_parent(body: Articulated, pose: LinkPose) -> Articulated:
    """The same seen from the parent's origin in the parent's axes."""
    if pose.slide.nnz():
        body = _slid(body, Z, pose.slide)
    for axis, c, s in reversed(pose.turns):
        J, M = (_turned_symmetric(x, axis, c, s, pose.in_plane) for x in (body.J, body.M))
        body = Articulated(J, _turned(body.B, axis, c, s), M)
    for axis, distance in enumerate(pose.link.offset):
        if distance:
            body = _slid(body, axis, ca.SX(distance))
    return body


def _turned_symmetric(x: Rows, axis: int, c: Expression, s: Expression, in_plane: PlaneTurn) -> Rows:
    """R x R^T for a plane rotation and a symmetric matrix, in eight products."""
    i, k = (axis + 1) % 3, (axis + 2) % 3
    w = s * (x[i][i] - x[k][k]) + c * (x[i][k] + x[i][k])
    t = s * w
    y = [[*row] for row in x]
    y[i][i], y[k][k] = x[i][i] - t, x[k][k] + t
    y[i][k] = y[k][i] = c * w - x[i][k]
    y[i][axis], y[k][axis] = y[axis][i], y[axis][k] = in_plane(c, s, x[i][axis], x[k][axis])
    return tuple(tuple(row) for row in y)


def _turned(x: Rows, axis: int, c: Expression, s: Expression) -> Rows:
    """R x R^T for a plane rotation and any matrix, in twelve products (trace and twist in the plane stay)."""
    i, k = (axis + 1) % 3, (axis + 2) % 3
    both = x[i][k] + x[k][i]
    w = s * (x[i][i] - x[k][k]) + c * both
    t, change = s * w, c * w - both
    y = [[*row] for row in x]
    y[i][i], y[k][k] = x[i][i] - t, x[k][k] + t
    y[i][k], y[k][i] = x[i][k] + change, x[k][i] + change
    y[i][axis], y[k][axis] = c * x[i][axis] - s * x[k][axis], s * x[i][axis] + c * x[k][axis]
    y[axis][i], y[axis][k] = c * x[axis][i] - s * x[axis][k], s * x[axis][i] + c * x[axis][k]
    return tuple(tuple(row) for row in y)


def _slid(body: Articulated, axis: int, d: Expression) -> Articulated:
    """About an origin from which the old one is d along an axis: B' = B + [d x] M, J' = J - B [d x] + [d x] B'^T."""
    i, k = (axis + 1) % 3, (axis + 2) % 3
    J, B, M = [[*r] for r in body.J], [[*r] for r in body.B], body.M
    for column in range(3):
        B[i][column] = body.B[i][column] - d * M[k][column]
        B[k][column] = body.B[k][column] + d * M[i][column]
    J[axis][i] = J[i][axis] = body.J[axis][i] - d * body.B[axis][k]
    J[axis][k] = J[k][axis] = body.J[axis][k] + d * body.B[axis][i]
    J[i][i] = body.J[i][i] - d * (body.B[i][k] + B[i][k])
    J[k][k] = body.J[k][k] + d * (body.B[k][i] + B[k][i])
    J[i][k] = J[k][i] = body.J[i][k] + d * (body.B[i][i] - B[k][k])
    return Articulated(tuple(map(tuple, J)), tuple(map(tuple, B)), M)


def hinges(tree: Tree, poses: list[LinkPose]) -> list[Hinge | None]:
    """The joints on their articulated subtrees (None: fixed), from the tips inward."""
    bodies = [rigid(link) for link in tree.links]
    found: list[Hinge | None] = [None] * len(tree.links)
    for k in reversed(range(len(tree.links))):
        link, body = tree.links[k], bodies[k]
        if link.kind != "fixed":
            found[k] = joint = hinge(body, link)
            body = eliminated(body, joint)
        if link.parent >= 0:
            bodies[link.parent] += in_parent(body, poses[k])
    return found
