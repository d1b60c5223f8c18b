"""The 55-coordinate skeleton of a person as a `Structure`: six global coordinates, spine, neck, arms and legs.

`kinecast.human(...)` is the same as a `Mechanism`, which computes.

Example::

    structure = human(1.75, 75, "male", freeze="walking")      # 39 coordinates move, 16 are held at 0
    structure.coordinates[6]                                   # 'hip_r.flexion'
    human(1.62, 60, "female", strength={"knee": 0.5}, limits={"ankle.dorsiflexion": (-0.1, 0.1)})   # weak, stiff

World axes: x to the left, y up, z forward. At q = 0 the person stands upright with the floor at y = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from kinecast.errors import InputError, unknown
from kinecast.human.anthropometry import Body, within
from kinecast.human.tables import number, rows
from kinecast.mechanism import Joint, Limits, Point, Structure, Transform

GRAVITY = 9.81
# Joints held at their neutral angles: what the thesis (5.1) freezes for walking. It counts 38 free coordinates, which
# no choice of whole spine joints gives; the upper spine joint frozen as a whole leaves 39.
FROZEN = {"nothing": (), "walking": ("spine4", "neck", "clavicle", "wrist")}
# Strength grows with body mass times stature (Anderson et al. 2007 normalise so); the table is for 75 kg and 1.75 m.
_STRENGTH_REFERENCE = 75.0 * 1.75
# Women reach 0.5 (arms) to 0.65 (legs) of men's torques [textbook range]; at mean masses and statures, 0.75 of mass
# times stature is 0.55 of the mean man's.
_STRENGTH_FEMALE = 0.75
# The trunk's: over height times weight, women's and men's differ little (Keller and Roy 2002, J. Spinal Disorders 15).
_STRENGTH_FEMALE_TRUNK = 1.0
# Standard deviation between people, as a fraction of the mean: Anderson et al. 2007, knee extension .25, hip extension
# .30, plantarflexion .23.
_STRENGTH_SPREAD = 0.25


@dataclass(frozen=True)
class Mirror:
    """Left-right exchange of a structure's coordinates: ``q_mirrored = sign * q[..., index]``."""

    index: tuple[int, ...]
    sign: tuple[float, ...]

    def __call__(self, q: Any) -> Any:
        """The mirrored coordinates (..., n)."""
        return np.asarray(q)[..., list(self.index)] * np.asarray(self.sign)


def human(
    stature: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    *,
    percentile: float | None = None,
    strength_percentile: float = 50.0,
    freeze: str | Iterable[str] = (),
    measured: Mapping[str, Any] | None = None,
    strength: Mapping[str, float] | None = None,
    limits: Mapping[str, Limits | tuple[float, float]] | None = None,
) -> Structure:
    """A person as a structure of 55 coordinates, or fewer when some are frozen.

    `stature` [m] and `mass` [kg], or a stature `percentile` of the ANSUR II survey. `strength_percentile`: of people of
    this size and sex. `measured`, in place of the tables': landmarks [m] by name, and of a segment "thigh.length" [m],
    "thigh.mass" [kg] (of one side), "thigh.com" and "thigh.rg" (fractions of the length).

    The rest goes by names of coordinates ("wrist_r.flexion"), of joints ("wrist_r"), or of both sides' ("wrist",
    "wrist.flexion"; "spine" is all its joints). `freeze`: held at 0; "walking" is the thesis's set. `strength`: factors
    on the torque limits (a weak joint). `limits`: a range (low, high) [rad], or `Limits`, in place of the table's (a
    stiff joint); what `Limits` leaves open stays as it is in the table.
    """
    body = Body.of(stature, mass, sex, percentile=percentile, measured=measured)
    table = rows("coordinates")
    frozen = _frozen_names(freeze)
    able = _strength(body, within("strength_percentile", strength_percentile, (1, 99)))
    trunk = able / _STRENGTH_FEMALE * _STRENGTH_FEMALE_TRUNK if body.sex == "female" else able
    weakness = _by_coordinate("strength", strength or {})
    own = _by_coordinate("limits", limits or {})
    segments, centre, joints = body.segments(), {"": np.zeros(3)}, []
    for row in table:
        name, parent = row["name"], row["parent"]
        centre[name] = np.array([body.landmark(row[f"centre_{axis}"]) for axis in "xyz"])
        segment = segments.get(row["body"])
        factor = within(f"strength of {name}", weakness.get(name, 1.0), (0.0, 10.0))
        joints.append(
            Joint(
                name,
                kind="fixed" if name in frozen else "prismatic" if row["kind"] == "prismatic" else "revolute",
                parent=parent or None,
                before=Transform(np.eye(3), centre[name] - centre[parent]),
                axis=np.array([float(row[f"axis_{axis}"]) for axis in "xyz"]),
                mass=segment.mass if segment else 0.0,
                com=segment.com - centre[name] if segment else np.zeros(3),
                inertia=segment.inertia if segment else np.zeros((3, 3)),
                limits=_merged(own.get(name), _limits(row, (trunk if name.startswith("spine") else able) * factor)),
            )
        )
    return Structure(
        f"human {body.stature:.2f} m {body.mass:.4g} kg {sex}",
        tuple(joints),
        points=tuple(_points(body, centre)),
        gravity=np.array([0.0, -GRAVITY, 0.0]),
        notes=("digital human: where its lengths, masses, limits and strengths come from is in docs/human.md",),
    )


def from_text(text: str) -> Structure:
    """The person that "1.75,75,male" or "1.75,75,male,walking" stands for: stature, mass, sex, what is frozen."""
    parts = text.split(",")
    try:
        stature, mass = (float(part) for part in parts[:2])
    except ValueError:
        raise InputError(
            f"a digital human is named human:STATURE,MASS,SEX, as in human:1.75,75,male, got human:{text}", key="human"
        ) from None
    return human(stature, mass, *parts[2:3], freeze=parts[3:])


