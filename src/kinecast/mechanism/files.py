"""Mechanism files (YAML): plain data to a `Structure` and back; reading back what was written changes no bit.

A file of the user's is checked against the schema first (`schema.py`); that costs 60 ms once, for importing pydantic,
which built-in mechanisms, checked in the tests, are spared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import isinf, radians
from pathlib import Path
from typing import Any

from kinecast import yaml_text
from kinecast.errors import InputError, unknown
from kinecast.files import Source, read_whole, write_whole
from kinecast.mechanism.compound import BUILDERS
from kinecast.mechanism.geometry import Transform, roll_pitch_yaw
from kinecast.mechanism.joints import DH, Convention, Joint, Limits, Loop, Place, Point
from kinecast.mechanism.model import STANDARD_GRAVITY, Structure

Data = dict[str, Any]

_WHAT = "a mechanism file is YAML (.yaml, .yml) or URDF (.urdf)"
_ONLY_URDF = "only the root link of a URDF can be set floating; in YAML the first joint can be of type free"
_SUFFIXES = (".yaml", ".yml", ".urdf")
_FRAME_KEYS = ("origin", "axis", "after")  # a joint with none of them has DH constants, those left out being 0
_WITH_AXIS = ("cylindrical", "planar")  # the others of several coordinates take axes


def load(source: str | os.PathLike[str], *, floating: bool = False, allow_unphysical: bool = False) -> Structure:
    """The built-in mechanism of this name, or the one in this file."""
    from kinecast.mechanism import builtin

    name = os.fspath(source)
    if isinstance(source, str) and source in builtin.names():
        if floating:
            raise InputError(f"{name}: {_ONLY_URDF}")
        return builtin.load(source)
    if Path(name).suffix.lower() in _SUFFIXES or Path(name).name != name or not isinstance(source, str):
        return read(source, floating=floating, allow_unphysical=allow_unphysical)
    if Path(name).exists():
        raise InputError(f"{name}: {_WHAT}, told by the end of its name")
    error = unknown("mechanism", name, builtin.names())
    raise type(error)(f"{error}; or give a file: {_WHAT}")


def read(path: str | os.PathLike[str], *, floating: bool = False, allow_unphysical: bool = False) -> Structure:
    """The mechanism in a file; `floating` lets the root link of a URDF move freely (else it is the ground)."""
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InputError(f"{name}: {_WHAT}, told by the end of its name")
    text = read_whole(path, _WHAT)
    if suffix == ".urdf":
        from kinecast.mechanism import urdf

        return urdf.parse(text, name, floating=floating, allow_unphysical=allow_unphysical)
    if floating:
        raise InputError(f"{name}: {_ONLY_URDF}")
    return parse(text, name, allow_unphysical=allow_unphysical)


def parse(text: str, name: str, *, allow_unphysical: bool = False, checked: bool = False) -> Structure:
    """The mechanism in the YAML `text` of a file called `name`; if `checked`, the schema is known to be kept."""
    data, source = yaml_text.parse(text, name)
    if not checked:
        from kinecast.mechanism.schema import MechanismFile
        from kinecast.schema import check

        check(MechanismFile, data, source)
    return _structure(data, source, allow_unphysical)


def write(structure: Structure, path: str | os.PathLike[str]) -> None:
    """Write a mechanism file (YAML); it appears whole or not at all."""
    if Path(path).suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"{os.fspath(path)}: a mechanism is written as YAML; let the name end in .yaml")
    write_whole(Path(path), yaml_text.dump(as_data(structure)))


# ---------------------------------------------------------------- data -> structure


def _structure(data: Data, source: Source, allow_unphysical: bool) -> Structure:
    convention: Convention = data.get("convention", "standard")
    joints: list[Joint] = []
    entries: list[int] = []  # of every joint: which entry of the file it comes from
    bodies: dict[str, str] = {}  # of every entry: the joint that carries its body
    for i, entry in enumerate(data["joints"]):
        with source.at(f"joints[{i}]"):
            if entry["name"] in bodies:
                raise InputError(f"joint {entry['name']!r}: names must be unique", key="name")
            made = _joints(entry, joints[-1].name if joints else None, convention, data.get("angles") == "deg")
        bodies[entry["name"]] = made[-1].name
        joints += made
        entries += [i] * len(made)

    def place(given: Data) -> Place:
        return Place(bodies.get(given["joint"], given["joint"]), given.get("at", (0.0, 0.0, 0.0)))

    points = [Point(name, *place(given)) for name, given in data.get("points", {}).items()]
    # The name of a joint of several coordinates stays good for a place: it means its body.
    points += [Point(n, j) for n, j in bodies.items() if n != j and n not in data.get("points", {})]
    try:
        return Structure(
            name=data.get("name") or Path(source.name).stem,
            joints=tuple(replace(joint, parent=bodies.get(joint.parent or "", joint.parent)) for joint in joints),
            points=tuple(points),
            loops=tuple(
                Loop(given["name"], place(given["a"]), place(given["b"]), given.get("kind", "point"))
                for given in data.get("loops", [])
            ),
            gravity=data.get("gravity", STANDARD_GRAVITY),
            convention=convention,
            notes=tuple(data.get("notes", [])),
            allow_unphysical=allow_unphysical or data.get("allow_unphysical", False),
        )
    except InputError as error:
        path = re.sub(r"^joints\[(\d+)\]", lambda found: f"joints[{entries[int(found[1])]}]", error.key or "")
        raise source.error(path, str(error), like=error) from None


def _joints(entry: Data, before: str | None, convention: Convention, degrees: bool) -> tuple[Joint, ...]:
    """The one-coordinate joints of one entry; `before` is the joint before it."""
    name, kind = entry["name"], entry.get("type", "revolute")
    several = kind in BUILDERS
    _refuse_misplaced(entry, kind)
    other: Data = {key: entry[key] for key in ("mass", "com", "inertia", "actuator_inertia") if key in entry}
    other["parent"] = entry.get("parent", before)
    if (given := entry.get("limits")) is not None:
        with _under("limits"):
            other["limits"] = [one and Limits(**one) for one in given] if several else Limits(**given)
    if not several and not any(key in entry for key in _FRAME_KEYS):
        constants = {key: entry[key] for key in DH._fields if key in entry}
        for key in ("theta", "alpha"):
            constants[key] = _angle(constants.get(key, 0.0), degrees)
        made: tuple[Joint, ...] = (Joint.from_dh(name, DH(**constants), convention, kind=kind, **other),)
    else:
        other["before"] = _pose(entry, "origin", degrees)
        if several:
            other |= {key: entry[key] for key in ("axis", "axes", "coordinates") if key in entry}
            made = BUILDERS[kind](name, **other)
        else:
            other |= {"axis": entry["axis"]} if "axis" in entry else {}
            made = (Joint(name, kind, after=_pose(entry, "after", degrees), **other),)
    return tuple(_in_radians(joint) if degrees and joint.turns else joint for joint in made)


def _refuse_misplaced(entry: Data, kind: str) -> None:
    """Keys that mean nothing for this type of joint, or contradict each other."""
    several = kind in BUILDERS
    dh = [key for key in DH._fields if key in entry]
    strange: list[str] = [key for key in ("axes", "coordinates") if key in entry and not several]
    if several:
        strange = [*dh, *(["after"] if "after" in entry else [])]
        strange += ["axis"] if "axis" in entry and kind not in _WITH_AXIS else []
        strange += ["axes"] if "axes" in entry and kind in _WITH_AXIS else []
    if strange:
        fitting = ("origin, coordinates", "axis" if kind in _WITH_AXIS else "axes") if several else ("origin", "axis")
        raise InputError(
            f"joint {entry['name']!r}: {strange[0]} has no meaning for type {kind}, which takes {', '.join(fitting)}"
            + ("" if several else " or theta, d, a, alpha"),
            key=strange[0],
        )
    frames = [key for key in _FRAME_KEYS if key in entry]
    if dh and frames:
        raise InputError(
            f"joint {entry['name']!r}: {dh[0]} and {frames[0]} exclude each other: "
            "a joint is placed by DH constants or by origin and axis",
            key=frames[0],
        )
    for key, kinds in (("limits", dict), ("actuator_inertia", (int, float))):
        if key in entry and isinstance(entry[key], list if not several else kinds):
            one = "a list with one entry for each coordinate" if several else "one entry, not a list,"
            raise InputError(f"joint {entry['name']!r}: {key} must be {one} for type {kind}", key=key)


def _pose(entry: Data, key: str, degrees: bool) -> Transform:
    given = entry.get(key)
    if given is None:
        return Transform.identity()
    if "rpy" in given and "rotation" in given:
        raise InputError(f"joint {entry['name']!r}: rpy and rotation exclude each other", key=f"{key}.rotation")
    xyz = given.get("xyz", (0.0, 0.0, 0.0))
    with _under(key):
        if "rotation" in given:
            return Transform(given["rotation"], xyz)
        return Transform.from_xyz_rpy(xyz, [_angle(x, degrees) for x in given.get("rpy", (0.0, 0.0, 0.0))])


def _angle(value: float, degrees: bool) -> float:
    return radians(value) if degrees else float(value)


def _in_radians(joint: Joint) -> Joint:
    def converted(pair: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if pair is None else (radians(pair[0]), radians(pair[1]))

    limits = joint.limits
    return replace(joint, limits=Limits(converted(limits.q), converted(limits.v), limits.tau))


@contextmanager
def _under(part: str) -> Iterator[None]:
    """Errors raised inside are about something in `part`."""
    try:
        yield
    except InputError as error:
        raise type(error)(str(error), key=f"{part}.{error.key}" if error.key else part) from None


# ---------------------------------------------------------------- structure -> data


def as_data(structure: Structure) -> Data:
    """A mechanism as plain data, as in a mechanism file: angles in rad, what is nothing or does nothing left out."""
    data: Data = {
        "name": structure.name,
        "convention": structure.convention,
        "gravity": structure.gravity.tolist(),
        "joints": [_joint_data(joint) for joint in structure.joints],
        "points": {point.name: {"joint": point.joint, "at": point.at.tolist()} for point in structure.points},
        "loops": [
            {
                "name": loop.name,
                "a": {"joint": loop.a.joint, "at": loop.a.at.tolist()},
                "b": {"joint": loop.b.joint, "at": loop.b.at.tolist()},
                "kind": loop.kind,
            }
            for loop in structure.loops
        ],
    }
    if structure.notes:
        data["notes"] = list(structure.notes)
    if structure.allow_unphysical:
        data["allow_unphysical"] = True
    return data


def _joint_data(joint: Joint) -> Data:
    data: Data = {"name": joint.name, "type": joint.kind, "parent": joint.parent}
    if joint.dh is not None:
        data |= joint.dh._asdict()
    else:
        data["origin"] = _pose_data(joint.before)
        data["axis"] = joint.axis.tolist()
        if joint.after != Transform.identity():
            data["after"] = _pose_data(joint.after)
    if joint.mass:
        data["mass"] = joint.mass
    if joint.com.any():
        data["com"] = joint.com.tolist()
    if joint.inertia.any():
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = joint.inertia.tolist()
        data["inertia"] = [xx, yy, zz, xy, xz, yz]
    if joint.actuator_inertia:
        data["actuator_inertia"] = joint.actuator_inertia
    limits = {key: getattr(joint.limits, key) for key in ("q", "v", "tau")}
    if any(pair is not None for pair in limits.values()):
        data["limits"] = {
            key: [None if isinf(end) else end for end in pair] for key, pair in limits.items() if pair is not None
        }
    return data


def _pose_data(pose: Transform) -> Data:
    """By angles where they give back this very rotation, else by the matrix."""
    xyz = pose.translation.tolist()
    for angles in (pose.rpy, roll_pitch_yaw(pose.rotation)):
        if angles is not None and Transform.from_xyz_rpy(xyz, angles) == pose:
            return {"xyz": xyz, "rpy": list(angles)}
    return {"xyz": xyz, "rotation": pose.rotation.tolist()}
