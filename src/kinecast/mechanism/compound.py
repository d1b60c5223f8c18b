"""Joints with more than one coordinate: sequences of one-coordinate joints with massless bodies between.

The pose of the last body, which carries the mass, is `before . J1(q1) . J2(q2) ...`. The joints are named
`hip.flexion`, `hip.abduction`, ...: the name of the whole and that of the coordinate.

| joint | coordinates, in order | their names unless given |
|---|---|---|
| universal | turns about two axes | x, y |
| spherical | turns about three axes | x, y, z |
| cylindrical | slides along an axis, turns about it | z, rz |
| planar | slides along two axes of a plane, turns about its normal | x, y, rz |
| free | slides along x, y, z of the parent, turns about three axes | x, y, z, rx, ry, rz |

Three turns in a row reach every attitude, and lose one direction where the first and the last axis are parallel (with
axes x, y, z: where the second angle is a right one).

>>> hip = compound.spherical("hip", axes="xzy", coordinates=("flexion", "abduction", "rotation"), parent="pelvis")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError
from kinecast.mechanism.checks import Array, finite_array
from kinecast.mechanism.geometry import Transform
from kinecast.mechanism.joints import Joint, Kind, Limits

Axis = str | ArrayLike  # "x", "y", "z" or three numbers
_Part = tuple[Kind, Array, str]  # the joint's kind, its axis, and the name of its coordinate ("": none comes naturally)

_LETTERS = "xyz"
_PARALLEL = 1e-6  # sine of the angle below which two successive axes are taken for one


def universal(name: str, axes: Sequence[Axis] = "xy", **other: Any) -> tuple[Joint, ...]:
    """Turns about two axes, the second carried along by the first. For `other` see `sequence`."""
    return sequence(name, _turns(name, axes, 2), **other)


def spherical(name: str, axes: Sequence[Axis] = "xyz", **other: Any) -> tuple[Joint, ...]:
    """Turns about three axes, each carried along by those before it. For `other` see `sequence`."""
    return sequence(name, _turns(name, axes, 3), **other)


def cylindrical(name: str, axis: Axis = "z", **other: Any) -> tuple[Joint, ...]:
    """Slides along an axis and turns about it. For `other` see `sequence`."""
    along, word = _direction(name, axis)
    return sequence(name, [("prismatic", along, word), ("revolute", along, word and f"r{word}")], **other)


def planar(name: str, axis: Axis = "z", **other: Any) -> tuple[Joint, ...]:
    """Slides in the plane whose normal is `axis` and turns about the normal. For `other` see `sequence`."""
    normal, word = _direction(name, axis)
    if word:
        k = _LETTERS.index(word)
        inside = [_direction(name, _LETTERS[(k + step) % 3]) for step in (1, 2)]
    else:  # any two directions that make a right-handed frame with the normal
        normal = normal / np.linalg.norm(normal)
        first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        first = first / np.linalg.norm(first)
        inside = [(first, ""), (np.cross(normal, first), "")]
    slides: list[_Part] = [("prismatic", along, letter) for along, letter in inside]
    return sequence(name, [*slides, ("revolute", normal, word and f"r{word}")], **other)


def free(name: str, axes: Sequence[Axis] = "xyz", **other: Any) -> tuple[Joint, ...]:
    """Slides along x, y, z of the parent, then turns about three axes. For `other` see `sequence`."""
    slides: list[_Part] = [("prismatic", axis, letter) for axis, letter in zip(np.eye(3), _LETTERS, strict=True)]
    turns = [(kind, axis, word and f"r{word}") for kind, axis, word in _turns(name, axes, 3)]
    return sequence(name, [*slides, *turns], **other)


BUILDERS: dict[str, Callable[..., tuple[Joint, ...]]] = {
    "universal": universal,
    "spherical": spherical,
    "cylindrical": cylindrical,
    "planar": planar,
    "free": free,
}


def sequence(
    name: str,
    parts: Sequence[_Part],
    *,
    coordinates: Sequence[str] | None = None,
    parent: str | None = None,
    before: Transform | None = None,
    limits: Sequence[Limits | None] | None = None,
    actuator_inertia: Sequence[float] | None = None,
    **body: Any,
) -> tuple[Joint, ...]:
    """The one-coordinate joints of a joint called `name`.

    `before` is the pose of the joint in its parent's body; `coordinates`, `limits` and `actuator_inertia` have one
    entry for each coordinate; `body` (mass, com, inertia) is of the last joint.
    """
    n = len(parts)
    for key, given in (("coordinates", coordinates), ("limits", limits), ("actuator_inertia", actuator_inertia)):
        if given is not None and (isinstance(given, str) or len(given) != n):
            raise InputError(
                f"joint {name!r}: {key} must have one entry for each of its {n} coordinates, got {given!r}", key=key
            )
    words = [word for _, _, word in parts] if coordinates is None else coordinates
    if coordinates is None and (not all(words) or len(set(words)) < n):
        raise InputError(
            f"joint {name!r}: with these axes its {n} coordinates need names; give coordinates: [...]",
            key="coordinates",
        )
    joints: list[Joint] = []
    for k, (kind, axis, _) in enumerate(parts):
        joints.append(
            Joint(
                f"{name}.{words[k]}",
                kind,
                parent=joints[-1].name if joints else parent,
                before=before if before is not None and k == 0 else Transform.identity(),
                axis=axis,
                limits=(limits[k] if limits is not None else None) or Limits(),
                actuator_inertia=actuator_inertia[k] if actuator_inertia is not None else 0.0,
                **(body if k == n - 1 else {}),
            )
        )
    return tuple(joints)


def _turns(name: str, axes: Sequence[Axis], n: int) -> list[_Part]:
    if len(axes) != n:
        raise InputError(f"joint {name!r}: axes must be {n} directions, got {axes!r}", key="axes")
    parts: list[_Part] = []
    for axis in axes:
        direction, word = _direction(name, axis)
        if parts:
            last = parts[-1][1]
            sine = np.linalg.norm(np.cross(last, direction)) / np.linalg.norm(last) / np.linalg.norm(direction)
            if sine < _PARALLEL:
                raise InputError(f"joint {name!r}: two axes that follow each other must not be parallel", key="axes")
        parts.append(("revolute", direction, word))
    return parts


def _direction(name: str, axis: Axis) -> tuple[Array, str]:
    """The direction, and its letter where it is x, y or z."""
    if isinstance(axis, str):
        if axis not in tuple(_LETTERS):
            raise InputError(f"joint {name!r}: an axis must be x, y, z or three numbers, got {axis!r}", key="axes")
        return np.eye(3)[_LETTERS.index(axis)], axis
    direction = finite_array(axis, (3,), f"joint {name!r}", "axis")
    if not direction.any():
        raise InputError(f"joint {name!r}: axis must have a direction, got {direction.tolist()}", key="axis")
    for letter, unit in zip(_LETTERS, np.eye(3), strict=True):
        if np.array_equal(direction, unit):
            return direction, letter
    return direction, ""
