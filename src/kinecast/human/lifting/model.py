"""What of a person moves in a lift that is alike left and right, and the round bodies that nothing may touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinecast.human.contact import CORNERS, GLOBAL, SIDES
from kinecast.human.ergonomics.strength import sex_of
from kinecast.human.lifting.task import lifting_limits
from kinecast.human.skeleton import stature
from kinecast.human.tables import rows
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

# Without these there is no lift.
NEEDED = ("ankle_r.dorsiflexion", "knee_r.flexion", "hip_r.flexion", "shoulder_r.flexion", "elbow_r.flexion")


@dataclass(frozen=True)
class Plan:
    """Which coordinates of a structure are free in a symmetric lift, and which joints work."""

    coordinates: tuple[str, ...]  # all
    free: tuple[str, ...]  # of the right side and the middle
    source: tuple[int, ...]  # of each coordinate: the free one that it follows, or -1
    working: tuple[int, ...]  # coordinates of the right side and the middle that carry torque
    twice: tuple[float, ...]  # of each working one: how many there are
    boards: bool  # whether there is a shelf or a table


def plan(coordinates: tuple[str, ...], boards: bool) -> Plan:
    """The free coordinates of a lift among those of a structure."""
    free = tuple(name for name in coordinates if _sideless(name) in lifting_limits() and "_l." not in name)
    source = tuple(free.index(_right(name)) if _right(name) in free else -1 for name in coordinates)
    # What bends or turns the trunk sideways carries nothing in a symmetric lift.
    working = tuple(
        j
        for j, name in enumerate(coordinates)
        if j >= GLOBAL and "_l." not in name and not name.endswith((".lateral", ".rotation"))
    )
    twice = tuple(2.0 if "_r." in coordinates[j] else 1.0 for j in working)
    return Plan(coordinates, free, source, working, twice, boards)


def _right(name: str) -> str:
    return name.replace("_l.", "_r.")


def _sideless(name: str) -> str:
    return _right(name).replace("_r.", ".")


class Spot(NamedTuple):
    """A place on the body that must stay away: a part of the way between two places, with the row of its radius."""

    start: str
    end: str
    fraction: float
    body: int

    @property
    def name(self) -> str:
        """Of the part of the body."""
        return rows("body_thickness")[self.body]["name"]


def spots(*, of: str) -> tuple[Spot, ...]:
    """What the solver looks at, to keep it away from the "box" or from "boards"."""
    found = []
    for k, row in enumerate(rows("body_thickness")):
        if of == "boards" or row["box"] == "yes":
            fractions = np.linspace(0.0, 1.0, int(row["at"])).tolist()
            found += [Spot(row["from"], row["to"], fraction, k) for fraction in fractions]
    return tuple(found)


PLACES = tuple(
    dict.fromkeys(
        [row[end] for row in rows("body_thickness") for end in ("from", "to")]
        + [f"grip_{side}" for side in SIDES]
        + [f"{corner}_{side}" for side in SIDES for corner in CORNERS]
    )
)


def radii(structure: Structure) -> Array:
    """Of each round body of ``data/body_thickness.csv`` [m]."""
    return np.array([float(row[sex_of(structure)]) for row in rows("body_thickness")]) * stature(structure)
