"""Forward dynamics of a short chain, in fewer operations than by articulated subtrees.

Up to about ten joints it is cheaper to make the mass matrix and to solve with it. Four things make it cheap:

- Composite bodies stay rigid: mass (regrouped away), first moment and inertia are handed inward, not 21 numbers.
- Joints *meet* at one link in the middle: wrenches of joints beyond it are carried inward to it, axes of joints
  before it outward to it, and M[i, k] = S_i . F_k there. Either would be longer if carried to the other's link.
- The bias torques are taken at accelerations at which no link's angular acceleration has a part along its joint's axis
  (no part of its origin's acceleration, if prismatic), instead of at none: the zeros spare products, and the equation
  M (a - a0) = tau - tau(a0) asks for no more.
- A vector is turned in its plane by three products instead of four, for one sum more; an angle that varies costs two
  sums more, so of the joints only the one at the meeting is worth it.

Cost of a general chain of six revolute joints: 683 multiplications, 5 divisions and 643 additions, bias included, where
articulated subtrees need 829, 5 and 758. It grows with n^3: `forward` takes it where it needs the fewest operations.

Example::

    a = forward_dynamics(tree, q, v, tau, at_rest(structure), meeting=2)
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from kinecast.dynamics.screws import Passage, composite_inertias, drive
from kinecast.dynamics.spatial.branches import BranchSystem
from kinecast.dynamics.spatial.frames import (
    LinkPose,
    ground_acceleration,
    link_poses,
    turned_in_plane,
    turned_in_three_products,
)
from kinecast.dynamics.spatial.inverse import LinkMotion, body_wrenches, spin_rate
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Tree

Six = Expression  # (6, 1): a wrench (moment; force) or a twist (angular; linear), in the axes of its link


LONGEST = 10  # joints; beyond, articulated subtrees need fewer operations on any chain


def meeting_links(tree: Tree) -> range:
    """The links at which the joints may meet; none where this module's way is not for the tree."""
    return range(len(tree.links) if is_chain(tree) and tree.n <= LONGEST else 0)


def is_chain(tree: Tree) -> bool:
    """Whether every link carries one other at the most, and all joints move."""
    return all(link.parent == k - 1 and link.kind != "fixed" for k, link in enumerate(tree.links))


def forward_dynamics(
    tree: Tree, q: Expression, v: Expression, tau: Expression, around: Surroundings, meeting: int
) -> Expression:
    """Joint accelerations (n, 1) of a chain whose joints meet at link `meeting`."""
    poses = _thrifty(link_poses(tree, q), meeting)
    motions, start = _sparest_motion(tree, poses, v, around)
    wrenches = [ca.vertcat(*w) for w in body_wrenches(tree, poses, motions, around)]
    ways = [Passage(pose) for pose in poses]
    axes = _axes(tree, ways, meeting)
    torque = _torques(tree, ways, axes, wrenches, meeting)
    coordinates = [link.coordinate for link in tree.links]
    for k, link in enumerate(tree.links):
        torque[k] += link.actuator_inertia * start[k]
    system = BranchSystem(tree, _joint_inertias(tree, ways, axes, meeting))
    change = system.solve({c: tau[c] - torque[k] for k, c in enumerate(coordinates)})
    result = ca.SX(tree.n, 1)
    for k, c in enumerate(coordinates):
        result[c] = start[k] + change[c]
    return result


def mass_matrix(tree: Tree, q: Expression, meeting: int) -> Expression:
    """M (n, n) of a chain whose joints meet at link `meeting`."""
    ways = [Passage(pose) for pose in _thrifty(link_poses(tree, q), meeting)]
    return _joint_inertias(tree, ways, _axes(tree, ways, meeting), meeting)


