"""The tree that the fast recursions walk: links in frames chosen so that most constants vanish.

Every link gets a frame of its own, with z along its joint's axis. On a revolute axis the frame may still slide and
turn: it is put at the foot of the common normal to the axis of the child with the largest subtree, x along that normal.
Along a chain the pose of a link in its parent then is Craig's four numbers; side branches need two more::

    pose = T(offset) Rz(gamma) Rx(alpha) Rz(theta) Tz(d)        theta += q (revolute), d += q (prismatic)

Fixed joints are merged into the bodies they hang on, unless ``keep_fixed``. Angles within 1e-11 rad of a multiple of a
right angle, and lengths below 1e-13 m, are taken as exact: the digits of pi in a file end somewhere.

Inertia is kept as the pseudo-inertia P = [[Sigma, s], [s^T, m]] about the link frame's origin, with Sigma = integral of
r r^T dm and the first moment s = m c, because it moves between frames as T P T^T.

Example::

    tree = build(kinecast.mechanism.builtin.load("puma560"))
    [link.name for link in tree.links]     # parents first
    regrouped(tree).links[3].mass          # 0: its mass is felt by its ancestors only
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kinecast.mechanism import Joint, Structure
from kinecast.mechanism.checks import Array

ANGLE_SNAP = 1e-11
LENGTH_SNAP = 1e-13
PARALLEL = 1e-12  # sine of the angle below which axes are parallel
NEARLY_PARALLEL = 1e-2  # below this the common normal is far away: it is not used


@dataclass(frozen=True, eq=False)
class Link:
    """One body with the joint that carries it. Lengths in m, angles in rad, all in the frames of this module."""

    name: str
    parent: int  # index in Tree.links, -1 for the ground
    kind: str  # revolute | prismatic | fixed
    coordinate: int  # index in q, -1 for a fixed joint
    offset: Array  # (3,) in the parent's frame
    gamma: float
    alpha: float
    theta: float
    d: float
    pseudo_inertia: Array  # (4, 4)
    actuator_inertia: float
    body: Array  # (4, 4) pose of the user's body frame in this frame

    @property
    def mass(self) -> float:
        """In kg."""
        return float(self.pseudo_inertia[3, 3])

    @property
    def massless(self) -> bool:
        """Whether no part of the pseudo-inertia is there."""
        return not self.pseudo_inertia.any()


@dataclass(frozen=True, eq=False)
class Place:
    """A frame fixed in a link (-1: in the ground): its pose there (4, 4)."""

    link: int
    pose: Array


@dataclass(frozen=True, eq=False)
class Tree:
    """Links, parents first; where the user's bodies and joints are; `carriers[i]` has the body of joint i."""

    structure: Structure
    links: tuple[Link, ...]
    bodies: dict[str, Place]  # the user's body frame of every joint
    carriers: tuple[int, ...]  # for every joint of the structure: the link that carries its body

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.structure.n

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of every link, the links that hang on it."""
        found: list[list[int]] = [[] for _ in self.links]
        for k, link in enumerate(self.links):
            if link.parent >= 0:
                found[link.parent].append(k)
        return tuple(tuple(c) for c in found)

    def ancestors(self, k: int) -> list[int]:
        """Links from k's parent to the ground."""
        found = []
        k = self.links[k].parent
        while k >= 0:
            found.append(k)
            k = self.links[k].parent
        return found

    def place(self, name: str) -> Place:
        """The frame of a named point (with the axes of its body) or body."""
        point = self.structure.point(name)
        base = Place(-1, np.eye(4)) if point.joint is None else self.bodies[point.joint]
        shift = np.eye(4)
        shift[:3, 3] = point.at
        return Place(base.link, base.pose @ shift)


