"""A mechanism as data: `Structure`, and (re-exported) the parts it is made of.

Plain data, checked when it is made and never changed afterwards. Units: SI, angles in rad.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import fsum
from os import PathLike
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError, NotSupportedError, unknown
from kinecast.mechanism.checks import Array, finite_array, name, read_only
from kinecast.mechanism.geometry import Transform, rot_x, rot_y, rot_z
from kinecast.mechanism.inertia import flaw, flaw_cannot_matter, spins
from kinecast.mechanism.joints import DH, Z_AXIS, Convention, Joint, Limits, Loop, Place, Point

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DH", "Joint", "Limits", "Loop", "Place", "Point", "Structure", "Transform", "rot_x", "rot_y", "rot_z"]

STANDARD_GRAVITY = read_only(np.array([0.0, 0.0, -9.81]))


@dataclass(frozen=True, eq=False)
class Structure:
    """A mechanism as data. Joints stay in the order given, which is the order of the coordinates q.

    `gravity` is the acceleration vector (m/s2, world axes). `convention` says which DH convention the joints that have
    DH constants follow. `notes` are remarks on where the data come from and what was left out.
    `allow_unphysical` accepts inertias that no body has (some vendors' files need it).
    """

    name: str
    joints: tuple[Joint, ...]
    points: tuple[Point, ...] = ()
    loops: tuple[Loop, ...] = ()
    gravity: Array = field(default_factory=lambda: STANDARD_GRAVITY)
    convention: Convention = "standard"
    notes: tuple[str, ...] = ()
    allow_unphysical: bool = False

    def __post_init__(self) -> None:
        name(self.name, "mechanism")
        for key in ("joints", "points", "loops", "notes"):
            object.__setattr__(self, key, tuple(getattr(self, key)))
        object.__setattr__(self, "gravity", finite_array(self.gravity, (3,), f"mechanism {self.name!r}", "gravity"))
        if self.convention not in get_args(Convention):
            raise unknown("DH convention", self.convention, get_args(Convention), key="convention")
        if not any(joint.moves for joint in self.joints):
            raise InputError(f"mechanism {self.name!r}: joints must hold at least one that moves", key="joints")
        self._check_names()
        for joint in self.joints:
            if joint.dh is not None and not (
                joint.dh.transforms(self.convention) == (joint.before, joint.after)
                and np.array_equal(joint.axis, Z_AXIS)
            ):
                raise InputError(
                    f"joint {joint.name!r}: before, axis and after are not those of its {self.convention} "
                    "DH constants; make it with Joint.from_dh",
                    key="dh",
                )
        if not self.allow_unphysical:
            self._refuse_unphysical()

    def _check_names(self) -> None:
        seen: dict[str, str] = {}
        named = [("joint", f"joints[{i}].name", joint.name) for i, joint in enumerate(self.joints)]
        named += [("point", f"points.{point.name}", point.name) for point in self.points]
        for kind, key, given in named:
            if given in seen:
                raise InputError(
                    f"{kind} {given!r}: a {seen[given]} already has this name; names must be unique", key=key
                )
            seen[given] = kind
        loop_names = [loop.name for loop in self.loops]
        for k, loop_name in enumerate(loop_names):
            if loop_name in loop_names[:k]:
                raise InputError(f"loop {loop_name!r}: names must be unique", key=f"loops[{k}].name")
        for i, joint in enumerate(self.joints):
            self._known_joint(f"parent of joint {joint.name!r}:", joint.parent, f"joints[{i}].parent")
        for point in self.points:
            self._known_joint(f"joint of point {point.name!r}:", point.joint, f"points.{point.name}.joint")
        for k, loop in enumerate(self.loops):
            self._known_joint(f"joint of loop {loop.name!r}, end a:", loop.a.joint, f"loops[{k}].a.joint")
            self._known_joint(f"joint of loop {loop.name!r}, end b:", loop.b.joint, f"loops[{k}].b.joint")
        self.order  # noqa: B018  (refuses cycles)

    def _known_joint(self, kind: str, joint: str | None, key: str) -> None:
        if joint is not None and joint not in self._index:
            raise unknown(kind, joint, self._index, key=key)

    # ---------------------------------------------------------------- the tree

    @cached_property
    def _index(self) -> dict[str, int]:
        return {joint.name: i for i, joint in enumerate(self.joints)}

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each joint's parent in `joints`, -1 for the ground."""
        return tuple(-1 if joint.parent is None else self._index[joint.parent] for joint in self.joints)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Indices into `joints` with every parent before its children, otherwise in the order given."""
        done: list[int] = []
        state = dict.fromkeys(range(-1, len(self.joints)), "new") | {-1: "done"}
        for start in range(len(self.joints)):
            path = []
            at = start
            while state[at] == "new":
                state[at] = "open"
                path.append(at)
                at = self.parents[at]
            if state[at] == "open":
                names = [self.joints[i].name for i in path[path.index(at) :]]
                raise InputError(
                    f"joints {' -> '.join([*names, names[0]])} are each other's parents: a cycle; "
                    "one of them must hang on the ground (parent null) or on another joint",
                    key=f"joints[{at}].parent",
                )
            for i in reversed(path):
                state[i] = "done"
                done.append(i)
        return tuple(done)

    @cached_property
    def movable(self) -> tuple[Joint, ...]:
        """The joints that have a coordinate, in order."""
        return tuple(joint for joint in self.joints if joint.moves)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates q, in order."""
        return tuple(joint.name for joint in self.movable)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def mass(self) -> float:
        """Mass of all bodies, kg."""
        return fsum(joint.mass for joint in self.joints)

    def joint(self, name: str) -> Joint:
        """The joint called `name`."""
        if name not in self._index:
            raise unknown("joint", name, self._index)
        return self.joints[self._index[name]]

    def point(self, name: str) -> Point:
        """The point called `name`; the name of a joint means the origin of its body frame."""
        for point in self.points:
            if point.name == name:
                return point
        if name in self._index:
            return Point(name, name)
        raise unknown("point", name, [*(point.name for point in self.points), *self._index])

    def children(self, name: str | None) -> tuple[str, ...]:
        """Names of the joints that hang on `name` (None: on the ground), in order."""
        if name is not None:
            self.joint(name)
        return tuple(joint.name for joint in self.joints if joint.parent == name)

    def chain(self, name: str | None) -> tuple[str, ...]:
        """Names of the joints from the ground to `name`, itself included (None is the ground: no joints)."""
        names: list[str] = []
        while name is not None:
            names.append(name)
            name = self.joint(name).parent
        return tuple(reversed(names))

    @cached_property
    def planar_bodies(self) -> tuple[str, ...]:
        """Bodies whose inertia is complete only as long as the ground does not turn (see the module `inertia`)."""
        return tuple(name for name, _, excused in self._flaws if excused)

    @cached_property
    def _flaws(self) -> list[tuple[str, str, bool]]:
        """(body, what is wrong with its inertia, excused because the body moves in a plane) of every such body."""
        turning = spins(self.joints[i] for i in self.order)
        found = []
        for joint in self.joints:
            if (wrong := flaw(joint.inertia)) is not None:
                message, excusable = wrong
                excused = excusable and flaw_cannot_matter(joint.inertia, turning[joint.name])
                found.append((joint.name, message, excused))
        return found

    def _refuse_unphysical(self) -> None:
        for joint, message, excused in self._flaws:
            if not excused:
                raise InputError(
                    f"joint {joint!r}: {message}; allow_unphysical accepts it",
                    key=f"joints[{self._index[joint]}].inertia",
                )

    def require_open(self, what: str) -> None:
        """Raise when there are closed loops, which `what` cannot handle."""
        if self.loops:
            raise NotSupportedError(
                f"{what} of {self.name!r}: closed loops ({', '.join(loop.name for loop in self.loops)}) are not "
                "supported yet by any method; remove them with replace(loops=())"
            )

    # ---------------------------------------------------------------- copies, identity, text

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """A copy under another gravity (m/s2, world axes)."""
        return self.replace(gravity=gravity)

    def fingerprint(self) -> str:
        """Hexadecimal SHA-256 of all that changes a computed number (not: limits, notes, the mechanism's name)."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256(b"kinecast structure 1")

        def add(words: object, *arrays: ArrayLike) -> None:
            digest.update(repr(words).encode())
            for array in arrays:  # adding 0 turns -0.0 into 0.0
                digest.update((np.asarray(array, dtype="<f8") + 0.0).tobytes())

        add(self.convention if any(joint.dh is not None for joint in self.joints) else None, self.gravity)
        for joint in self.joints:
            kind = "revolute" if joint.turns else joint.kind
            add((joint.name, kind, joint.parent, joint.dh is not None), joint.dh or ())
            add("body", joint.mass, joint.com, joint.inertia, joint.actuator_inertia, joint.axis)
            add("pose", *(x for pose in (joint.before, joint.after) for x in (pose.rotation, pose.translation)))
        for point in sorted(self.points, key=lambda point: point.name):
            add((point.name, point.joint), point.at)
        for loop in self.loops:
            add((loop.name, loop.a.joint, loop.b.joint, loop.kind), loop.a.at, loop.b.at)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Whether all data are the same, to the last bit."""
        if not isinstance(other, Structure):
            return NotImplemented
        return self.fingerprint() == other.fingerprint() and self._remarks == other._remarks

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    @property
    def _remarks(self) -> object:
        """What is not part of the fingerprint."""
        limits = [(joint.kind, joint.limits) for joint in self.joints]
        return self.name, self.notes, self.allow_unphysical, self.convention, limits

    def describe(self) -> str:
        """A text for people: tables of joints, masses, limits, points and loops, and the notes."""
        from kinecast.mechanism.describe import describe

        return describe(self)

    # ---------------------------------------------------------------- ways in and out

    @classmethod
    def load(cls, source: str | PathLike[str], *, floating: bool = False, allow_unphysical: bool = False) -> Self:
        """The built-in mechanism of this name (see `builtin.names()`), or the one in this file (see `read`)."""
        from kinecast.mechanism import files

        return cls.of(files.load(source, floating=floating, allow_unphysical=allow_unphysical))

    @classmethod
    def read(cls, path: str | PathLike[str], *, floating: bool = False, allow_unphysical: bool = False) -> Self:
        """The mechanism in a file: YAML, or URDF, whose root link is the ground or, with `floating`, moves freely.

        `allow_unphysical` accepts inertias that no body has (in YAML the file itself can say so).
        """
        from kinecast.mechanism import files

        return cls.of(files.read(path, floating=floating, allow_unphysical=allow_unphysical))

    def write(self, path: str | PathLike[str]) -> None:
        """Write a mechanism file (YAML), which appears whole or not at all; reading it gives this mechanism back."""
        from kinecast.mechanism import files

        files.write(self, path)

    def as_data(self) -> dict[str, Any]:
        """Plain data (mappings, lists, numbers, text), as in a mechanism file."""
        from kinecast.mechanism import files

        return files.as_data(self)

    @classmethod
    def of(cls, structure: Structure) -> Self:
        """The same data as an object of this class."""
        if type(structure) is cls:
            return structure
        return cls(**{f.name: getattr(structure, f.name) for f in fields(Structure)})

    @classmethod
    def serial(cls, n: int, seed: int = 0) -> Self:
        """A chain of `n` revolute joints with general twists and random, physical inertias: for counts and scaling."""
        from kinecast.mechanism.builtin import serial

        return cls.of(serial(n, seed))
