"""Lengths, masses, centres of mass and inertias of a person, from stature, mass and sex or from measurements.

Every number comes from ``data/landmarks.csv`` and ``data/segments.csv``, where its source stands beside it. Units: m,
kg, kg m2. At q = 0 the person stands upright; x to the left, y up, z forward, the floor at y = 0, the ankles at z = 0.

A measured height stands by itself. A measured length of a limb's segment moves its far end, and with it what lies
beyond: a longer shank lifts the knee and the hip.

Example::

    body = Body.of(1.75, 75, "male", measured={"thigh.length": 0.44, "thigh.mass": 9.8})
    body.landmark("ankle_height")      # 0.06825
    body.segments()["shank_r"].mass    # 3.2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from kinecast.errors import InputError, brief, unknown
from kinecast.human.tables import rows
from kinecast.mechanism.checks import Array

# What the tables were measured on, widened a little; outside they would be guesses.
STATURE_RANGE = (1.30, 2.20)
MASS_RANGE = (35.0, 180.0)
BODY_MASS_INDEX_RANGE = (14.0, 50.0)
# ANSUR II (2012; 4082 men, 1986 women): mean and standard deviation of stature [m], mean body mass index [kg/m2].
_STATURE = {"male": (1.7562, 0.0686), "female": (1.6285, 0.0642)}
_BODY_MASS_INDEX = {"male": 27.7, "female": 25.6}
# Rajagopal et al. 2016: toes 0.217 kg of a foot of 1.57 kg; the toes' centre is half way between ball and tip.
_FOREFOOT_SHARE = 0.14
# Of the mass of head and neck, which de Leva's table does not divide: heads alone weigh about 4.2 kg (estimate).
_NECK_SHARE = 0.2
_PAIRED = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
# Segments whose length can be measured: (near end, far end, direction in which the far end lies).
_LIMBS = {
    "shank": ("ankle_height", "knee_height", 1.0),
    "thigh": ("knee_height", "hip_height", 1.0),
    "upper_arm": ("shoulder_height", "elbow_height", -1.0),
    "forearm": ("elbow_height", "wrist_height", -1.0),
    "hand": ("wrist_height", "fingertip_height", -1.0),
}
_FAR_END = {far: (near, far, f"{name}.length", out) for name, (near, far, out) in _LIMBS.items()}
_FAR_END["grip_height"] = ("wrist_height", "fingertip_height", "hand.length", -1.0)
# Each of these must be above the one before it.
_STACKS = (
    "ankle_height knee_height hip_height omphalion_height xiphion_height cervicale_height head_height",
    "hip_height lumbosacral_height spine2_height spine3_height spine4_height neck1_height neck2_height head_height",
    "fingertip_height grip_height wrist_height elbow_height shoulder_height head_height",
)


class Segment(NamedTuple):
    """One rigid segment at q = 0: mass, centre of mass (from the floor between the ankles), inertia about it."""

    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True)
class Body:
    """The measures of one person; made by `Body.of`."""

    stature: float
    mass: float
    sex: str
    measured: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        stature: float | None = None,
        mass: float | None = None,
        sex: str = "male",
        *,
        percentile: float | None = None,
        measured: Mapping[str, Any] | None = None,
    ) -> Body:
        """A person of a stature [m] and mass [kg], or of a stature `percentile` of the ANSUR II survey.

        A person given by a percentile has the survey's mean body mass index.
        """
        if not isinstance(sex, str) or sex not in _STATURE:
            raise unknown("sex", sex, _STATURE, key="sex")
        if percentile is not None:
            if stature is not None or mass is not None:
                raise InputError("human: give either stature and mass or a percentile, not both", key="percentile")
            percentile = within("percentile", percentile, (1, 99))
            mean, sd = _STATURE[sex]
            stature = mean + sd * NormalDist().inv_cdf(percentile / 100)
            mass = _BODY_MASS_INDEX[sex] * stature**2
        if stature is None or mass is None:
            raise InputError("human: stature [m] and mass [kg] are needed (or a percentile)", key="stature")
        stature = within("stature", stature, STATURE_RANGE, "m")
        mass = within("mass", mass, MASS_RANGE, "kg")
        index = mass / stature**2
        low, high = BODY_MASS_INDEX_RANGE
        if not low <= index <= high:
            raise InputError(
                f"human: {mass:g} kg at {stature:g} m is a body mass index of {index:.1f} kg/m2; the segment tables "
                f"hold for {low:g} to {high:g}, that is {low * stature**2:.0f} to {high * stature**2:.0f} kg",
                key="mass",
            )
        body = cls(stature, mass, sex, dict(measured or {}))
        body._check_measured()
        return body

    def _check_measured(self) -> None:
        known = [row["name"] for row in rows("landmarks")] + [f"{name}.length" for name in _LIMBS]
        known += [f"{row['name']}.{what}" for row in rows("segments") for what in ("mass", "com", "rg")]
        for key, value in self.measured.items():
            if key not in known:
                raise unknown("measure", key, known, key="measured")
            size = 3 if key.endswith(".rg") else 1
            wanted = "three positive numbers (sagittal, transverse, longitudinal)" if size == 3 else "a positive number"
            try:
                numbers = np.atleast_1d(np.asarray(value, dtype=float))
            except (TypeError, ValueError):
                numbers = np.empty(0)
            if numbers.shape != (size,) or not np.all(np.isfinite(numbers)) or np.any(numbers <= 0):
                raise InputError(f"human: measured {key} must be {wanted}, got {brief(value)}", key="measured")
        for stack in _STACKS:
            names = stack.split()
            for below, above in pairwise(names):
                low, high = self.landmark(below), self.landmark(above)
                if low >= high:
                    raise InputError(
                        f"human: {below} {low:.3f} m must be below {above} {high:.3f} m; measure both, or neither",
                        key="measured",
                    )

    def landmark(self, name: str) -> float:
        """A height above the floor, half width, or distance ahead of the ankle [m]; "-name" is minus that."""
        if name.startswith("-"):
            return -self.landmark(name[1:])
        if name == "0":
            return 0.0
        if name in self.measured:
            return float(self.measured[name])
        return self._tabled(name) + self._moved(name)

    def _tabled(self, name: str) -> float:
        for row in rows("landmarks"):
            if row["name"] == name:
                return float(row[self.sex]) * self.stature
        raise unknown("landmark", name, (row["name"] for row in rows("landmarks")))

    def _moved(self, name: str) -> float:
        """How far measured lengths of limbs move a landmark [m]."""
        if name in self.measured or name not in _FAR_END:
            return 0.0
        near, far, length, out = _FAR_END[name]
        longer = 0.0
        if length in self.measured:
            longer = out * float(self.measured[length]) - (self._tabled(far) - self._tabled(near))
        return self._moved(near) + longer

    def segments(self) -> dict[str, Segment]:
        """All segments by their names in ``data/coordinates.csv``; their masses add up to the person's mass."""
        masses, found = self._masses(), dict[str, Segment]()
        for row in rows("segments"):
            name = row["name"]
            if name == "foot":
                continue
            start, end = self.landmark(row["from"]), self.landmark(row["to"])
            com, radii = self._fractions(row)
            length, height, mass = start - end, start + (end - start) * com, masses[name]
            inertia = mass * (radii * length) ** 2
            if name == "middle_trunk":
                found |= _halves(("abdomen_high", "abdomen_low"), mass, start, end, inertia)
            elif name == "head":
                found |= self._head(Segment(mass, np.array([0.0, height, 0.0]), np.diag(inertia)))
            elif name == "upper_trunk":
                found |= _halves(("thorax_high", "thorax_low"), mass, start, end, inertia)
            elif name in _PAIRED:
                width = self.landmark("hip_half_width" if name in ("thigh", "shank") else "shoulder_half_width")
                found |= _pair(name, Segment(mass, np.array([width, height, 0.0]), np.diag(inertia)))
            else:
                found["pelvis" if name == "lower_trunk" else name] = Segment(
                    mass, np.array([0.0, height, 0.0]), np.diag(inertia)
                )
        return found | self._feet(masses["foot"])

    def _fractions(self, row: dict[str, str]) -> tuple[float, Array]:
        """(centre of mass, radii of gyration about x, y, z of an upright segment) as fractions of its length."""
        s, name = self.sex[0], row["name"]
        com = float(self.measured.get(f"{name}.com", float(row[f"com_{s}"]) / 100))
        radii = self.measured.get(
            f"{name}.rg", [float(row[f"rg_{axis}_{s}"]) / 100 for axis in ("sag", "trans", "long")]
        )
        sagittal, transverse, longitudinal = radii
        return com, np.array([transverse, longitudinal, sagittal])

    def _masses(self) -> dict[str, float]:
        """Mass of each segment (of one side); what is not measured shares the rest in the table's proportions."""
        sides = {row["name"]: 2 if row["name"] in _PAIRED else 1 for row in rows("segments")}
        table = {row["name"]: float(row[f"mass_{self.sex[0]}"]) for row in rows("segments")}
        known = {name: float(self.measured[f"{name}.mass"]) for name in table if f"{name}.mass" in self.measured}
        rest = self.mass - sum(sides[name] * mass for name, mass in known.items())
        share = sum(sides[name] * table[name] for name in table if name not in known)
        if rest <= 0 or not share:
            raise InputError(
                f"human: the measured segments leave {rest:g} kg of {self.mass:g} kg to the others", key="measured"
            )
        return {name: known.get(name, rest * table[name] / share) for name in table}

    def _head(self, whole: Segment) -> dict[str, Segment]:
        """Head and neck, which have together the mass, centre and inertia of `whole`: two joints, one mass each.

        The neck is a cylinder between its joints; without a mass there, its two axial rotations would be one.
        """
        low, high, radius = (self.landmark(name) for name in ("neck1_height", "neck2_height", "neck_half_width"))
        neck = _NECK_SHARE * whole.mass
        head = whole.mass - neck
        at = np.array([0.0, 0.5 * (low + high), 0.0])
        com = (whole.mass * whole.com - neck * at) / head
        across = neck / 12 * (3 * radius**2 + (high - low) ** 2)
        cylinder = np.array([across, 0.5 * neck * radius**2, across])
        apart = head * neck / whole.mass * (com[1] - at[1]) ** 2
        rest = np.diag(whole.inertia) - cylinder - np.array([apart, 0.0, apart])
        inertia = _physical(np.maximum(rest, cylinder))
        return {"neck": Segment(neck, at, np.diag(cylinder)), "head": Segment(head, com, np.diag(inertia))}

    def _feet(self, mass: float) -> dict[str, Segment]:
        row = next(row for row in rows("segments") if row["name"] == "foot")
        heel, toe, ball = -self.landmark("heel_back"), self.landmark("toe_forward"), self.landmark("ball_forward")
        com, (transverse, along, sagittal) = self._fractions(row)
        length, front = toe - heel, _FOREFOOT_SHARE * mass
        # For the foot, "longitudinal" is fore-aft and "sagittal" is vertical: it lies where the other segments stand.
        radii = length * np.array([transverse, sagittal, along])
        rear = mass - front
        z_front = 0.5 * (ball + toe)
        z_rear = (mass * (heel + com * length) - front * z_front) / rear
        width, height = self.landmark("hip_half_width"), 0.5 * self.landmark("ankle_height")
        # The forefoot is taken for a plate; the rear foot keeps what the whole foot has beyond the plate and the
        # distance between the two centres.
        thick, wide, deep = self.landmark("toe_joint_height"), 2 * self.landmark("ball_half_width"), toe - ball
        plate = front / 12 * np.array([thick**2 + deep**2, wide**2 + deep**2, thick**2 + wide**2])
        spread = front * rear / mass * (z_front - z_rear) ** 2
        remaining = mass * radii**2 - plate - np.array([spread, spread, 0.0])
        least = rear * (0.5 * height) ** 2
        inertia = _physical(np.maximum(remaining, least))
        x, low = width, 0.5 * self.landmark("toe_joint_height")
        # heights: de Leva gives none; half the ankle height for the rear foot, the middle of the plate for the forefoot
        return _pair("rearfoot", Segment(rear, np.array([x, height, z_rear]), np.diag(inertia))) | _pair(
            "forefoot", Segment(front, np.array([x, low, z_front]), np.diag(plate))
        )


