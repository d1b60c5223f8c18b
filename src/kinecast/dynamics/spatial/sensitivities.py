"""Sensitivities of inverse dynamics to q, v and a: one outward and one inward pass, then one line a pair of joints.

A joint j with a joint i between it and the ground (or j itself): i's coordinate moves j's whole subtree, so

- the *column* of j, what its coordinate does to the wrench its subtree needs, is felt by the axis of i:
  wrenches u1 (for q_j), u2 (for v_j), u3 (for a_j) from its `Composite`, three dot products a pair;
- the *row* of j, what tau_j answers to a change of the motion of its surroundings: that is (w, u3) of j times the
  change that i makes. Turning the subtree about i by dq is the same as turning back the motion of i's parent.

With e the axis of a revolute joint and w, wd, a the motion of its parent at the joint:
s = w x e, k = wd x e + w x s, b = a x e. A change of q_i alters the parent's motion, seen from the subtree, by (s, k,
b); a change of v_i by (e, 2 s); of a_i by e alone. A prismatic joint alters the acceleration by k, 2 s, e.

Cost of a pair of revolute joints at most: 36 multiplications and 31 additions. Nothing of a massless link remains.

Example::

    tau, dq, dv, da = inverse_dynamics_sensitivities(tree, q, v, a, at_rest(structure))     # dq[i, k] = d tau_i / d q_k
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kinecast.dynamics.algebra import cross
from kinecast.dynamics.spatial.composite import (
    Composite,
    ReferenceMotion,
    composites,
    reference_link,
    reference_motion,
    zeros,
)
from kinecast.dynamics.spatial.frames import link_poses
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Link, Tree

Sensitivities = tuple[Expression, Expression, Expression, Expression]


def inverse_dynamics_sensitivities(
    tree: Tree, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Sensitivities:
    """(tau (n, 1), d tau/dq, d tau/dv, d tau/da (n, n)), structural zeros where a joint cannot feel another."""
    poses = link_poses(tree, q)
    motion = reference_motion(tree, poses, v, a, around, reference_link(tree))
    subtree = composites(tree, motion, around)
    place, speed = origins(tree, motion)
    tau, dq, dv, da = zeros(tree.n), zeros(tree.n, tree.n), zeros(tree.n, tree.n), zeros(tree.n, tree.n)
    joints = [joint_change(link, motion, k) for k, link in enumerate(tree.links)]
    felt = [_felt(joints[k], place[k], speed[k]) for k in range(len(tree.links))]
    for j, link in enumerate(tree.links):
        if link.kind == "fixed":
            continue
        column, row = response(joints[j], subtree[j]), _row(joints[j], subtree[j])
        at = link.coordinate
        own = joints[j]
        force = subtree[j].n - subtree[j].N if own.turns else subtree[j].f - subtree[j].F
        tau[at] = ca.dot(own.e, force)
        for matrix, (n, f) in zip((dq, dv, da), column, strict=True):
            matrix[at, at] = ca.dot(own.e, n if own.turns else f)
        if link.actuator_inertia:
            tau[at] += link.actuator_inertia * a[at]
            da[at, at] += link.actuator_inertia
        # Everything about the common origin from here on: that of the reference link.
        column = [(n + cross(place[j], f), f) for n, f in column]
        (n1, f1), (n2, f2), (n3, f3) = column
        w = row[0] + cross(2 * speed[j], f3)
        for i in tree.ancestors(j):
            if tree.links[i].kind == "fixed":
                continue
            to, it = tree.links[i].coordinate, felt[i]
            dq[to, at] = it.axis(n1, f1)
            dv[to, at] = it.axis(n2, f2)
            da[to, at] = da[at, to] = it.axis(n3, f3)
            dq[at, to] = ca.dot(it.s, w) + ca.dot(it.k, n3) + ca.dot(it.k_moment, f3) + ca.dot(it.turn, row[1])
            dv[at, to] = ca.dot(it.turn, w) + ca.dot(it.c, n3) + ca.dot(it.c_moment, f3)
    return tau, dq, dv, da


@dataclass(frozen=True, eq=False)
class JointChange:
    """How a joint's coordinate changes the motion of what it carries (the module's docstring)."""

    turns: bool
    e: Expression
    s: Expression
    k: Expression
    b: Expression

    @property
    def c(self) -> Expression:
        """2 s: the acceleration (angular or linear) that v brings."""
        return self.s + self.s


def joint_change(link: Link, motion: ReferenceMotion, k: int) -> JointChange:
    """Of link k's joint. The acceleration of a revolute joint's origin is the same for parent and child."""
    w, wd, _ = motion.parent(link)
    e = motion.R[k][:, 2]
    s = cross(w, e)
    turns = link.kind == "revolute"
    return JointChange(turns, e, s, cross(wd, e) + cross(w, s), cross(motion.a[k], e) if turns else zeros(3))


def response(joint: JointChange, body: Composite) -> list[tuple[Expression, Expression]]:
    """Columns: change of the subtree's wrench (n; f), about the joint's origin, with the joint's q, v and a."""
    e, k, c = joint.e, joint.k, joint.c
    if joint.turns:
        turned, moved = answer(body, joint.s, k, joint.b)
        u1 = turned + cross(e, body.n) + ca.trace(body.L) * e - body.L @ e, moved + cross(e, body.f)
        u2 = body.J @ c + body.C @ e, cross(c, body.h) + cross(e, body.p2)
        u3 = body.J @ e, cross(e, body.h)
        return [u1, u2, u3]
    u1 = cross(body.h, k) + cross(e, body.f - body.F), body.mass * k
    u2 = cross(body.h, c), body.mass * c
    u3 = cross(body.h, e), body.mass * e
    return [u1, u2, u3]