def _joint_inertias(tree: Tree, ways: list[Passage], axes: list[dict[int, Six]], meeting: int) -> Expression:
    """M by coordinates: S_i . F_k, with F_k the wrench that moves composite body k when joint k alone accelerates."""
    n, bodies = len(tree.links), composite_inertias(tree, ways)
    M = ca.SX(n, n)
    for k, link in enumerate(tree.links):
        column: Six = ca.vertcat(*bodies[k].column(2, link.kind))
        M[k, k] = column[drive(link)] + link.actuator_inertia
        at = k
        while at > meeting:
            column, at = ways[at].force(column), at - 1
            M[at, k] = M[k, at] = column[drive(tree.links[at])]
        for i in range(min(k, meeting)):
            M[i, k] = M[k, i] = ca.dot(axes[i][at], column)
    return _by_coordinate(M, [link.coordinate for link in tree.links])


def _thrifty(poses: list[LinkPose], meeting: int) -> list[LinkPose]:
    """Poses that turn in three products: by constant angles, and by that of the meeting joint, passed most often."""

    def constants(c: Expression, s: Expression, x: Expression, y: Expression) -> tuple[Expression, Expression]:
        turned = turned_in_three_products if isinstance(c, float) else turned_in_plane
        return turned(c, s, x, y)

    return [
        replace(pose, in_plane=turned_in_three_products if k == meeting else constants) for k, pose in enumerate(poses)
    ]


def _sparest_motion(
    tree: Tree, poses: list[LinkPose], v: Expression, around: Surroundings
) -> tuple[list[LinkMotion], list[Expression]]:
    """The motion with the accelerations of the joints that leave the most zeros, and these accelerations."""
    parent = LinkMotion(around.base_velocity[:3], around.base_acceleration[:3], ground_acceleration(around))
    rate = spin_rate(parent.w, parent.wd)
    motions, start = [], []
    for link, pose in zip(tree.links, poses, strict=True):
        w, wd = pose.to_child(parent.w), pose.to_child(parent.wd)
        origin = pose.to_child(parent.a + rate @ pose.offset)
        speed = v[link.coordinate]
        if link.kind == "revolute":
            start.append(-wd[2])
            wd = ca.vertcat(wd[0] + w[1] * speed, wd[1] - w[0] * speed, ca.SX(1, 1))
            w = w + ca.vertcat(ca.SX(2, 1), speed)
        rate = spin_rate(w, wd)
        origin = origin + rate[:, 2] * pose.slide
        if link.kind == "prismatic":
            start.append(-origin[2])
            twice = 2 * speed
            origin = ca.vertcat(origin[0] + w[1] * twice, origin[1] - w[0] * twice, ca.SX(1, 1))
        parent = LinkMotion(w, wd, origin)
        motions.append(parent)
    return motions, start


def _axes(tree: Tree, ways: list[Passage], meeting: int) -> list[dict[int, Six]]:
    """Of every joint before the meeting, its axis as a twist in the links from there on: axes[i][k]."""
    axes: list[dict[int, Six]] = []
    for i in range(meeting):
        twist = ca.SX(6, 1)
        twist[drive(tree.links[i])] = 1
        found = {}
        for k in range(i + 1, meeting + 1):
            twist = found[k] = ways[k].motion(twist)
        axes.append(found)
    return axes


def _torques(
    tree: Tree, ways: list[Passage], axes: list[dict[int, Six]], wrenches: list[Six], meeting: int
) -> list[Expression]:
    """What every joint needs for the motion: wrenches beyond the meeting are carried to it, the others stay."""
    torque = [ca.SX(1, 1)] * len(tree.links)
    total = ca.SX(6, 1)
    for k in reversed(range(len(tree.links))):
        total = wrenches[k] + (total if k >= meeting else 0)
        torque[k] = torque[k] + total[drive(tree.links[k])]
        if k <= meeting:
            for i in range(k):
                torque[i] = torque[i] + ca.dot(axes[i][k], total)
        else:
            total = ways[k].force(total)
    return torque


def _by_coordinate(M: Expression, coordinates: list[int]) -> Expression:
    ordered = ca.SX(*M.shape)
    for i, row in enumerate(coordinates):
        for k, column in enumerate(coordinates):
            ordered[row, column] = M[i, k]
    return ordered
