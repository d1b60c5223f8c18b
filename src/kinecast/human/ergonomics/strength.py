"""How much of its strength each joint uses: torque over the strength at the joint's angle and speed.

Legs, Anderson, Madigan and Nussbaum 2007 (J. Biomechanics 40, 3105-3113; healthy people of 18 to 25), for hip and knee
flexion q > 0 and ankle dorsiflexion q > 0, with body mass m, stature H and the speed w at which the muscles shorten:

    T(q, w) = C1 m g H cos(C2 (q - C3)) F(w)
    F(w) = (2 C4 C5 + w (C5 - 3 C4)) / (2 C4 C5 + w (2 C5 - 4 C4))                       w >= 0
    F(w) = (2 C4 C5 - w (C5 - 3 C4)) / (2 C4 C5 - w (2 C5 - 4 C4)) (1 - C6 w)            w < 0

so that F(C4) = 0.75 and F(C5) = 0.5. It was measured between 0 and about 5 rad/s; beyond 8 rad/s w is cut there, F is
cut to [0, 1.5] and the cosine to positive values. The passive torques of the paper are left out: its active part is
compared. All other joints: the torque limits of the structure (`data/coordinates.csv` says where they come from), which
know neither angle nor speed.

Example::

    use = strength_use(structure, q, v, tau, sex="male")      # (N, n), 1 is all of the strength
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError, unknown
from kinecast.human.carrying import own_mass, unloaded
from kinecast.human.skeleton import stature
from kinecast.human.tables import rows
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

SOURCE = "legs: Anderson et al. 2007, by angle and speed (18 to 25 years); other joints: static limits of the skeleton"
VALID = "healthy people; legs up to about 5 rad/s, other joints isometric: neither angle nor speed counts there"
# Joint of the table: (coordinate without its side, sign of a torque that extends it).
LEG_JOINTS = {"hip": ("hip.flexion", -1.0), "knee": ("knee.flexion", -1.0), "ankle": ("ankle.dorsiflexion", -1.0)}
FASTEST = 8.0  # [rad/s]
WIDEST = 0.5 * np.pi  # [rad]
MOST = 1.5  # of the isometric strength, lengthening
# Joints that cannot hold anything at an angle count as fully used by this part of the largest strength.
_LEAST = 0.01


def leg_strength(sex: str, mass: float, height: float) -> dict[str, Array]:
    """(C1 m g H [N m], C2, C3, C4, C5, C6) by "hip_extension", ... for a person of a body mass [kg] and stature [m]."""
    found = {}
    for row in rows("strength_speed"):
        if row["sex"] == sex:
            values = np.array([float(row[f"c{k}"]) for k in range(1, 7)])
            values[0] *= mass * 9.81 * height
            found[f"{row['joint']}_{row['direction']}"] = values
    if not found:
        raise unknown("sex", sex, ("male", "female"), key="sex")
    return found


def surface(coefficients: Any, q: Any, w: Any, rounding: float = 0.0) -> Any:
    """Strength [N m] at angle q [rad] and shortening speed w [rad/s], arrays or symbols; `rounding` softens kinks."""
    c1, c2, c3, c4, c5, c6 = (coefficients[k] for k in range(6))
    cosine = _cos(c2 * (_smaller(q, WIDEST, rounding) - c3))
    speed = _smaller(_larger(w, -FASTEST, rounding), FASTEST, rounding)
    shortening, lengthening = _larger(speed, 0.0, rounding), _larger(-speed, 0.0, rounding)
    slower = (2 * c4 * c5 + shortening * (c5 - 3 * c4)) / (2 * c4 * c5 + shortening * (2 * c5 - 4 * c4))
    stronger = (2 * c4 * c5 + lengthening * (c5 - 3 * c4)) / (2 * c4 * c5 + lengthening * (2 * c5 - 4 * c4))
    force = slower + stronger * (1 + c6 * lengthening) - 1
    force = _smaller(_larger(force, 0.0, 0.2 * rounding), MOST, 0.2 * rounding)
    return c1 * _larger(cosine, 0.0, 0.2 * rounding) * force


def strength_use(
    structure: Structure, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, sex: str | None = None
) -> Array:
    """Torque over strength (N, n), 1 is all of it; 0 for the six global coordinates and joints without a strength.

    `sex` picks the table's rows; None: as `human()` named the structure.
    """
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    use = np.zeros(tau.shape)
    for j, joint in enumerate(structure.movable):
        if joint.limits.tau is not None:
            low, high = joint.limits.tau
            use[..., j] = np.where(tau[..., j] >= 0, tau[..., j] / high, tau[..., j] / low) if low and high else 0.0
    coefficients = leg_strength(sex_of(structure, sex), own_mass(structure), stature(structure))
    for each in legs(structure):
        able = {
            way: np.maximum(
                surface(coefficients[f"{each.joint}_{way}"], q[..., each.index], sign * v[..., each.index]),
                _LEAST * coefficients[f"{each.joint}_{way}"][0],
            )
            for way, sign in (("extension", each.extends), ("flexion", -each.extends))
        }
        extending = each.extends * tau[..., each.index]
        use[..., each.index] = np.where(extending >= 0, extending / able["extension"], -extending / able["flexion"])
    return use


@dataclass(frozen=True)
class Leg:
    """A coordinate of the legs whose strength is known by angle and speed."""

    joint: str
    index: int
    extends: float


def legs(structure: Structure) -> Iterator[Leg]:
    """The coordinates of a structure that the table knows."""
    for joint, (coordinate, extends) in LEG_JOINTS.items():
        for side in ("r", "l"):
            name = coordinate.replace(".", f"_{side}.")
            if name in structure.coordinates:
                yield Leg(joint, structure.coordinates.index(name), extends)


def sex_of(structure: Structure, sex: str | None = None) -> str:
    """The sex given, or the one that `human()` wrote into the structure's name."""
    if sex is not None:
        if sex not in ("male", "female"):
            raise unknown("sex", sex, ("male", "female"), key="sex")
        return sex
    name = unloaded(structure).name
    word = name.split()[-1] if name.startswith("human ") else ""
    if word not in ("male", "female"):
        raise InputError(
            f"strength: {structure.name!r} does not say whether it is a man or a woman; give sex='male' or 'female'",
            key="sex",
        )
    return word


def _larger(a: Any, b: Any, rounding: float) -> Any:
    """The larger of two, its kink rounded."""
    return 0.5 * (a + b + ((a - b) ** 2 + rounding**2) ** 0.5)


def _smaller(a: Any, b: Any, rounding: float) -> Any:
    return -_larger(-a, -b, rounding)


def _cos(x: Any) -> Any:
    if isinstance(x, (float, np.ndarray, np.generic)):
        return np.cos(x)
    import casadi

    return casadi.cos(x)