def within(what: str, value: Any, limits: tuple[float, float], unit: str = "") -> float:
    """A number between two others, or the error that says so."""
    low, high = limits
    unit = f" {unit}" if unit else ""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"human: {what} must be a number, got {brief(value)}", key=what) from None
    if not isfinite(number) or not low <= number <= high:
        raise InputError(f"human: {what} must be between {low:g} and {high:g}{unit}, got {number:g}{unit}", key=what)
    return number


def _pair(name: str, left: Segment) -> dict[str, Segment]:
    """A segment of the left side and its mirror image."""
    flip = np.diag([-1.0, 1.0, 1.0])
    return {f"{name}_l": left, f"{name}_r": Segment(left.mass, flip @ left.com, flip @ left.inertia @ flip)}


def _halves(names: tuple[str, str], mass: float, top: float, bottom: float, inertia: Array) -> dict[str, Segment]:
    """A trunk segment cut at half its height into two equal halves that have, together, its inertia."""
    length = top - bottom
    apart = mass * (length / 4) ** 2
    half = _physical(0.5 * np.maximum(inertia - np.array([apart, 0.0, apart]), 0.0))
    middle = 0.5 * (top + bottom)
    offset = np.array([0.0, length / 4, 0.0])
    return {
        names[0]: Segment(mass / 2, np.array([0.0, middle, 0.0]) + offset, np.diag(half)),
        names[1]: Segment(mass / 2, np.array([0.0, middle, 0.0]) - offset, np.diag(half)),
    }


def _physical(moments: Array) -> Array:
    """Principal moments, the small ones raised until none exceeds the sum of the other two."""
    largest = int(np.argmax(moments))
    others = [k for k in range(3) if k != largest]
    lack = moments[largest] - moments[others].sum()
    if lack > 0:
        moments = moments.copy()
        moments[others] += 0.5 * lack
    return moments