def mirror(structure: Structure) -> Mirror:
    """The exchange of left and right in the structure's own (unfrozen) coordinates."""
    table = {row["name"]: row for row in rows("coordinates")}
    names = structure.coordinates
    for name in names:
        if name not in table or table[name]["mirror"] not in names:
            raise InputError(
                f"mirror: {name!r} of {structure.name!r} has no mirror image among its coordinates", key="mirror"
            )
    index = tuple(names.index(table[name]["mirror"]) for name in names)
    return Mirror(index, tuple(float(table[name]["mirror_sign"]) for name in names))


def body_mass(structure: Structure) -> float:
    """Mass of the person [kg], what he carries included."""
    return structure.mass


def stature(structure: Structure) -> float:
    """Height of the top of the head above the floor at q = 0 [m]."""
    return float(zero_position(structure, "head_top")[1])


def zero_position(structure: Structure, place: str) -> Any:
    """World position (3,) [m] of a point or of a joint's origin at q = 0, where no body frame is turned."""
    point = structure.point(place)
    return np.asarray(point.at) + sum(
        np.asarray(structure.joint(name).before.translation) for name in structure.chain(point.joint)
    )


def _frozen_names(freeze: str | Iterable[str]) -> set[str]:
    wanted = [freeze] if isinstance(freeze, str) else list(freeze)
    found: set[str] = set()
    for name in [part for whole in wanted for part in FROZEN.get(whole, (whole,))]:
        matching = _matching("joint to freeze", name, "freeze", FROZEN)
        if any(each.startswith("pelvis.") for each in matching):
            raise InputError(
                f"human: {name!r} cannot be frozen: the pelvis carries the whole body through the world", key="freeze"
            )
        found |= matching
    return found


def _by_coordinate(key: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping by whatever a coordinate answers to as one by coordinates; a name that says more comes last."""
    found: dict[str, Any] = {}
    for name in sorted(given, key=lambda name: -len(_matching("joint", name, key))):
        found |= dict.fromkeys(_matching("joint", name, key), given[name])
    return found


def _matching(kind: str, wanted: str, key: str, further: Iterable[str] = ()) -> set[str]:
    """The coordinates that answer to a name."""
    names = [row["name"] for row in rows("coordinates")]
    matching = {name for name in names if wanted in _groups(name)}
    if not matching:
        known = list(dict.fromkeys(group for name in names for group in reversed(_groups(name))))
        raise unknown(kind, wanted, [*further, *known], key=key)
    return matching


def _groups(name: str) -> tuple[str, ...]:
    """What a coordinate answers to: itself, its joint, both on either side, and spine or neck as a whole."""
    joint, motion = name.split(".")
    both = joint.removesuffix("_r").removesuffix("_l")
    return name, f"{both}.{motion}", joint, both, both.rstrip("0123456789")


def _strength(body: Body, percentile: float) -> float:
    """What the torques of the table are multiplied with."""
    size = body.mass * body.stature / _STRENGTH_REFERENCE * (_STRENGTH_FEMALE if body.sex == "female" else 1.0)
    return size * (1.0 + _STRENGTH_SPREAD * NormalDist().inv_cdf(percentile / 100))


def _limits(row: dict[str, str], strength: float) -> Limits:
    low, high, weakest, strongest = (
        number(row[key]) for key in ("lower_deg", "upper_deg", "torque_lower", "torque_upper")
    )
    q = None if low is None or high is None else (np.deg2rad(low), np.deg2rad(high))
    tau = None if weakest is None or strongest is None else (strength * weakest, strength * strongest)
    return Limits(q=q, tau=tau)


def _merged(own: Limits | tuple[float, float] | None, table: Limits) -> Limits:
    if own is None:
        return table
    if not isinstance(own, Limits):
        own = Limits(q=own)
    return Limits(*(getattr(own, key) or getattr(table, key) for key in ("q", "v", "tau")))


def _points(body: Body, centre: Mapping[str, Any]) -> Iterable[Point]:
    """Named points: soles, hands, the top of the head, the middle of the L5/S1 disc."""
    mark = body.landmark
    yield Point("head_top", "neck2.rotation", np.array([0.0, mark("head_height"), 0.0]) - centre["neck2.rotation"])
    yield Point("lumbosacral", "pelvis.turn", centre["spine1.flexion"] - centre["pelvis.turn"])
    for side, sign in (("r", -1.0), ("l", 1.0)):
        x = sign * mark("hip_half_width")
        rear, fore = f"ankle_{side}.eversion", f"toe_{side}.extension"
        heel, ball, toe = -mark("heel_back"), mark("ball_forward"), mark("toe_forward")
        yield Point(f"heel_{side}", rear, np.array([x, 0.0, heel]) - centre[rear])
        yield Point(f"ball_{side}", fore, np.array([x, 0.0, ball]) - centre[fore])
        yield Point(f"toe_{side}", fore, np.array([x, 0.0, toe]) - centre[fore])
        for name, joint, half, z in (("heel", rear, "heel_half_width", heel), ("ball", fore, "ball_half_width", ball)):
            for edge, out in (("inner", -1.0), ("outer", 1.0)):
                at = np.array([x + out * sign * mark(half), 0.0, z])
                yield Point(f"{name}_{edge}_{side}", joint, at - centre[joint])
        hand = f"wrist_{side}.radial_deviation"
        shoulder = sign * mark("shoulder_half_width")
        yield Point(f"grip_{side}", hand, np.array([shoulder, mark("grip_height"), 0.0]) - centre[hand])
