"""Composite quantities: what a subtree, moving as it does, answers to a change of its root's motion.

A subtree's particles (mass m, place x, velocity xd, force f needed) enter its inverse dynamics and all first
derivatives of it through these sums alone, taken about the origin of a joint and seen by an observer that moves with
that origin::

    mass = sum m            h = sum m x             P = sum m x x^T
    p = sum m xd            G = sum m xd x^T        f = sum f, n = sum x x f
    load: F = sum F_k, N = sum (N_k + x_k x F_k), L = sum x_k F_k^T     (loads F_k, N_k keep their direction in space)

An observer's own steady motion changes no force, so neither velocities nor accelerations of frames need six components.
In particular the answer to a change dw of all angular velocities is twice the Coriolis force: force 2 dw x p, moment
2 (tr(G) - G) dw; twelve numbers stand where the usual derivation carries a 6 x 6 matrix.

All vectors have the axes of one *reference link*, as they are at the instant looked at: a fixed frame, like the
world's, but one in which the axes of nearby joints have constant zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import cross, skew
from kinecast.dynamics.spatial.frames import LinkPose, applied_loads, ground_acceleration
from kinecast.dynamics.spatial.inverse import spin_rate
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Link, Tree


def zeros(rows: int, columns: int = 1) -> Expression:
    """A structurally empty matrix."""
    return ca.SX(rows, columns)


@dataclass(frozen=True, eq=False)
class Composite:
    """The sums of the module's docstring, about one origin."""

    mass: Expression = field(default_factory=lambda: zeros(1))
    h: Expression = field(default_factory=lambda: zeros(3))
    P: Expression = field(default_factory=lambda: zeros(3, 3))
    p: Expression = field(default_factory=lambda: zeros(3))
    G: Expression = field(default_factory=lambda: zeros(3, 3))
    n: Expression = field(default_factory=lambda: zeros(3))
    f: Expression = field(default_factory=lambda: zeros(3))
    F: Expression = field(default_factory=lambda: zeros(3))
    N: Expression = field(default_factory=lambda: zeros(3))
    L: Expression = field(default_factory=lambda: zeros(3, 3))

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.mass + other.mass, self.h + other.h, self.P + other.P, self.p + other.p, self.G + other.G,
            self.n + other.n, self.f + other.f, self.F + other.F, self.N + other.N, self.L + other.L,
        )  # fmt: skip

    def seen_from(self, d: Expression, u: Expression) -> Composite:
        """The same about an origin from which this one is at `d` and moves with the velocity `u`."""
        h = self.h + self.mass * d
        p = self.p + self.mass * u
        return Composite(
            self.mass,
            h,
            _symmetric(self.P, self.h @ d.T, d @ h.T),
            p,
            self.G + u @ h.T + self.p @ d.T,
            self.n + cross(d, self.f),
            self.f,
            self.F,
            self.N + cross(d, self.F),
            self.L + d @ self.F.T,
        )

    @cached_property
    def J(self) -> Expression:
        """Inertia about the origin: the moment that an angular acceleration asks for, tr(P) - P."""
        trace = ca.trace(self.P)
        return ca.horzcat(*(ca.vertcat(*((trace if i == k else 0) - self.P[i, k] for i in range(3))) for k in range(3)))

    @cached_property
    def C(self) -> Expression:
        """2 (tr(G) - G): the moment that a change of the angular velocity asks for."""
        G2 = self.G + self.G
        trace = ca.trace(G2)
        return ca.horzcat(*(ca.vertcat(*((trace if i == k else 0) - G2[i, k] for i in range(3))) for k in range(3)))

    @cached_property
    def p2(self) -> Expression:
        """Twice the momentum."""
        return self.p + self.p


def _symmetric(P: Expression, a: Expression, b: Expression) -> Expression:
    """P + a + b, of which the upper triangle is computed and the lower one copied."""
    upper = ca.triu(P + a + b)
    return upper + ca.triu(upper, False).T


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Kinematics in the axes of one link: of link k, R[k] takes its axes to those; the others as in `LinkMotion`.

    d[k] leads from the origin of the parent (or of the ground) to that of k, and u[k] is the velocity of this change.
    """

    R: list[Expression]
    ground: Expression  # (3, 3): world axes to the reference's
    w: list[Expression]
    wd: list[Expression]
    a: list[Expression]
    d: list[Expression]
    u: list[Expression]
    ground_w: Expression
    ground_wd: Expression
    ground_a: Expression

    def parent(self, link: Link) -> tuple[Expression, Expression, Expression]:
        """(w, wd, a) of a link's parent."""
        if link.parent < 0:
            return self.ground_w, self.ground_wd, self.ground_a
        return self.w[link.parent], self.wd[link.parent], self.a[link.parent]


