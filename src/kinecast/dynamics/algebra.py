"""What the formulations share: the pose of a joint, cross products, columns of sensitivities, walks along the tree.

Everything here returns CasADi SX with structural zeros where a number is zero, so that products with them disappear
when a recursion is traced. Rotation entries within rounding of 0 or +-1 (the cosine of a right angle, say) become
exactly that.

Example::

    R, p = joint_rotation_translation(joint, q[0])   # x_parent = R @ x_body + p
    moment = cross(constant(joint.com), force)
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from kinecast.dynamics.surroundings import AppliedLoad, Expression, Surroundings, constant
from kinecast.mechanism import Joint, Structure
from kinecast.mechanism.checks import Array

__all__ = [
    "PoseTerms",
    "children_of",
    "column",
    "constant",
    "coordinate_of",
    "cross",
    "cross_matrix",
    "is_distal",
    "joint_pose_terms",
    "joint_rotation_translation",
    "loads_on",
    "path_to",
    "skew",
]

# Rotation entries this close to 0 or +-1 come from rounding: an entry made of a few products of sines and cosines
# has an error of this order.
_ROUNDING = 1e-15


class PoseTerms(NamedTuple):
    """The pose of a joint's body in its parent as 4 x 4 constants: T = rest + along * s(q) + across * c(q).

    Turning joints: s = sin(q + offset), c = cos(q + offset). Sliding joints: s = q + offset, c = 0. Fixed: s = c = 0.
    """

    rest: Array
    along: Array
    across: Array
    offset: float


def joint_pose_terms(joint: Joint) -> PoseTerms:
    """The constants of `PoseTerms`; a turn of `before` about the joint's own axis becomes the offset of the angle."""
    before, after = _clean(joint.before.matrix()), _clean(joint.after.matrix())
    nothing = np.zeros((4, 4))
    if not joint.moves:
        return PoseTerms(_clean(before @ after), nothing, nothing, 0.0)
    axis = joint.axis
    generator = np.zeros((4, 4))
    if not joint.turns:
        generator[:3, 3] = axis
        return PoseTerms(_clean(before @ after), before @ generator @ after, nothing, 0.0)
    generator[:3, :3] = cross_matrix(axis)
    offset = _turn_about(axis, before[:3, :3])
    if offset != 0.0:
        before = before.copy()
        before[:3, :3] = np.eye(3)
    # Rodrigues: rotation = axis axis^T + sin(angle) [axis x] + cos(angle) (1 - axis axis^T).
    across = -generator @ generator
    rest = np.eye(4) - across
    rest, along, across = (_clean(before @ term @ after) for term in (rest, generator, across))
    return PoseTerms(rest, along, across, offset)


def joint_rotation_translation(joint: Joint, q: Expression) -> tuple[Expression, Expression]:
    """(R (3, 3), p (3, 1)) of the pose of a joint's body in its parent: x_parent = R x_body + p [m].

    `q` is the joint's coordinate [rad or m]; it is not looked at for a fixed joint.
    """
    terms = joint_pose_terms(joint)
    pose = constant(terms.rest)
    if joint.turns:
        pose += constant(terms.along) * ca.sin(q + terms.offset) + constant(terms.across) * ca.cos(q + terms.offset)
    elif joint.moves:
        pose += constant(terms.along) * q
    return pose[:3, :3], pose[:3, 3]


def skew(x: Expression) -> Expression:
    """The (3, 3) matrix S of the cross product with x, S y = x cross y, its zeros structural."""
    entries = {(2, 1): 0, (0, 2): 1, (1, 0): 2}
    matrix = ca.SX(3, 3)
    for (row, col), k in entries.items():
        if x.sparsity().has_nz(k, 0):
            matrix[row, col] = x[k]
            matrix[col, row] = -x[k]
    return matrix


def cross(x: Expression, y: Expression) -> Expression:
    """The cross product x x y of 3-vectors; either may be a (3, m) matrix, whose columns are taken one by one."""
    return skew(x) @ y if x.shape[1] == 1 else -(skew(y) @ x)


def column(value: Expression, k: int, n: int) -> Expression:
    """A matrix of `n` columns that is zero except for column `k`: the sensitivity to the joint's own coordinate."""
    rows = value.shape[0]
    return ca.horzcat(ca.SX(rows, k), value, ca.SX(rows, n - k - 1))


def coordinate_of(structure: Structure) -> tuple[int | None, ...]:
    """For each joint the index of its coordinate in q, None where it has none."""
    count = iter(range(structure.n))
    return tuple(next(count) if joint.moves else None for joint in structure.joints)


def children_of(structure: Structure, j: int) -> tuple[int, ...]:
    """Indices of the joints that hang on joint `j` (-1: on the ground)."""
    return tuple(i for i, parent in enumerate(structure.parents) if parent == j)


def path_to(structure: Structure, j: int) -> tuple[int, ...]:
    """Indices of the joints from the ground to joint `j`, itself included."""
    path = []
    while j >= 0:
        path.append(j)
        j = structure.parents[j]
    return tuple(reversed(path))


def loads_on(around: Surroundings, joint: Joint) -> tuple[AppliedLoad, ...]:
    """The loads that act on the body of `joint`."""
    return tuple(load for load in around.loads if load.joint == joint.name)


def is_distal(structure: Structure, joint: Joint) -> bool:
    """Whether the body frame is at the far end of the body and the joint in the origin of the frame before.

    So it is for standard DH constants; the load of such a joint is taken there, of any other at the body's own frame.
    """
    return joint.dh is not None and structure.convention == "standard"


def cross_matrix(x: Array) -> Array:
    """The (3, 3) numbers of the cross product with `x`."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _turn_about(axis: Array, rotation: Array) -> float:
    """The angle by which `rotation` turns about `axis`; 0 if it is a turn about something else, or a right angle.

    Right angles only permute entries: left in the rotation they cost nothing, as an offset they would cost an addition.
    """
    if np.abs(rotation @ axis - axis).max() > _ROUNDING:
        return 0.0
    sine = 0.5 * np.sum(cross_matrix(axis) * rotation)  # trace([axis x]^T R) = 2 sin(angle)
    angle = float(np.arctan2(sine, 0.5 * (np.trace(rotation) - 1.0)))
    quarters = angle / (0.5 * np.pi)
    return 0.0 if abs(quarters - round(quarters)) < _ROUNDING else angle


def _clean(matrix: Array) -> Array:
    """The matrix with entries of its rotation part that are 0 or +-1 but for rounding made exactly so."""
    matrix = np.array(matrix)
    part = matrix[:3, :3]
    near = np.round(part)
    part[...] = np.where(np.abs(part - near) < _ROUNDING, near, part)
    return matrix
