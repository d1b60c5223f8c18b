"""Forward dynamics by articulated subtrees, O(n), or as a short chain; its sensitivities; the inverse mass matrix.

Per joint, with its `Hinge` (U, K = U / D, 1 / D of `articulated`) and the wrench p = [n; f] that its subtree would need
to move as it does with no acceleration of the joints::

    inward    u = tau - p[axis],  p <- p + K u                      then p is handed to the parent
    outward   a' = the parent's extra acceleration,  qdd = u / D - K . a',  a = a' + axis qdd

The sensitivities of forward dynamics follow from those of inverse dynamics at the acceleration found::

    d qdd/d tau = M^-1,    d qdd/dq = -M^-1 d tau/dq,    d qdd/dv = -M^-1 d tau/dv

Example::

    qdd = forward_dynamics(tree, q, v, tau, at_rest(structure))
"""

from __future__ import annotations

import casadi as ca

from kinecast.dynamics import filtering
from kinecast.dynamics.screws import passages
from kinecast.dynamics.spatial import short_chain
from kinecast.dynamics.spatial.articulated import Hinge, hinges
from kinecast.dynamics.spatial.branches import BranchSystem
from kinecast.dynamics.spatial.cheapest import cheapest
from kinecast.dynamics.spatial.frames import Six, link_poses
from kinecast.dynamics.spatial.inertia import beside_sensitivities, mass_matrix
from kinecast.dynamics.spatial.inverse import body_wrenches, inverse_dynamics, outward
from kinecast.dynamics.spatial.loads import joint_loads
from kinecast.dynamics.spatial.sensitivities import inverse_dynamics_sensitivities
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Tree

LARGEST_FACTORISED = 20  # coordinates; beyond, the inverse keeps to O(n^2): on long chains factors need twice as much
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
    """M^-1 (n, n): by the filter's closed form, in O(n^2) and without factorising, or by factors if that is cheaper."""
    closed_form = filtering.from_gains(tree, passages(tree, q), hinges(tree, link_poses(tree, q)))
    if tree.n > LARGEST_FACTORISED:
        return closed_form
    return cheapest([closed_form, BranchSystem(tree, mass_matrix(tree, q)).inverse()])


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
    return qdd, -system.solve_columns(dq), -system.solve_columns(dv), system.inverse()


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