def reference_link(tree: Tree) -> int:
    """The first link with mass on the way from the ground into the largest subtree.

    Joints between it and the ground then have axes of one or two components, as have those that follow; measured, no
    other choice gave fewer operations on chains, humanoids and arms on rails.
    """
    weight = [1] * len(tree.links)
    for k in reversed(range(len(tree.links))):
        if tree.links[k].parent >= 0:
            weight[tree.links[k].parent] += weight[k]
    k = max((k for k, link in enumerate(tree.links) if link.parent < 0), key=weight.__getitem__)
    while tree.links[k].massless and tree.children[k]:
        k = max(tree.children[k], key=weight.__getitem__)
    return k


def reference_rotations(tree: Tree, poses: list[LinkPose], reference: int) -> tuple[list[Expression], Expression]:
    """Rotations of all links, and of the ground, into the axes of the reference link."""
    R: dict[int, Expression] = {reference: constant(np.eye(3))}
    k = reference
    while k >= 0:  # towards the ground: R_parent = R_k (R_k in parent)^T, row by row
        parent = tree.links[k].parent
        R[parent] = ca.vertcat(*(poses[k].to_parent(R[k][row, :].T).T for row in range(3)))
        k = parent
    for k, link in enumerate(tree.links):
        if k not in R:
            R[k] = ca.vertcat(*(poses[k].to_child(R[link.parent][row, :].T).T for row in range(3)))
    return [R[k] for k in range(len(tree.links))], R[-1]


def reference_motion(
    tree: Tree, poses: list[LinkPose], v: Expression, a: Expression, around: Surroundings, reference: int
) -> ReferenceMotion:
    """The motion of all links in the axes of the reference link."""
    R, ground = reference_rotations(tree, poses, reference)
    motion = ReferenceMotion(
        R, ground, [], [], [], [], [],
        ground @ around.base_velocity[:3], ground @ around.base_acceleration[:3], ground @ ground_acceleration(around),
    )  # fmt: skip
    for k, (link, pose) in enumerate(zip(tree.links, poses, strict=True)):
        parent_R = ground if link.parent < 0 else R[link.parent]
        w, wd, origin = motion.parent(link)
        d = parent_R @ pose.translation
        u = cross(w, d)
        origin = origin + cross(wd, d) + cross(w, u)
        if link.kind == "revolute":
            vj, aj = v[link.coordinate], a[link.coordinate]
            e = R[k][:, 2]
            turned = e * vj
            wd = wd + e * aj + cross(w, turned)
            w = w + turned
        elif link.kind == "prismatic":
            vj, aj = v[link.coordinate], a[link.coordinate]
            e = R[k][:, 2]
            slid = e * vj
            origin = origin + e * aj + 2 * cross(w, slid)
            u = u + slid
        motion.w.append(w)
        motion.wd.append(wd)
        motion.a.append(origin)
        motion.d.append(d)
        motion.u.append(u)
    return motion


def body_composite(link: Link, R: Expression, w: Expression, wd: Expression, a: Expression) -> Composite:
    """A link's own sums about its origin."""
    if link.massless:
        return Composite()
    m, s = constant(np.array(link.mass)), constant(link.pseudo_inertia[:3, 3])
    h = R @ s
    half = R @ constant(link.pseudo_inertia[:3, :3])
    P = _symmetric(half @ R.T, zeros(3, 3), zeros(3, 3))
    E = spin_rate(w, wd)
    EP = E @ P
    n = cross(h, a) + ca.vertcat(EP[2, 1] - EP[1, 2], EP[0, 2] - EP[2, 0], EP[1, 0] - EP[0, 1])
    return Composite(m, h, P, cross(w, h), skew(w) @ P, n, m * a + E @ h)


def composites(tree: Tree, motion: ReferenceMotion, around: Surroundings) -> list[Composite]:
    """The composite of every link's subtree about the link's origin, from the tips inward."""
    found = [
        body_composite(link, motion.R[k], motion.w[k], motion.wd[k], motion.a[k]) for k, link in enumerate(tree.links)
    ]
    for k, loads in applied_loads(tree, around).items():
        for at, force, moment in loads:
            x, F, N = motion.R[k] @ at, motion.ground @ force, motion.ground @ moment
            found[k] += Composite(F=F, N=N + cross(x, F), L=x @ F.T)
    for k in reversed(range(len(tree.links))):
        parent = tree.links[k].parent
        if parent >= 0:
            found[parent] += found[k].seen_from(motion.d[k], motion.u[k])
    return found
