"""What `six_by_six`, `denoc` and `filtering` have in common: vectors of six and 6 x 6 inertias between links.

The three papers hand twists outward and wrenches inward through the same matrix under three names,

| paper | wrench to the parent | twist to the child | inertia to the parent |
|---|---|---|---|
| Nasser | R* P | P^T R*^T | P R* (.) R*^T P^T |
| Saha | B^T | B | B^T (.) B |
| Rodriguez | phi | phi^T | phi (.) phi^T |

and this module applies it (`Passage`) to vectors (moment; force), (angular; linear) in link axes about link
origins, in the frames of `kinecast.dynamics.tree`: z along the joint's axis, so that a passage is a slide along and
a turn about z, then a turn about and a slide along x. Turned one plane at a time a vector costs 4 multiplications
and 2 additions a plane, a symmetric 6 x 6 matrix 16 to 24 and as many additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca

from kinecast.dynamics.algebra import cross, skew
from kinecast.dynamics.spatial.articulated import Articulated, Rows, in_parent, rigid
from kinecast.dynamics.spatial.frames import LinkPose, applied_loads, link_poses
from kinecast.dynamics.spatial.inverse import spin_rate
from kinecast.dynamics.spatial.loads import joint_origin
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Link, Tree

NO_ROWS: Rows = ((ca.SX(0),) * 3,) * 3


@dataclass(frozen=True, eq=False)
class Passage:
    """The way between a link and its parent, for one q."""

    pose: LinkPose

    def force(self, w: Expression) -> Expression:
        """A wrench (6, 1) on the link, about the parent's origin and in its axes."""
        return ca.vertcat(*self.pose.wrench_to_parent((w[:3], w[3:])))

    def motion(self, t: Expression) -> Expression:
        """A twist (6, 1) of the parent as that of the link, did its joint not move."""
        return ca.vertcat(*self.pose.acceleration_to_child((t[:3], t[3:])))

    def inertia(self, body: Articulated) -> Articulated:
        """A 6 x 6 inertia of the link as the parent feels it."""
        return in_parent(body, self.pose)

    def mobility(self, body: Articulated) -> Articulated:
        """A 6 x 6 matrix of the parent, from wrenches to twists, as that of the link: B (.) B^T for B of `motion`.

        Its rows and columns are (linear; angular). So ordered a twist is moved like a wrench, moment with linear part,
        the other way round: which is how it is done, step by step back along the passage.
        """
        still, link = ca.SX(1, 1), self.pose.link
        back = tuple((axis, c, -s) for axis, c, s in reversed(self.pose.turns))
        for pose in (
            LinkPose(replace(link, offset=-link.offset), (), still),
            LinkPose(replace(link, offset=0.0 * link.offset), back, still),
            LinkPose(replace(link, offset=0.0 * link.offset), (), -self.pose.slide),
        ):
            body = in_parent(body, pose)
        return body


def passages(tree: Tree, q: Expression) -> list[Passage]:
    """The ways of all links."""
    return [Passage(pose) for pose in link_poses(tree, q)]


def drive(link: Link) -> int:
    """Where a joint's axis stands among six: z of the angular part (revolute) or of the linear one (prismatic)."""
    return 2 if link.kind == "revolute" else 5


def along_axis(link: Link, value: Expression) -> Expression:
    """(6, 1) with a value along the joint's axis: Saha's p_i, Nasser's Z_i, Rodriguez' H_k^T times it."""
    k = drive(link)
    return ca.vertcat(ca.SX(k, 1), value, ca.SX(5 - k, 1))


def times(body: Articulated, x: Expression) -> Expression:
    """A 6 x 6 inertia times a twist (6, 1)."""
    rows = [[*body.J[i], *body.B[i]] for i in range(3)]
    rows += [[*(body.B[k][i] for k in range(3)), *body.M[i]] for i in range(3)]
    return ca.vertcat(*(_dot(row, x) for row in rows))


def _dot(row: Sequence[Expression], x: Expression) -> Expression:
    total = ca.SX(0)
    for k, entry in enumerate(row):
        total += entry * x[k]
    return total


