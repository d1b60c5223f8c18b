"""Forward dynamics and the inverse mass matrix by articulated subtrees, O(n) and O(n^2), nothing factorised.

Per joint, with its `Hinge` (U, K = U / D, 1 / D of `articulated`) and the wrench p = [n; f] that its subtree would need
to move as it does with no acceleration of the joints::

    inward    u = tau - p[axis],  p <- p + K u                      then p is handed to the parent
    outward   a' = the parent's extra acceleration,  qdd = u / D - K . a',  a = a' + axis qdd

The inverse mass matrix is the same with p = 0 and one column a joint, of which only one half is computed. The
sensitivities of forward dynamics follow from those of inverse dynamics at the acceleration found::

    d qdd/d tau = M^-1,    d qdd/dq = -M^-1 d tau/dq,    d qdd/dv = -M^-1 d tau/dv

Example::

    qdd = forward_dynamics(tree, q, v, tau, at_rest(structure))
"""

from __future__ import annotations

import casadi as ca

from kinecast.dynamics.spatial import short_chain
from kinecast.dynamics.spatial.articulated import Hinge, hinges
from kinecast.dynamics.spatial.branches import BranchSystem, columns
from kinecast.dynamics.spatial.cheapest import cheapest
from kinecast.dynamics.spatial.frames import Six, link_poses
from kinecast.dynamics.spatial.inertia import beside_sensitivities
from kinecast.dynamics.spatial.inverse import body_wrenches, inverse_dynamics, outward
from kinecast.dynamics.spatial.loads import joint_loads
from kinecast.dynamics.spatial.sensitivities import inverse_dynamics_sensitivities
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Tree

_NOTHING: Six = (ca.SX(3, 1), ca.SX(3, 1))


def forward_dynamics(tree: Tree, q: Expression, v: Expression, tau: Expression, around: Surroundings) -> Expression:
    """Joint accelerations (n, 1) [rad/s2 or m/s2], in the way that needs the fewest operations for this tree."""
    ways = [by_subtrees(tree, q, v, tau, around)]
    ways += [short_chain.forward_dynamics(tree, q, v, tau, around, link) for link in short_chain.meeting_links(tree)]
    return cheapest(ways)


def by_subtrees(tree: Tree, q: Expression, v: Expression, tau: Expression, around: Surroundings) -> Expression:
    """Joint accelerations (n, 1) by articulated subtrees, in O(n)."""
    poses = link_poses(tree, q)
    joints = hinges(tree, poses)
    motions = outward(tree, poses, v, ca.SX(tree.n, 1), around)
    wrenches = body_wrenches(tree, poses, motions, around)
    push: list[Expression | None] = [None] * len(tree.links)
    for k in reversed(range(len(tree.links))):
        link, joint = tree.links[k], joints[k]
        p = wrenches[k]
        if joint is not None:
            push[k] = tau[link.coordinate] - _component(p, joint)
            p = _plus(p, joint, push[k])
        if link.parent >= 0:
            wrenches[link.parent] = _sum(wrenches[link.parent], poses[k].wrench_to_parent(p))
    qdd = ca.SX(tree.n, 1)
    extra: list[Six] = []
    for k, link in enumerate(tree.links):
        a = _NOTHING if link.parent < 0 else poses[k].acceleration_to_child(extra[link.parent])
        joint = joints[k]
        if joint is not None:
            qdd[link.coordinate] = joint.inverse * push[k] - _along_k(joint, a)
            a = _with_joint(a, joint, qdd[link.coordinate])
        extra.append(a)
    return qdd


