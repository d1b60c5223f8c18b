"""A mechanism as text for people: what `kinecast info` prints."""

from __future__ import annotations

from math import inf

from kinecast.mechanism.geometry import Transform, roll_pitch_yaw
from kinecast.mechanism.joints import DH, Interval, Joint, Place
from kinecast.mechanism.model import Structure
from kinecast.tables import text_table


def describe(structure: Structure) -> str:
    """Tables of the joints (DH constants, origins), bodies, limits, points and loops; then the notes."""
    gravity = ", ".join(f"{x:g}" for x in structure.gravity)
    parts = [
        f"{structure.name}: {_count(structure.n, 'coordinate')}, {_count(len(structure.joints), 'joint')}, "
        f"{structure.mass:.6g} kg; gravity [{gravity}] m/s2"
    ]
    by_dh = [joint for joint in structure.joints if joint.dh is not None]
    by_frame = [joint for joint in structure.joints if joint.dh is None]
    if by_dh:
        header: tuple[str, ...] = (
            f"{structure.convention} DH",
            "type",
            "parent",
            "theta [rad]",
            "d [m]",
            "a [m]",
            "alpha [rad]",
        )
        parts.append(text_table(header, [(*_head(joint), *(joint.dh or DH())) for joint in by_dh]))
    if by_frame:
        header = ("joint", "type", "parent", "x [m]", "y [m]", "z [m]", "roll [rad]", "pitch", "yaw", "axis")
        parts.append(text_table(header, [(*_head(j), *_pose(j.before), _axis(j)) for j in by_frame]))
    solid = [joint for joint in structure.joints if joint.mass or joint.inertia.any() or joint.actuator_inertia]
    if solid:
        header = ("body", "mass [kg]", "x [m]", "y [m]", "z [m]", "Ixx [kg m2]", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
        parts.append(text_table((*header, "actuator"), [_body(joint) for joint in solid]))
    limited = [(j.name, *map(_bounds, (j.limits.q, j.limits.v, j.limits.tau))) for j in structure.joints]
    limited = [row for row in limited if any(row[1:])]
    if limited:
        parts.append(text_table(("limits", "q [rad, m]", "v [1/s]", "tau [N m, N]"), limited))
    if structure.points:
        rows = [(point.name, _parent(point.joint), *point.at.tolist()) for point in structure.points]
        parts.append(text_table(("point", "on", "x [m]", "y [m]", "z [m]"), rows))
    if structure.loops:
        loops = [(loop.name, loop.kind, _place(loop.a), _place(loop.b)) for loop in structure.loops]
        parts.append(text_table(("loop", "kind", "a", "b"), loops))
    if structure.notes:
        parts.append("\n".join(f"note: {note}" for note in structure.notes))
    return "\n\n".join(parts)


def _head(joint: Joint) -> tuple[str, str, str]:
    return joint.name, joint.kind, _parent(joint.parent)


def _parent(joint: str | None) -> str:
    return "(ground)" if joint is None else joint


def _pose(pose: Transform) -> list[float]:
    return [*pose.translation.tolist(), *(pose.rpy or roll_pitch_yaw(pose.rotation))]


def _axis(joint: Joint) -> str:
    if not joint.moves:
        return ""
    axis = joint.axis.tolist()
    for letter, unit in (("x", [1, 0, 0]), ("y", [0, 1, 0]), ("z", [0, 0, 1])):
        if axis in (unit, [-x for x in unit]):
            return letter if sum(axis) > 0 else f"-{letter}"
    return " ".join(f"{x:.4g}" for x in axis)


def _body(joint: Joint) -> tuple[object, ...]:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = joint.inertia.tolist()
    return (joint.name, joint.mass, *joint.com.tolist(), xx, yy, zz, xy, xz, yz, joint.actuator_inertia)


def _bounds(pair: Interval) -> str:
    if pair is None or pair == (-inf, inf):
        return ""
    low, high = pair
    return f"+-{high:.4g}" if low == -high else f"{low:.4g} .. {high:.4g}"


def _place(place: Place) -> str:
    return f"{_parent(place.joint)} [{', '.join(f'{x:g}' for x in place.at)}]"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