def composite_inertias(tree: Tree, ways: list[Passage]) -> list[Articulated]:
    """Of every link with all that hangs on it, joints locked: Saha's M~_i (9.11d), Rodriguez' r_kk (7.9).

    They stay rigid, so mass, first moment and inertia are handed inward instead of 21 entries: Saha's (9.14a-c).
    """
    masses = [link.mass for link in tree.links]
    moments = [first_moment(link) for link in tree.links]
    inertias = [rigid(link).J for link in tree.links]
    for k in reversed(range(len(tree.links))):
        p, pose = tree.links[k].parent, ways[k].pose
        if p < 0:
            continue
        moment, inertia = _slid(masses[k], moments[k], inertias[k], 2, pose.slide)
        moment, inertia = pose.to_parent(moment), in_parent(Articulated(inertia, NO_ROWS, NO_ROWS), pose).J
        for axis, distance in enumerate(pose.link.offset):
            moment, inertia = _slid(masses[k], moment, inertia, axis, ca.SX(distance))
        masses[p] += masses[k]
        moments[p] = moments[p] + moment
        inertias[p] = tuple(
            tuple(x + y for x, y in zip(*rows, strict=True)) for rows in zip(inertias[p], inertia, strict=True)
        )
    return [
        Articulated(inertia, _rows(skew(moment)), _rows(mass * ca.SX.eye(3)))
        for mass, moment, inertia in zip(masses, moments, inertias, strict=True)
    ]


def _slid(mass: float, moment: Expression, inertia: Rows, axis: int, d: Expression) -> tuple[Expression, Rows]:
    """First moment and inertia about an origin from which the old one is d along an axis: (9.14b), (9.14c)."""
    i, k = (axis + 1) % 3, (axis + 2) % 3
    moved, rows = ca.SX(moment), [[*row] for row in inertia]
    moved[axis] += mass * d
    both = d * (moment[axis] + moved[axis])
    rows[i][i], rows[k][k] = rows[i][i] + both, rows[k][k] + both
    for other in (i, k):
        rows[other][axis] = rows[axis][other] = rows[axis][other] - d * moment[other]
    return moved, tuple(map(tuple, rows))


def _rows(matrix: Expression) -> Rows:
    return tuple(tuple(matrix[i, k] for k in range(3)) for i in range(3))


def external_wrenches(tree: Tree, ways: list[Passage], around: Surroundings) -> dict[int, Expression]:
    """The loads (6, 1) on the links that have any, about their origins and in their axes."""
    found = {}
    for k, applied in applied_loads(tree, around).items():
        path = [*reversed(tree.ancestors(k)), k]
        total = ca.SX(6, 1)
        for at, force, moment in applied:
            for i in path:
                force, moment = ways[i].pose.to_child(force), ways[i].pose.to_child(moment)
            total += ca.vertcat(moment + cross(at, force), force)
        found[k] = total
    return found


def ground_twist_rate(around: Surroundings) -> Expression:
    """(6, 1) angular acceleration of the ground, and linear acceleration of its origin less gravity."""
    return ca.vertcat(around.base_acceleration[:3], around.base_acceleration[3:] - around.gravity)


def as_joint_loads(tree: Tree, ways: Sequence[Passage], wrenches: Sequence[Expression]) -> Expression:
    """(6 joints, 1): what parents exert on links, moved to the joints' origins and turned into the bodies' axes.

    For this the tree must have kept its fixed joints.
    """
    loads = []
    for k in tree.carriers:
        rotation = constant(tree.links[k].body[:3, :3]).T
        n, f = wrenches[k][:3], wrenches[k][3:]
        n = n - cross(joint_origin(tree, ways[k].pose, k), f)
        loads += [rotation @ n, rotation @ f]
    return ca.vertcat(*loads)


def quadratic(omega: Expression) -> Expression:
    """The matrix [omega x]^2 = omega omega^T - omega^2 1, (3, 3)."""
    return spin_rate(omega, ca.SX(3, 1))


def gyroscopic(link: Link, omega: Expression) -> Expression:
    """The moment omega x I omega about the link's origin: twelve multiplications besides those of `quadratic`."""
    sigma = link.pseudo_inertia[:3, :3]
    squares = [omega[k] ** 2 for k in range(3)]
    moment = ca.SX(3, 1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        # I = tr(Sigma) 1 - Sigma
        moment[i] = (
            (sigma[j, j] - sigma[k, k]) * (omega[j] * omega[k])
            - sigma[j, k] * (squares[j] - squares[k])
            - sigma[i, k] * (omega[i] * omega[j])
            + sigma[i, j] * (omega[i] * omega[k])
        )
    return moment


def first_moment(link: Link) -> Expression:
    """Mass times centre of mass (3, 1), kg m."""
    return constant(link.pseudo_inertia[:3, 3])