def build(structure: Structure, keep_fixed: bool = False) -> Tree:
    """The tree of a mechanism. ``keep_fixed`` keeps fixed joints as links of their own (their loads are wanted)."""
    structure.require_open("the dynamics")
    kept = [i for i in structure.order if keep_fixed or structure.joints[i].moves]
    index = {i: k for k, i in enumerate(kept)}
    carriers, in_carrier = _carriers(structure, index)
    above = [structure.parents[i] for i in kept]
    parents = [-1 if p < 0 else carriers[p] for p in above]
    # The axis of each kept joint (z of a frame) in the moving joint frame of the link that carries it.
    lines = [
        (np.eye(4) if p < 0 else in_carrier[p]) @ _axis_frame(structure.joints[i])[0]
        for i, p in zip(kept, above, strict=True)
    ]
    own = _choose_frames(structure, kept, parents, lines, in_carrier)
    coordinate = {name: k for k, name in enumerate(structure.coordinates)}
    links = []
    for k, i in enumerate(kept):
        joint = structure.joints[i]
        before = (np.eye(4) if parents[k] < 0 else _inverse(own[parents[k]])) @ lines[k]
        slide, phi = own[k][2, 3], np.arctan2(own[k][1, 0], own[k][0, 0])
        offset, gamma, alpha, theta, d = _decompose(before, slide)
        to_own = _inverse(own[k])
        inertia = np.zeros((4, 4))
        for b, body in enumerate(structure.joints):
            if carriers[b] == k:
                pose = to_own @ in_carrier[b]
                inertia += pose @ pseudo_inertia(body.mass, body.com, body.inertia) @ pose.T
        kind = "fixed" if not joint.moves else "revolute" if joint.turns else "prismatic"
        links.append(
            Link(
                joint.name,
                parents[k],
                kind,
                coordinate.get(joint.name, -1),
                offset,
                gamma,
                alpha,
                _snap_angle(theta + phi),
                d,
                inertia,
                joint.actuator_inertia,
                _snap_pose(to_own @ in_carrier[i]),
            )
        )
    bodies = {}
    for b, joint in enumerate(structure.joints):
        to_own = np.eye(4) if carriers[b] < 0 else _inverse(own[carriers[b]])
        bodies[joint.name] = Place(carriers[b], _snap_pose(to_own @ in_carrier[b]))
    return Tree(structure, tuple(links), bodies, tuple(carriers))


