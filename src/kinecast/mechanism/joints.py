"""Joints, the bodies they carry, named points and loops: the parts of a `Structure`.

The pose of a joint's body in its parent's body is `before . J(axis, q) . after`, J a rotation about or a translation
along `axis` (rad, m):

| joint given by | before | axis | after |
|---|---|---|---|
| standard DH (theta, d, a, alpha) | Rz(theta) Tz(d) | z | Tx(a) Rx(alpha) |
| modified DH | Rx(alpha) Tx(a) Rz(theta) Tz(d) | z | 1 |
| origin and axis (URDF, general trees) | origin | axis | 1 |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.mechanism.checks import Array, finite_array, finite_number, interval, name, read_only
from kinecast.mechanism.geometry import Transform, rot_x, rot_z
from kinecast.mechanism.inertia import inertia_matrix

Kind = Literal["revolute", "continuous", "prismatic", "fixed"]
Convention = Literal["standard", "modified"]
LoopKind = Literal["point", "weld"]
Interval = tuple[float, float] | None

_ZERO = read_only(np.zeros(3))
_ZERO_INERTIA = read_only(np.zeros((3, 3)))
Z_AXIS = read_only(np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class Limits:
    """Bounds (lower, upper) of a joint's position, velocity and torque or force; None: no bound. A number is +-."""

    q: Interval = None
    v: Interval = None
    tau: Interval = None

    def __post_init__(self) -> None:
        for which in ("q", "v", "tau"):
            object.__setattr__(self, which, interval(getattr(self, which), "limits", which))


class DH(NamedTuple):
    """Denavit-Hartenberg constants (rad, m); q is added to theta (revolute) or to d (prismatic)."""

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0

    def transforms(self, convention: Convention) -> tuple[Transform, Transform]:
        """(before, after) of a joint along z with these constants."""
        along_z = Transform(rot_z(self.theta), np.array([0.0, 0.0, self.d]))
        along_x = Transform(rot_x(self.alpha), np.array([self.a, 0.0, 0.0]))
        if convention == "standard":
            return along_z, along_x
        return along_x @ along_z, Transform.identity()


class Place(NamedTuple):
    """A position `at` (m) in the body of `joint`, or in the ground frame when joint is None."""

    joint: str | None
    at: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint and the one body it carries, which has the joint's name.

    `com` (m) and `inertia` (kg m2, about the centre of mass; a (3, 3) matrix or `[Ixx, Iyy, Izz, Ixy, Ixz, Iyz]`) are
    in body axes. `actuator_inertia` is the reflected rotor inertia, added on the diagonal of the mass matrix.
    """

    name: str
    kind: Kind = "revolute"
    parent: str | None = None
    before: Transform = field(default_factory=Transform.identity)
    axis: Array = field(default_factory=lambda: Z_AXIS)
    after: Transform = field(default_factory=Transform.identity)
    mass: float = 0.0
    com: Array = field(default_factory=lambda: _ZERO)
    inertia: Array = field(default_factory=lambda: _ZERO_INERTIA)
    actuator_inertia: float = 0.0
    limits: Limits = field(default_factory=Limits)
    dh: DH | None = None

    def __post_init__(self) -> None:
        name(self.name, "joint")
        what = f"joint {self.name!r}"
        if self.kind not in get_args(Kind):
            raise unknown(f"type of {what}:", self.kind, get_args(Kind), key="type")
        put = object.__setattr__
        put(self, "axis", _unit(finite_array(self.axis, (3,), what, "axis"), what))
        put(self, "com", finite_array(self.com, (3,), what, "com"))
        put(self, "inertia", inertia_matrix(self.inertia, what))
        for key in ("mass", "actuator_inertia"):
            value = finite_number(getattr(self, key), what, key)
            if value < 0:
                raise InputError(f"{what}: {key} must be 0 or more, got {value:g}", key=key)
            put(self, key, value)
        if self.dh is not None:
            put(self, "dh", DH(*(finite_number(x, what, k) for k, x in zip(DH._fields, self.dh, strict=True))))

    @classmethod
    def from_dh(cls, name: str, dh: DH, convention: Convention = "standard", **other: Any) -> Joint:
        """A joint given by its four DH constants; `other` are further fields of the joint."""
        before, after = dh.transforms(convention)
        return cls(name, before=before, axis=Z_AXIS, after=after, dh=dh, **other)

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate."""
        return self.kind != "fixed"

    @property
    def turns(self) -> bool:
        """Whether the coordinate is an angle."""
        return self.kind in ("revolute", "continuous")


@dataclass(frozen=True, eq=False)
class Point:
    """A named point fixed at `at` (m) in the body of `joint`, or in the ground frame when joint is None."""

    name: str
    joint: str | None
    at: Array = field(default_factory=lambda: _ZERO)

    def __post_init__(self) -> None:
        name(self.name, "point")
        object.__setattr__(self, "at", finite_array(self.at, (3,), f"point {self.name!r}", "at"))


@dataclass(frozen=True, eq=False)
class Loop:
    """A closed loop: places `a` and `b` coincide (`point`), or do so without turning (`weld`)."""

    name: str
    a: Place
    b: Place
    kind: LoopKind = "point"

    def __post_init__(self) -> None:
        name(self.name, "loop")
        if self.kind not in get_args(LoopKind):
            raise unknown(f"kind of loop {self.name!r}:", self.kind, get_args(LoopKind), key="kind")
        for end in ("a", "b"):
            joint, at = getattr(self, end)
            object.__setattr__(self, end, Place(joint, finite_array(at, (3,), f"loop {self.name!r}", f"{end}.at")))


# An axis this close to unit length is kept to the last bit, so that writing and reading it again changes nothing.
_UNIT = 1e-15


def _unit(axis: Array, what: str) -> Array:
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise InputError(f"{what}: axis must have a direction, got {axis.tolist()}", key="axis")
    return axis if abs(length - 1) <= _UNIT else read_only(axis / length)
