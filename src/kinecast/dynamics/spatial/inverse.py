"""Inverse dynamics by Newton and Euler, outward and inward once, in the frames of the links.

Per link k, all in its own axes and at its own origin:

| symbol | what | unit |
|---|---|---|
| w, wd | angular velocity and acceleration | rad/s, rad/s2 |
| a | acceleration of the origin less gravity | m/s2 |
| E | [wd x] + [w x]^2: a point at r accelerates with a + E r | 1/s2 |
| Sigma, s, m | second, first and zeroth moment of mass about the origin | kg m2, kg m, kg |
| f, n | wrench that the parent transmits: f = m a + E s + ..., n = s x a + vee(E Sigma) + ... | N, N m |

The moment needs no inertia matrix: sum over particles of r x E r = vee(E Sigma - (E Sigma)^T), fifteen products.
Cost over the regrouped tree of a general chain of n > 2 revolute joints, the first one vertical: 86 n - 126
multiplications and 74 n - 118 additions, as `kinecast ops` counts them.

Example::

    tree = regrouped(build(structure))
    q, v, a = (casadi.SX.sym(x, tree.n) for x in "qva")
    tau = inverse_dynamics(tree, q, v, a, at_rest(structure))
    casadi.Function("id", [q, v, a], [tau])
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import cross
from kinecast.dynamics.spatial.frames import LinkPose, applied_loads, ground_acceleration, link_poses
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Link, Tree


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """Angular velocity and acceleration of a link, and the acceleration of its origin less gravity, in its own axes."""

    w: Expression
    wd: Expression
    a: Expression


def inverse_dynamics(tree: Tree, q: Expression, v: Expression, a: Expression, around: Surroundings) -> Expression:
    """tau (n, 1) [N m or N] of a motion; structural zeros where a joint feels nothing."""
    poses = link_poses(tree, q)
    wrenches = transmitted_wrenches(tree, poses, outward(tree, poses, v, a, around), around)
    return joint_torques(tree, wrenches, a)


def joint_torques(tree: Tree, wrenches: list[tuple[Expression, Expression]], a: Expression) -> Expression:
    """What the joints' drives give of the wrenches (n; f): the part along the axis, and what turns their own rotors."""
    tau = ca.SX(tree.n, 1)
    for link, (n, f) in zip(tree.links, wrenches, strict=True):
        if link.coordinate >= 0:
            tau[link.coordinate] = (n if link.kind == "revolute" else f)[2]
            if link.actuator_inertia:
                tau[link.coordinate] += link.actuator_inertia * a[link.coordinate]
    return tau


def outward(tree: Tree, poses: list[LinkPose], v: Expression, a: Expression, around: Surroundings) -> list[LinkMotion]:
    """The motion of every link, from the ground outward."""
    ground = LinkMotion(around.base_velocity[:3], around.base_acceleration[:3], ground_acceleration(around))
    motions: list[LinkMotion] = []
    rates: list[Expression] = []
    ground_rate = spin_rate(ground.w, ground.wd)
    for link, pose in zip(tree.links, poses, strict=True):
        parent = ground if link.parent < 0 else motions[link.parent]
        rate = ground_rate if link.parent < 0 else rates[link.parent]
        w, wd = pose.to_child(parent.w), pose.to_child(parent.wd)
        origin = pose.to_child(parent.a + rate @ pose.offset)
        if link.kind == "revolute":
            vj, aj = v[link.coordinate], a[link.coordinate]
            wd = wd + ca.vertcat(w[1] * vj, -w[0] * vj, aj)  # e qdd + w x e qd
            w = w + ca.vertcat(ca.SX(2, 1), vj)
        elif link.kind == "prismatic":
            vj, aj = v[link.coordinate], a[link.coordinate]
            twice = 2 * vj
            origin = origin + ca.vertcat(w[1] * twice, -w[0] * twice, aj)  # e qdd + 2 w x e qd
        rates.append(spin_rate(w, wd))
        # Places on a revolute joint's axis move with parent and child alike: the child's rate serves for the slide.
        motions.append(LinkMotion(w, wd, origin + rates[-1][:, 2] * pose.slide))
    return motions


def spin_rate(w: Expression, wd: Expression) -> Expression:
    """E = [wd x] + [w x]^2, (3, 3)."""
    xx, yy, zz = w[0] ** 2, w[1] ** 2, w[2] ** 2
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return ca.vertcat(
        ca.horzcat(-(yy + zz), xy - wd[2], xz + wd[1]),
        ca.horzcat(xy + wd[2], -(xx + zz), yz - wd[0]),
        ca.horzcat(xz - wd[1], yz + wd[0], -(xx + yy)),
    )


def body_wrench(link: Link, motion: LinkMotion) -> tuple[Expression, Expression]:
    """(n, f) that moves a link's own mass: rate of its angular momentum about the origin, and of its momentum."""
    if link.massless:
        return ca.SX(3, 1), ca.SX(3, 1)
    E, w = spin_rate(motion.w, motion.wd), motion.w
    sigma, s = link.pseudo_inertia[:3, :3], constant(link.pseudo_inertia[:3, 3])
    squares = [w[k] ** 2 for k in range(3)]
    n = cross(s, motion.a)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        # vee(E Sigma)_i, with E_kk - E_jj = w_k^2 - w_j^2
        n[i] += (
            E[k, i] * sigma[i, j]
            - E[j, i] * sigma[i, k]
            + (squares[k] - squares[j]) * sigma[j, k]
            + E[k, j] * sigma[j, j]
            - E[j, k] * sigma[k, k]
        )
    return n, constant(np.array(link.mass)) * motion.a + E @ s


def body_wrenches(
    tree: Tree, poses: list[LinkPose], motions: list[LinkMotion], around: Surroundings
) -> list[tuple[Expression, Expression]]:
    """(n, f) that each link needs by itself for its motion, less the loads on it; at its origin, in its axes."""
    wrenches = [body_wrench(link, motion) for link, motion in zip(tree.links, motions, strict=True)]
    for k, applied in applied_loads(tree, around).items():
        n, f = wrenches[k]
        for at, force, moment in applied:
            force, moment = (_to_link(tree, poses, k, x) for x in (force, moment))
            n, f = n - moment - cross(at, force), f - force
        wrenches[k] = n, f
    return wrenches


def transmitted_wrenches(
    tree: Tree, poses: list[LinkPose], motions: list[LinkMotion], around: Surroundings
) -> list[tuple[Expression, Expression]]:
    """(n, f) that each link's parent exerts on it, at the link's origin, in its axes; from the tips inward."""
    wrenches = body_wrenches(tree, poses, motions, around)
    for k in reversed(range(len(tree.links))):
        parent = tree.links[k].parent
        if parent >= 0:
            n, f = poses[k].wrench_to_parent(wrenches[k])
            n_parent, f_parent = wrenches[parent]
            wrenches[parent] = n_parent + n, f_parent + f
    return wrenches


def _to_link(tree: Tree, poses: list[LinkPose], k: int, x: Expression) -> Expression:
    """A vector of world axes in the axes of link k."""
    for i in [*reversed(tree.ancestors(k)), k]:
        x = poses[i].to_child(x)
    return x