def pseudo_inertia(mass: float, com: Array, inertia: Array) -> Array:
    """(4, 4) from mass, centre of mass and inertia about the centre of mass."""
    result = np.zeros((4, 4))
    result[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(com, com)
    result[:3, 3] = result[3, :3] = mass * com
    result[3, 3] = mass
    return result


def regrouped(tree: Tree) -> Tree:
    """A tree with the same joint torques and fewer inertial constants (base parameters). Not for a turning ground.

    What a joint's motion cannot show is handed to the parent: mass, first moment along z and a rod along z do not
    change when a revolute joint turns; Sigma does not change when a prismatic joint slides. Joint loads and the whole's
    momentum do change. A parent without mass of its own is spared what would stay with it: it then only passes on.
    """
    inertias = [np.array(link.pseudo_inertia) for link in tree.links]
    for k in reversed(range(len(tree.links))):
        link = tree.links[k]
        moved = _unfelt(link, inertias[k])
        if link.parent >= 0:
            pose = rest_pose(link)
            if link.kind == "prismatic":
                pose[:3, 3] = 0.0
            parent = tree.links[link.parent]
            if parent.massless and _stays(parent, pose @ moved @ pose.T):
                moved = np.zeros((4, 4))
                if link.kind == "revolute":
                    moved[3, 3] = inertias[k][3, 3]
                if _stays(parent, pose @ moved @ pose.T):
                    continue
            inertias[link.parent] += pose @ moved @ pose.T
        inertias[k] -= moved
    links = (replace(link, pseudo_inertia=_clean(p)) for link, p in zip(tree.links, inertias, strict=True))
    return replace(tree, links=tuple(links))


def _unfelt(link: Link, inertia: Array) -> Array:
    """The part of a pseudo-inertia that the link's own joint does not feel."""
    part = np.zeros((4, 4))
    if link.kind == "revolute":
        part[2:, 2:] = inertia[2:, 2:]
    elif link.kind == "prismatic":
        part[:3, :3] = inertia[:3, :3]
    else:
        part[:] = inertia
    return part


def _stays(link: Link, inertia: Array) -> bool:
    """Whether a part of this pseudo-inertia would stay with the link."""
    return bool(np.abs(inertia - _unfelt(link, inertia)).max() > LENGTH_SNAP * np.abs(inertia).max())


def _clean(inertia: Array) -> Array:
    """Without the rounding that moving to and fro leaves where nothing is."""
    return np.where(np.abs(inertia) > 1e-15 * np.abs(inertia).max(), inertia, 0.0)


def rest_pose(link: Link) -> Array:
    """(4, 4) pose of a link in its parent at q = 0."""
    pose = np.eye(4)
    pose[:3, :3] = turn(2, link.gamma) @ turn(0, link.alpha) @ turn(2, link.theta)
    pose[:3, 3] = link.offset + pose[:3, 2] * link.d
    return pose


def turn(axis: int, angle: float) -> Array:
    """Rotation matrix about x (0) or z (2), exact at right angles."""
    c, s = cos_sin(angle)
    a, b = (1, 2) if axis == 0 else (0, 1)
    rotation = np.eye(3)
    rotation[a, a] = rotation[b, b] = c
    rotation[a, b], rotation[b, a] = -s, s
    return rotation


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at right angles."""
    quarter = quarter_turns(angle)
    if quarter is not None:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter]
    return float(np.cos(angle)), float(np.sin(angle))


def quarter_turns(angle: float) -> int | None:
    """How many right angles (0 to 3) an angle is, None if it is none."""
    quarter = angle / (np.pi / 2)
    return round(quarter) % 4 if quarter == round(quarter) else None


# ------------------------------------------------------------------------------------------------------------ frames


def _axis_frame(joint: Joint) -> tuple[Array, Array]:
    """(joint frame with z along the axis in the parent's body, the user's body frame in that frame at q = 0)."""
    turned = np.eye(4)
    if joint.moves:
        turned[:3, :3] = _z_to(joint.axis)
    return joint.before.matrix() @ turned, turned.T @ joint.after.matrix()


def _z_to(z: Array) -> Array:
    """A rotation that takes z to a unit vector, by permutation where that vector is an axis."""
    k = int(np.argmax(np.abs(z)))
    if abs(z[k]) == 1.0:
        x = np.roll(np.array([0.0, 1.0, 0.0]), k) if k != 2 else np.array([1.0, 0.0, 0.0])
    else:
        x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
        x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _carriers(structure: Structure, index: dict[int, int]) -> tuple[list[int], list[Array]]:
    """For each joint: the link that carries its body, and the body frame's pose in that link's joint frame at q = 0."""
    carrier = [-1] * len(structure.joints)
    pose = [np.eye(4)] * len(structure.joints)
    for i in structure.order:
        before, after = _axis_frame(structure.joints[i])
        parent = structure.parents[i]
        if i in index:
            carrier[i], pose[i] = index[i], after
        else:
            base = np.eye(4) if parent < 0 else pose[parent]
            carrier[i], pose[i] = (-1 if parent < 0 else carrier[parent]), base @ before @ after
    return carrier, pose


def _main_children(structure: Structure, kept: Sequence[int], parents: Sequence[int]) -> list[int | None]:
    """Of each link, the child with the largest subtree among those whose joints move."""
    weight = [1] * len(kept)
    for k in reversed(range(len(kept))):
        if parents[k] >= 0:
            weight[parents[k]] += weight[k]
    main: list[int | None] = [None] * len(kept)
    for k, p in enumerate(parents):
        if p >= 0 and structure.joints[kept[k]].moves:
            best = main[p]
            if best is None or weight[k] > weight[best]:
                main[p] = k
    return main


def _choose_frames(
    structure: Structure,
    kept: Sequence[int],
    parents: Sequence[int],
    lines: Sequence[Array],
    in_carrier: Sequence[Array],
) -> list[Array]:
    """For each link the pose Tz Rz of its frame in its moving joint frame; leaves first."""
    own = [np.eye(4) for _ in kept]
    main = _main_children(structure, kept, parents)
    for k in reversed(range(len(kept))):
        joint = structure.joints[kept[k]]
        if not joint.moves:
            continue
        slide, phi = 0.0, 0.0
        c = main[k]
        if c is not None:
            found = _normal(lines[c])
            if found is not None:
                slide, direction = found
                phi = float(np.arctan2(direction[1], direction[0]))
            elif abs(lines[c][2, 2]) > 1 - PARALLEL:  # parallel: slide so that the child needs no shift of its own
                x, y, z = lines[c][:3, 3]
                phi = float(np.arctan2(y, x)) if np.hypot(x, y) > LENGTH_SNAP else 0.0
                slide = z + own[c][2, 3] * np.sign(lines[c][2, 2])
        elif joint.turns:
            found = None if parents[k] < 0 else _normal(_inverse(lines[k]))
            slide = 0.0 if found is None else found[0]
            com = in_carrier[kept[k]][:3] @ np.append(joint.com, 1.0)
            if joint.mass and np.all(np.abs(com[:2]) > LENGTH_SNAP):
                phi = float(np.arctan2(com[1], com[0]))  # one component of the first moment less
        own[k][:3, :3] = turn(2, _snap_angle(phi))
        own[k][2, 3] = slide if joint.turns and abs(slide) > LENGTH_SNAP else 0.0
    return own


def _normal(other: Array) -> tuple[float, Array] | None:
    """Common normal of the z axis and the z axis of ``other``: the height of its foot on our z, and its direction."""
    z, p = other[:3, 2], other[:3, 3]
    sine = float(np.hypot(z[0], z[1]))
    if sine < NEARLY_PARALLEL:
        return None
    # Shortest way between two lines: p + t z - h e_z is perpendicular to both.
    t = -(p[0] * z[0] + p[1] * z[1]) / sine**2
    foot = p + t * z
    length = float(np.hypot(foot[0], foot[1]))
    along = [foot[0] / length, foot[1] / length, 0.0] if length > LENGTH_SNAP else [-z[1] / sine, z[0] / sine, 0.0]
    return float(foot[2]), np.array(along)


def _decompose(pose: Array, slide: float) -> tuple[Array, float, float, float, float]:
    """(offset, gamma, alpha, theta, d) of a pose followed by a slide along z; d leaves the offset shortest."""
    rotation = pose[:3, :3]
    alpha = float(np.arctan2(np.hypot(rotation[0, 2], rotation[1, 2]), rotation[2, 2]))
    oblique = np.hypot(rotation[0, 2], rotation[1, 2]) > PARALLEL
    gamma = float(np.arctan2(rotation[0, 2], -rotation[1, 2])) if oblique else 0.0
    # Of the two signs of alpha take the one with gamma nearer zero: on a common normal gamma is 0 or pi.
    if abs(gamma) > np.pi / 2 + 1e-6:
        gamma, alpha = gamma - np.sign(gamma) * np.pi, -alpha
    gamma, alpha = _snap_angle(gamma), _snap_angle(alpha)
    tilt = turn(2, gamma) @ turn(0, alpha)
    rest = tilt.T @ rotation
    theta = float(np.arctan2(rest[1, 0], rest[0, 0]))
    y, z = turn(2, gamma)[:, 1], tilt[:, 2]
    end = pose[:3, 3] + z * slide
    # d leaves the offset no part along y, which is perpendicular to the common normal and to the parent's z.
    d = float(end @ y / (z @ y)) if abs(z @ y) > NEARLY_PARALLEL else float(end @ z)
    offset = end - z * d
    return np.where(np.abs(offset) > LENGTH_SNAP, offset, 0.0), gamma, alpha, theta, d if abs(d) > LENGTH_SNAP else 0.0


def _snap_angle(angle: float) -> float:
    """The angle in (-pi, pi], a multiple of pi/2 when within ANGLE_SNAP of one."""
    angle = float(np.arctan2(np.sin(angle), np.cos(angle)))
    quarter = round(angle / (np.pi / 2))
    return quarter * (np.pi / 2) if abs(angle - quarter * (np.pi / 2)) < ANGLE_SNAP else angle


def _snap_pose(pose: Array) -> Array:
    """A pose without the rounding where nothing is."""
    whole = np.round(pose)
    return np.where(np.abs(pose - whole) < LENGTH_SNAP, whole, pose)


def _inverse(pose: Array) -> Array:
    result = np.eye(4)
    result[:3, :3] = pose[:3, :3].T
    result[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return result