def answer(body: Composite, s: Expression, k: Expression, b: Expression) -> tuple[Expression, Expression]:
    """Wrench that a subtree asks for when its surroundings turn faster by s, and accelerate by k (angular) and b."""
    return body.J @ k + body.C @ s + cross(body.h, b), cross(k, body.h) + cross(s, body.p2) + body.mass * b


def _row(joint: JointChange, body: Composite) -> tuple[Expression, Expression]:
    """What tau of the joint answers to angular velocity, and to a turn that leaves the loads' directions behind."""
    e = joint.e
    if joint.turns:
        return body.C.T @ e, ca.trace(body.L) * e - body.L.T @ e - cross(e, body.N)
    return cross(body.p2, e), -cross(e, body.F)


@dataclass(frozen=True, eq=False)
class _Felt:
    """A joint as a pair needs it, about the common origin: products with wrenches and rows are plain dot products."""

    e_moment: Expression
    e_force: Expression
    turn: Expression  # e of a revolute joint, else nothing
    s: Expression
    k: Expression
    k_moment: Expression
    c: Expression
    c_moment: Expression

    def axis(self, n: Expression, f: Expression) -> Expression:
        """The part of a wrench that the joint's drive feels."""
        return ca.dot(self.e_moment, n) + ca.dot(self.e_force, f)


def _felt(joint: JointChange, r: Expression, u: Expression) -> _Felt:
    nothing = zeros(3)
    if not joint.turns:
        return _Felt(nothing, joint.e, nothing, nothing, nothing, joint.k, nothing, joint.c)
    k_moment = cross(2 * u, joint.s) + cross(r, joint.k) + joint.b
    c_moment = cross(2 * u, joint.e) + cross(r, joint.c)
    return _Felt(joint.e, cross(r, joint.e), joint.e, joint.s, joint.k, k_moment, joint.c, c_moment)


def origins(tree: Tree, motion: ReferenceMotion) -> tuple[list[Expression], list[Expression]]:
    """Of every link, the place of its origin and its velocity, both relative to those of the reference link."""
    reference = reference_link(tree)
    place: dict[int, Expression] = {reference: zeros(3)}
    speed: dict[int, Expression] = {reference: zeros(3)}
    k = reference
    while k >= 0:
        parent = tree.links[k].parent
        place[parent], speed[parent] = place[k] - motion.d[k], speed[k] - motion.u[k]
        k = parent
    for k, link in enumerate(tree.links):
        if k not in place:
            place[k] = place[link.parent] + motion.d[k]
            speed[k] = speed[link.parent] + motion.u[k]
    order = range(len(tree.links))
    return [place[k] for k in order], [speed[k] for k in order]