def forward_dynamics_and_loads(
    tree: Tree, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> tuple[Expression, Expression]:
    """(accelerations (n, 1), joint loads (6 joints, 1)); the tree must be built with ``keep_fixed``."""
    a = by_subtrees(tree, q, v, tau, around)
    return a, joint_loads(tree, q, v, a, around)


def inverse_mass_matrix(tree: Tree, q: Expression) -> Expression:
    """M^-1 (n, n), in O(n^2) and without factorising."""
    poses = link_poses(tree, q)
    joints = hinges(tree, poses)
    inverse = ca.SX(tree.n, tree.n)
    push: list[dict[int, Expression]] = [{} for _ in tree.links]  # u / D, per column
    wrenches: list[dict[int, Six]] = [{} for _ in tree.links]
    for k in reversed(range(len(tree.links))):
        link, joint, mine = tree.links[k], joints[k], wrenches[k]
        if joint is not None:
            push[k] = {c: -joint.inverse * _component(p, joint) for c, p in mine.items()}
            push[k][link.coordinate] = joint.inverse
            mine = {c: _plus(p, joint, -_component(p, joint)) for c, p in mine.items()}
            mine[link.coordinate] = _plus(_NOTHING, joint, ca.SX(1))
        if link.parent >= 0:
            into = wrenches[link.parent]
            for c, p in mine.items():
                into[c] = _sum(into.get(c, _NOTHING), poses[k].wrench_to_parent(p))
    # A column is needed outward where its joint comes later than the row's: the other half is its mirror image.
    rank = {link.coordinate: k for k, link in enumerate(tree.links) if link.coordinate >= 0}
    extra: list[dict[int, Six]] = []
    for k, link in enumerate(tree.links):
        arriving = {} if link.parent < 0 else extra[link.parent]
        columns = [c for c in range(tree.n) if rank[c] >= k]
        mine = {c: poses[k].acceleration_to_child(arriving[c]) for c in columns if c in arriving}
        joint, row = joints[k], link.coordinate
        if joint is not None:
            for c in columns:
                if c not in mine and c not in push[k]:
                    continue
                a = mine.get(c, _NOTHING)
                value = push[k].get(c, ca.SX(1, 1)) - _along_k(joint, a)
                inverse[row, c] = inverse[c, row] = value
                mine[c] = _with_joint(a, joint, value)
        extra.append(mine)
    return inverse


def forward_dynamics_sensitivities(
    tree: Tree, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> tuple[Expression, Expression, Expression, Expression]:
    """(qdd (n, 1), d qdd/dq, d qdd/dv, d qdd/d tau (n, n)).

    The mass matrix is a by-product of the sensitivities of inverse dynamics; solving with it is cheapest here.
    """
    n = tree.n
    system = BranchSystem(tree, beside_sensitivities(tree, q))
    bias = inverse_dynamics(tree, q, v, ca.SX(n, 1), around)
    found = system.solve({k: tau[k] - bias[k] for k in range(n)})
    qdd = ca.vertcat(*(found[k] for k in range(n)))
    _, dq, dv, _ = inverse_dynamics_sensitivities(tree, q, v, qdd, around)
    solved = [ca.SX(n, n), ca.SX(n, n)]
    for result, matrix in zip(solved, (dq, dv), strict=True):
        for c, column in enumerate(columns(ca.sparsify(matrix))):
            for k, value in system.solve(column).items():
                result[k, c] = -value
    return qdd, *solved, system.inverse()


def _component(p: Six, joint: Hinge) -> Expression:
    return p[joint.axis // 3][joint.axis % 3]


def _plus(p: Six, joint: Hinge, u: Expression) -> Six:
    """p + K u."""
    return p[0] + ca.vertcat(*joint.K[:3]) * u, p[1] + ca.vertcat(*joint.K[3:]) * u


def _sum(x: Six, y: Six) -> Six:
    return x[0] + y[0], x[1] + y[1]


def _along_k(joint: Hinge, a: Six) -> Expression:
    return ca.dot(ca.vertcat(*joint.K[:3]), a[0]) + ca.dot(ca.vertcat(*joint.K[3:]), a[1])


def _with_joint(a: Six, joint: Hinge, qdd: Expression) -> Six:
    own = ca.vertcat(ca.SX(2, 1), qdd)
    return (a[0] + own, a[1]) if joint.axis < 3 else (a[0], a[1] + own)
