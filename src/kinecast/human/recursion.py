"""Inverse dynamics and kinematics of a person with the body's measures as symbols: one traced program serves everyone.

A recursion in world axes with moments about the world origin, so that forces and moments of a subtree simply add up.
Forward, from the parent p of joint j (axis e_j, origin at o_j in the parent's frame), for a revolute joint:

    r_j = r_p + R_p o_j            e_j = R_p axis            R_j = R_p J(axis, q_j)
    w_j = w_p + e_j v_j            w'_j = w'_p + e_j a_j + w_p x e_j v_j
    a_j = a_p + w'_p x (R_p o_j) + w_p x (w_p x R_p o_j)

with a_ground = -g, so that gravity needs no terms of its own. Backward, with h = R m c and the inertia I about the
origin r:

    f = m a + w' x h + w x (w x h)                  F_j = f + sum of the children's F
    n = R (I R'w' + R'w x I R'w) + h x a            N_j = n + r_j x f + sum of the children's N
    tau_j = e_j . (N_j - r_j x F_j)                 (prismatic: e_j . F_j)

F and N of the first joint are the wrench (about the world origin) that the ground must exert: the resultant active
wrench of the two-step algorithm of papers/000 (5.1) and Xiang et al. 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinecast.errors import NotSupportedError
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    import casadi as ca

Vector = tuple[Any, Any, Any]
Columns = tuple[Vector, Vector, Vector]  # the columns of a rotation matrix
ZERO: Vector = (0.0, 0.0, 0.0)
_INERTIA = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 1), (0, 2))
# Entries that every body gets as symbols, zero or not, so that people of all shapes share one program: the centre of
# mass and the inertia of a body that is symmetric about its own sagittal plane.
_ALWAYS_FIRST_MOMENT = (1, 2)
_ALWAYS_INERTIA = 4


@dataclass(frozen=True)
class Link:
    """One coordinate and the body it moves; `slots` say where in the parameter vector its measures are (-1: zero)."""

    parent: int
    axis: int
    sign: float
    slides: bool
    offset: tuple[int, int, int]
    mass: int
    first_moment: tuple[int, int, int]
    inertia: tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Layout:
    """What stays the same from person to person: the tree, and the order of the measures in the parameter vector."""

    coordinates: tuple[str, ...]
    links: tuple[Link, ...]
    places: dict[str, tuple[int, tuple[int, int, int]]]
    size: int

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.links)

    def index(self, coordinate: str) -> int:
        """Where a coordinate stands."""
        return self.coordinates.index(coordinate)


def measures(structure: Structure, places: Sequence[str]) -> tuple[Layout, Array]:
    """The layout of a person's structure, and the person's measures in its order.

    Fixed joints are folded into the body that carries them. `places` are the points and joints whose positions will
    be asked for.
    """
    movable = [joint.name for joint in structure.movable]
    carrier: dict[str | None, int] = {None: -1}
    shift: dict[str | None, Array] = {None: np.zeros(3)}
    mass, first, second = np.zeros(len(movable)), np.zeros((len(movable), 3)), np.zeros((len(movable), 3, 3))
    offset = np.zeros((len(movable), 3))
    for i in structure.order:
        joint = structure.joints[i]
        straight = np.array_equal(joint.before.rotation, np.eye(3)) and np.array_equal(joint.after.matrix(), np.eye(4))
        if not straight or sorted(np.abs(joint.axis).tolist()) != [0.0, 0.0, 1.0]:
            raise NotSupportedError(
                f"joint {joint.name!r} of {structure.name!r}: a digital human's body axes are parallel at q = 0 and "
                "its joint axes are along them; use the structures that human() makes"
            )
        base, at = carrier[joint.parent], shift[joint.parent] + joint.before.translation
        if joint.moves:
            k = movable.index(joint.name)
            carrier[joint.name], shift[joint.name] = k, np.zeros(3)
            offset[k] = at
        else:
            carrier[joint.name], shift[joint.name] = base, at
        k = carrier[joint.name]
        if joint.mass and k >= 0:
            c = joint.com + shift[joint.name]
            mass[k] += joint.mass
            first[k] += joint.mass * c
            second[k] += joint.inertia + joint.mass * (c @ c * np.eye(3) - np.outer(c, c))
    values: list[float] = []

    def slot(value: float, always: bool = False) -> int:
        if value == 0.0 and not always:
            return -1
        values.append(float(value))
        return len(values) - 1

    def slots(vector: Array, always: Sequence[int] = ()) -> Any:
        return tuple(slot(x, k in always) for k, x in enumerate(vector))

    links = []
    for k, joint in enumerate(structure.movable):
        axis = int(np.argmax(np.abs(joint.axis)))
        moments = np.array([second[k][i, j] for i, j in _INERTIA])
        links.append(
            Link(
                carrier[joint.parent],
                axis,
                float(joint.axis[axis]),
                not joint.turns,
                slots(offset[k]),
                slot(mass[k]),
                slots(first[k], _ALWAYS_FIRST_MOMENT if mass[k] else ()),
                slots(moments, range(_ALWAYS_INERTIA) if mass[k] else ()),
            )
        )
    found = {}
    for place in places:
        point = structure.point(place)
        found[place] = (carrier[point.joint], slots(np.asarray(point.at) + shift[point.joint]))
    return Layout(tuple(movable), tuple(links), found, len(values)), np.array(values)


class Recursion:
    """The recursion of the module's title over CasADi symbols: q, v, a (n each) and the measures p.

    After construction `tau` holds the torques without ground reaction, `force` and `moment` (about the world origin)
    the wrench that the ground must exert; `position`, `velocity`, `rotation` answer for places, `centre` for the body.
    """

    def __init__(
        self, layout: Layout, q: ca.SX, v: ca.SX, a: ca.SX, p: ca.SX, gravity: Vector = (0.0, -9.81, 0.0)
    ) -> None:
        import casadi as ca

        self.layout, self._p = layout, p
        self.rotations: list[Columns] = []
        self.origins: list[Vector] = []
        self.axes: list[Vector] = []
        self._spin: list[Vector] = []
        self._speed: list[Vector] = []
        forces: list[Vector] = []
        moments: list[Vector] = []
        ground: Columns = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        up = scale(-1.0, gravity)
        turning: list[Vector] = []
        pulling: list[Vector] = []
        for j, link in enumerate(layout.links):
            k = link.parent
            rotation, origin = (self.rotations[k], self.origins[k]) if k >= 0 else (ground, ZERO)
            w, dw, speed, pull = (
                (self._spin[k], turning[k], self._speed[k], pulling[k]) if k >= 0 else (ZERO, ZERO, ZERO, up)
            )
            axis = scale(link.sign, rotation[link.axis])
            arm = apply(rotation, self._take(link.offset))
            if link.slides:
                arm = add(arm, scale(q[j], axis))
            speed = add(speed, cross(w, arm))
            pull = add(pull, cross(dw, arm), cross(w, cross(w, arm)))
            if link.slides:
                turn = cross(w, scale(v[j], axis))
                speed, pull = add(speed, scale(v[j], axis)), add(pull, scale(a[j], axis), turn, turn)
            else:
                rate = scale(v[j], axis)
                w, dw = add(w, rate), add(dw, scale(a[j], axis), cross(w, rate))
                rotation = _turned(rotation, link.axis, ca.cos(q[j]), link.sign * ca.sin(q[j]))
            self.rotations.append(rotation)
            self.origins.append(add(origin, arm))
            self.axes.append(axis)
            self._spin.append(w)
            self._speed.append(speed)
            turning.append(dw)
            pulling.append(pull)
            force, moment = self._inertial(link, rotation, w, dw, pull)
            forces.append(force)
            moments.append(add(moment, cross(self.origins[j], force)))
        for j in reversed(range(layout.n)):
            k = layout.links[j].parent
            if k >= 0:
                forces[k], moments[k] = add(forces[k], forces[j]), add(moments[k], moments[j])
        self.force, self.moment = forces[0], moments[0]
        self.carried = forces  # what each joint's parent must exert on everything beyond the joint, without ground
        self.tau = [self.torque_of(j, forces[j], moments[j]) for j in range(layout.n)]

    def _take(self, slots: Sequence[int]) -> Any:
        return tuple(self._p[k] if k >= 0 else 0.0 for k in slots)

    def _inertial(self, link: Link, rotation: Columns, w: Vector, dw: Vector, pull: Vector) -> tuple[Vector, Vector]:
        if link.mass < 0:
            return ZERO, ZERO
        (mass,) = self._take((link.mass,))
        h = apply(rotation, self._take(link.first_moment))
        force = add(scale(mass, pull), cross(dw, h), cross(w, cross(w, h)))
        xx, yy, zz, yz, xy, xz = self._take(link.inertia)
        inertia = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        own_w, own_dw = apply_transposed(rotation, w), apply_transposed(rotation, dw)
        own = add(apply(inertia, own_dw), cross(own_w, apply(inertia, own_w)))
        return force, add(apply(rotation, own), cross(h, pull))

    def torque_of(self, j: int, force: Vector, moment: Vector) -> Any:
        """What a wrench about the world origin, acting on the body of joint j, asks of that joint."""
        if self.layout.links[j].slides:
            return dot(self.axes[j], force)
        return dot(self.axes[j], subtract(moment, cross(self.origins[j], force)))

    def position(self, place: str) -> Vector:
        """World position of a place."""
        k, at = self.layout.places[place]
        return add(self.origins[k], apply(self.rotations[k], self._take(at)))

    def velocity(self, place: str) -> Vector:
        """World velocity of a place."""
        k, at = self.layout.places[place]
        return add(self._speed[k], cross(self._spin[k], apply(self.rotations[k], self._take(at))))

    def centre(self) -> Vector:
        """World position of the centre of mass."""
        mass, moment = 0.0, ZERO
        for j, link in enumerate(self.layout.links):
            if link.mass >= 0:
                (own,) = self._take((link.mass,))
                h = apply(self.rotations[j], self._take(link.first_moment))
                mass, moment = mass + own, add(moment, scale(own, self.origins[j]), h)
        return scale(1 / mass, moment)

    def rotation(self, coordinate: str) -> Columns:
        """The columns of the rotation matrix of the body that a coordinate moves."""
        return self.rotations[self.layout.index(coordinate)]


# ------------------------------------------------------------------------------------------------------------ vectors
# Plain tuples: CasADi drops products with 0 and 1 as they are written.


def add(*vectors: Vector) -> Vector:
    """The sum."""
    x, y, z = vectors[0]
    for u in vectors[1:]:
        x, y, z = x + u[0], y + u[1], z + u[2]
    return x, y, z


def subtract(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(s: Any, a: Vector) -> Vector:
    """S a."""
    return s * a[0], s * a[1], s * a[2]


def dot(a: Vector, b: Vector) -> Any:
    """The scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """The vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def apply(columns: Columns, a: Vector) -> Vector:
    """The matrix of these columns times a."""
    return add(scale(a[0], columns[0]), scale(a[1], columns[1]), scale(a[2], columns[2]))


def apply_transposed(columns: Columns, a: Vector) -> Vector:
    """The transposed matrix of these columns times a."""
    return dot(columns[0], a), dot(columns[1], a), dot(columns[2], a)


def _turned(columns: Columns, axis: int, c: Any, s: Any) -> Columns:
    """Columns of R J, J a rotation about an axis with this cosine and sine."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    new = list(columns)
    new[i] = add(scale(c, columns[i]), scale(s, columns[j]))
    new[j] = subtract(scale(c, columns[j]), scale(s, columns[i]))
    return new[0], new[1], new[2]
