"""A `Structure` as other libraries want it: only the joints that move, parents first, with lumped rigid bodies.

Joint frame: the frame that moves with the joint, before the constant transform `after` to its body frame. Bodies held
by fixed joints are added to the body they are fixed to; those fixed to the ground are left out, as they never move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kinecast.mechanism.checks import Array
from kinecast.mechanism.geometry import Transform
from kinecast.mechanism.model import Structure

TreeKind = Literal["revolute", "prismatic", "ball", "free"]
WIDTH: dict[TreeKind, int] = {"revolute": 1, "prismatic": 1, "ball": 3, "free": 6}


@dataclass(frozen=True, eq=False)
class Mass:
    """A rigid body's mass (kg), centre of mass (m) and inertia about it (kg m2) in one frame."""

    mass: float
    com: Array
    inertia: Array

    def seen_from(self, pose: Transform) -> Mass:
        """The same body in the frame in which its own frame has this pose."""
        turn = pose.rotation
        return Mass(self.mass, turn @ self.com + pose.translation, turn @ self.inertia @ turn.T)

    def __add__(self, other: Mass) -> Mass:
        mass = self.mass + other.mass
        if mass == 0:
            return Mass(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        return Mass(mass, com, self._inertia_about(com) + other._inertia_about(com))

    def _inertia_about(self, point: Array) -> Array:
        arm = self.com - point
        return self.inertia + self.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint that moves. `parent` is an index into the tree, -1 for the ground; `before` the pose of the joint frame
    in the parent's joint frame at q = 0; `body` is in the joint frame.
    """

    name: str
    kind: TreeKind
    parent: int
    before: Transform
    axis: Array
    body: Mass
    actuator_inertia: float


@dataclass(frozen=True, eq=False)
class Tree:
    """Moving joints, parents first, and where everything of the structure is among them."""

    joints: tuple[TreeJoint, ...]
    order: tuple[int, ...]
    """Coordinate of the structure that each joint of the tree moves with: q_tree = q[..., order]."""
    bodies: dict[str, tuple[int, Transform]]
    """Body frame of each joint of the structure: joint of the tree (-1: ground) and pose in its joint frame."""
    origins: dict[str, tuple[int, Transform]]
    """Likewise the frame at which each joint of the structure sits on its child's side, before `after`."""


def tree_of(structure: Structure) -> Tree:
    """The moving joints of a structure, branch after branch: in any other order Pinocchio's mass matrix is wrong."""
    structure.require_open("a tree")
    bodies: dict[str | None, tuple[int, Transform]] = {None: (-1, Transform.identity())}
    origins: dict[str, tuple[int, Transform]] = {}
    joints: list[TreeJoint] = []
    order: list[int] = []
    coordinate = {name: i for i, name in enumerate(structure.coordinates)}
    waiting = [*reversed(structure.children(None))]
    while waiting:
        joint = structure.joint(waiting.pop())
        waiting += reversed(structure.children(joint.name))
        parent, at = bodies[joint.parent]
        pose = at @ joint.before
        if joint.moves:
            kind: TreeKind = "revolute" if joint.turns else "prismatic"
            joints.append(TreeJoint(joint.name, kind, parent, pose, joint.axis, NOTHING, joint.actuator_inertia))
            order.append(coordinate[joint.name])
            parent, pose = len(joints) - 1, Transform.identity()
        origins[joint.name] = parent, pose
        pose = pose @ joint.after
        bodies[joint.name] = parent, pose
        if parent >= 0:
            body = joints[parent].body + Mass(joint.mass, joint.com, joint.inertia).seen_from(pose)
            joints[parent] = replace(joints[parent], body=body)
    ground = bodies.pop(None)
    assert ground[0] == -1
    return Tree(tuple(joints), tuple(order), {str(name): place for name, place in bodies.items()}, origins)


def with_ball_and_free_joints(joints: Sequence[TreeJoint]) -> list[TreeJoint]:
    """The same tree as its author would write it where joints of several coordinates exist.

    Runs of one-coordinate joints about the axes of one frame, with nothing between them, become one joint: three
    slides and three turns a free one, three turns a ball. The coordinates mean other things then (a quaternion): the
    result has the same number of them and takes the same work, which is what timing needs.
    """
    merged: list[TreeJoint] = []
    place: dict[int, int] = {-1: -1}  # index in `joints` -> index in `merged`
    i = 0
    while i < len(joints):
        first = joints[i]
        runs: tuple[TreeKind, ...] = ("free", "ball")
        kind = next((kind for kind in runs if _is_run(joints, i, kind)), first.kind)
        last = joints[i + WIDTH[kind] - 1]
        merged.append(replace(first, kind=kind, parent=place[first.parent], body=last.body))
        place.update({k: len(merged) - 1 for k in range(i, i + WIDTH[kind])})
        i += WIDTH[kind]
    return merged


def _is_run(joints: Sequence[TreeJoint], start: int, kind: TreeKind) -> bool:
    """Whether the joints from `start` on are a sequence that one joint of this kind stands for."""
    kinds = {"ball": ["revolute"] * 3, "free": ["prismatic"] * 3 + ["revolute"] * 3}[kind]
    run = joints[start : start + len(kinds)]
    if [joint.kind for joint in run] != kinds:
        return False
    inner = range(start, start + len(kinds) - 1)
    in_line = all(joints[i + 1].parent == i and joints[i + 1].before == Transform.identity() for i in inner)
    bare = all(joints[i].body.mass == 0 and joints[i].actuator_inertia == 0 for i in inner)
    childless = [joint.parent for joint in joints if joint.parent in inner] == list(inner)
    axes = [np.array([joint.axis for joint in run[k : k + 3]]) for k in range(0, len(run), 3)]
    return in_line and bare and childless and all(np.allclose(a @ a.T, np.eye(3)) for a in axes)
