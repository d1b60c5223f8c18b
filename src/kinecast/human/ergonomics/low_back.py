"""Compression and shear of the disc between L5 and S1, by a single equivalent muscle.

The moment M that the trunk needs about L5/S1 in the sagittal plane is made by one muscle at the arm r, parallel to the
disc's normal, and the net force F that the pelvis exerts on the trunk acts in the joint (Chaffin and Andersson,
Occupational Biomechanics, 6.4; NIOSH 81-122, 1981):

    compression = |M| / r + F . normal                    shear = what of F lies in the disc's plane

The sacral plate is inclined by alpha to the horizontal, after the torso's angle T from the vertical and the knees'
included angle K (Chaffin's regression; degrees):

    alpha = 40 - 17.5 - .12 T + .23 K + .0012 T K + .005 T^2 - .00075 K^2

r is 0.05 m, with which the limit of 3400 N was set; later models use 0.06 to 0.07 m, which gives less. Valid for lifts
in the sagittal plane, T from 0 to 90 degrees. No pressure of the abdomen, no muscles that work against each other:
bending sideways or turning under load costs more than this says. For a flexing moment the arm of the extensors is used
as well, which overestimates: the abdominal muscles lie further away. Dynamic: M and F contain the accelerations.

Example::

    back = low_back(carrying(person, hands=10), motion)      # with 10 kg in the hands
    back.compression.max(), back.limit
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinecast.engine import Kernel
from kinecast.errors import InputError
from kinecast.human.contact import SIDES, Motion
from kinecast.human.node import compile_values, digest, slices
from kinecast.human.recursion import Layout, Recursion, measures, subtract
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

if TYPE_CHECKING:
    import casadi as ca

SOURCE = (
    "single equivalent muscle, arm 0.05 m (Chaffin and Andersson); sacral angle by Chaffin's regression; limits of "
    "compression of NIOSH 1981, of shear as proposed by Arjmand et al. 2015"
)
VALID = "lifts in the sagittal plane, trunk 0 to 90 degrees from the vertical; no abdominal pressure, no co-contraction"
MUSCLE_ARM = 0.05  # [m]
LIMIT, MOST = 3400.0, 6400.0  # action limit and maximum permissible limit of NIOSH 1981 [N]
SHEAR_LIMIT = 1000.0  # proposed, Arjmand et al. 2015 [N]
_JOINT = "spine1.flexion"


@dataclass(frozen=True)
class LowBack:
    """L5/S1 of N samples: forces [N], moment [N m] (extending positive), angles [rad]; `limit` of the compression."""

    compression: Array
    shear: Array
    moment: Array
    muscle: Array
    torso: Array  # from the vertical
    sacral: Array  # inclination of the sacral plate
    limit: float = LIMIT


def low_back(structure: Structure, motion: Motion, *, muscle_arm: float = MUSCLE_ARM) -> LowBack:
    """L5/S1 in any motion of a person, with what is carried."""
    if not 0.02 <= muscle_arm <= 0.15:
        raise InputError(f"low_back: muscle_arm must be between 0.02 and 0.15 m, got {muscle_arm:g}", key="muscle_arm")
    for name in (_JOINT, *(f"knee_{side}.flexion" for side in SIDES)):
        if name not in structure.coordinates:
            raise InputError(f"low_back: {structure.name!r} has no coordinate {name}", key="structure")
    layout, values = measures(structure, ("lumbosacral", "neck1.flexion"))
    z = np.concatenate([np.asarray(x, dtype=float) for x in (motion.q, motion.v, motion.a)], axis=-1)
    y = _kernel(layout).ufunc(z, np.concatenate([values, structure.gravity]))
    out = {name: y[..., part] for name, part in slices(_OUTPUTS).items()}
    force, spine, sideways, bending = out["force"], out["spine"], out["sideways"], -out["moment"][..., 0]
    up = np.array([0.0, 1.0, 0.0])
    forward = np.cross(sideways, up)
    forward /= np.linalg.norm(forward, axis=-1, keepdims=True)
    torso = np.arctan2(np.einsum("...i,...i", spine, forward), spine[..., 1])
    sacral = sacral_angle(torso, _knee(structure, motion.q))
    tilt, flat = np.sin(sacral)[..., None], np.cos(sacral)[..., None]
    normal, ahead = flat * up + tilt * forward, flat * forward - tilt * up
    muscle = np.abs(bending) / muscle_arm

    def along(direction: Array) -> Array:
        return np.asarray(np.einsum("...i,...i", force, direction))

    shear = np.hypot(along(ahead), along(sideways))
    return LowBack(muscle + along(normal), shear, bending, muscle, torso, sacral)


_OUTPUTS = {"force": 3, "moment": 1, "spine": 3, "sideways": 3}


def _kernel(layout: Layout) -> Kernel:
    """(q, v, a) -> force of the pelvis on the trunk, moment about the flexing axis, L5/S1 to neck, that axis."""
    n = layout.n

    def trace(z: ca.SX, p: ca.SX) -> dict[str, Any]:
        gravity = p[layout.size :]
        body = Recursion(layout, z[:n], z[n : 2 * n], z[2 * n :], p, (gravity[0], gravity[1], gravity[2]))
        j = layout.index(_JOINT)
        spine = subtract(body.position("neck1.flexion"), body.position("lumbosacral"))
        return {"force": body.carried[j], "moment": [body.tau[j]], "spine": spine, "sideways": body.axes[j]}

    key = digest(repr(layout), Path(__file__))
    return compile_values("low_back", key, 3 * n, layout.size + 3, _OUTPUTS, trace)


def sacral_angle(torso: ArrayLike, knee: ArrayLike) -> Array:
    """Inclination of the sacral plate [rad] by the torso's angle from the vertical, the knee's included angle [rad]."""
    t, k = np.rad2deg(np.abs(torso)), np.rad2deg(knee)
    found = 40 - 17.5 - 0.12 * t + 0.23 * k + 0.0012 * t * k + 0.005 * t**2 - 0.00075 * k**2
    return np.asarray(np.deg2rad(found))


def _knee(structure: Structure, q: ArrayLike) -> Array:
    """Included angle of the knees [rad], the mean of both."""
    columns = [structure.coordinates.index(f"knee_{side}.flexion") for side in SIDES]
    return np.asarray(np.pi - np.asarray(q)[..., columns].mean(axis=-1))
