"""Joint loads: the force and moment that each joint's parent body exerts on its child, and their sensitivities.

A load is taken at the joint's origin: of a joint given by standard Denavit-Hartenberg constants the origin of the
parent's frame (frame j - 1), else that of the child's own. Its axes are the child's, or the world's. All joints of the
structure have one, fixed ones too: the tree must be built with ``keep_fixed``, and not be regrouped.

Sensitivities follow the two cases of `sensitivities`: a joint below adds its column, shifted; a joint above, or the
joint itself, changes the surroundings of the whole subtree, which answers with all six components. In the child's axes
a turn of the surroundings is felt as one of gravity, the ground and the loads, the other way round.

Example::

    load = joint_loads(tree, q, v, a, around)          # (6 * joints, 1): mx, my, mz, fx, fy, fz of joint after joint
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import cross
from kinecast.dynamics.spatial.composite import (
    Composite,
    composites,
    reference_link,
    reference_motion,
    zeros,
)
from kinecast.dynamics.spatial.frames import LinkPose, link_poses
from kinecast.dynamics.spatial.inverse import outward, transmitted_wrenches
from kinecast.dynamics.spatial.sensitivities import JointChange, answer, joint_change, origins, response
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Tree, rest_pose


def joint_loads(
    tree: Tree, q: Expression, v: Expression, a: Expression, around: Surroundings, world: bool = False
) -> Expression:
    """(6 joints, 1): moment [N m], force [N] of every joint of the structure, in the child's or the world's axes."""
    poses = link_poses(tree, q)
    wrenches = transmitted_wrenches(tree, poses, outward(tree, poses, v, a, around), around)
    rows = []
    for k in tree.carriers:
        n, f = wrenches[k]
        n = n - cross(joint_origin(tree, poses[k], k), f)
        if world:
            n, f = (_to_world(tree, poses, k, x) for x in (n, f))
        else:
            axes = constant(tree.links[k].body[:3, :3].T)
            n, f = axes @ n, axes @ f
        rows += [n, f]
    return ca.vertcat(*rows)


def joint_loads_sensitivities(
    tree: Tree, q: Expression, v: Expression, a: Expression, around: Surroundings, world: bool = False
) -> tuple[Expression, Expression, Expression, Expression]:
    """(loads (6 joints, 1), d/dq, d/dv, d/da (6 joints, n))."""
    poses = link_poses(tree, q)
    motion = reference_motion(tree, poses, v, a, around, reference_link(tree))
    subtree = composites(tree, motion, around)
    place, speed = origins(tree, motion)
    joints = [joint_change(link, motion, k) for k, link in enumerate(tree.links)]
    blocks: list[list[list[Expression]]] = [[], [], [], []]  # loads, dq, dv, da: per joint the columns
    columns = [[zeros(6) for _ in range(tree.n)] for _ in range(3)]
    below = _descendants(tree)
    own = {k: response(joints[k], subtree[k]) for k, link in enumerate(tree.links) if link.kind != "fixed"}
    for k in tree.carriers:
        link, body = tree.links[k], subtree[k]
        arm = motion.R[k] @ joint_origin(tree, poses[k], k)
        axes = (motion.ground if world else motion.R[k] @ constant(link.body[:3, :3])).T
        force, moment = body.f - body.F, body.n - body.N
        load = moment - cross(arm, force), force
        found = [[*c] for c in columns]
        for i in below[k]:
            if tree.links[i].kind != "fixed":
                d = place[i] - place[k]
                for column, (n, f) in zip(found, own[i], strict=True):
                    column[tree.links[i].coordinate] = _six(axes, n + cross(d, f) - cross(arm, f), f)
        for i in [k, *tree.ancestors(k)]:
            if tree.links[i].kind == "fixed":
                continue
            changes = _carried(joints[i], body, place[k] - place[i], speed[k] - speed[i])
            for which, (column, (n, f)) in enumerate(zip(found, changes, strict=True)):
                n = n - cross(arm, f)
                if which == 0 and i == k and link.kind == "prismatic" and not _rides(tree, k):
                    n = n + cross(joints[i].e, force)
                if which == 0 and world and joints[i].turns:
                    n, f = n + cross(joints[i].e, load[0]), f + cross(joints[i].e, load[1])
                column[tree.links[i].coordinate] = _six(axes, n, f)
        blocks[0].append([_six(axes, *load)])
        for block, column in zip(blocks[1:], found, strict=True):
            block.append(column)
    loads, dq, dv, da = (ca.vertcat(*(ca.horzcat(*columns) for columns in block)) for block in blocks)
    return loads, dq, dv, da


def _carried(joint: JointChange, body: Composite, d: Expression, u: Expression) -> list[tuple[Expression, Expression]]:
    """What a subtree at d, moving with u as seen from a joint above it, asks for with that joint's q, v, a."""
    e, s, k, c = joint.e, joint.s, joint.k, joint.c
    nothing = zeros(3)
    if not joint.turns:
        return [answer(body, nothing, nothing, x) for x in (k, c, e)]
    n, f = answer(body, s, k, joint.b + cross(k, d) + cross(2 * s, u))
    n = n - cross(body.N, e) - body.L @ e + ca.trace(body.L) * e
    f = f - cross(body.F, e)
    return [(n, f), answer(body, e, c, cross(c, d) + cross(2 * e, u)), answer(body, nothing, e, cross(e, d))]


def joint_origin(tree: Tree, pose: LinkPose, k: int) -> Expression:
    """Place of a joint's origin in its link's frame."""
    link = tree.links[k]
    if _rides(tree, k):
        return constant(link.body[:3, 3])
    above = tree.structure.joint(link.name).parent
    start = np.zeros(3) if above is None else tree.bodies[above].pose[:3, 3]
    rest = (np.linalg.inv(rest_pose(link)) @ np.append(start, 1.0))[:3]
    at = constant(np.where(np.abs(rest) > 1e-13, rest, 0.0))
    return at + ca.vertcat(ca.SX(2, 1), link.d - pose.slide) if link.kind == "prismatic" else at


def _rides(tree: Tree, k: int) -> bool:
    """Whether the joint's origin is that of its child's frame."""
    joint = tree.structure.joint(tree.links[k].name)
    return joint.dh is None or tree.structure.convention != "standard"


def _six(axes: Expression, n: Expression, f: Expression) -> Expression:
    return ca.vertcat(axes @ n, axes @ f)


def _descendants(tree: Tree) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in tree.links]
    for k in range(len(tree.links)):
        for i in tree.ancestors(k):
            found[i].append(k)
    return found


def _to_world(tree: Tree, poses: list[LinkPose], k: int, x: Expression) -> Expression:
    for i in [k, *tree.ancestors(k)]:
        x = poses[i].to_parent(x)
    return x
