"""Which inertias a real body can have, and the one exception for planar bodies.

A rigid body is a cloud of positive masses, so its inertia about the centre of mass is positive semidefinite and its
principal moments obey the triangle inequality (none exceeds the sum of the other two).

The exception: textbooks give a planar link by the one moment Izz about its axis. Such an inertia, exactly
lambda u u^T with every other entry zero, is accepted when the body can turn about the fixed direction u only, that is
when all revolute joints between the ground and the body are parallel to u (sliding joints may point anywhere): the
missing entries then multiply nothing. A body that cannot turn at all needs no particular moments either.
The entries do matter if the ground itself is made to turn about another direction (prescribed base motion);
`Structure.planar_bodies` lists the bodies for which that would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError
from kinecast.mechanism.checks import Array, finite_array, read_only

if TYPE_CHECKING:
    from kinecast.mechanism.model import Joint

# How a body can turn: not at all, about one fixed direction (in body axes), or more freely.
Spin = Array | None | Literal["many"]

# Relative to the largest moment. CAD files round to 6 digits or so; real mistakes in files are of order 0.1 and more.
_ROUNDING = 1e-6
_PARALLEL = 1e-9
# kg m2: less than a milligram a tenth of a millimetre away. Some files have rounding noise, 1e-35, in place of zeros.
_NOTHING = 1e-14


def inertia_matrix(value: ArrayLike, what: str) -> Array:
    """A read-only symmetric (3, 3) inertia (kg m2) from `[Ixx, Iyy, Izz, Ixy, Ixz, Iyz]` or from the matrix itself."""
    try:
        square = np.shape(value) == (3, 3)
    except ValueError:  # a ragged list, which is refused below
        square = False
    if square:
        matrix = finite_array(value, (3, 3), what, "inertia")
        if np.abs(matrix - matrix.T).max() > 1e-12 * np.abs(matrix).max():
            raise InputError(f"{what}: inertia must be symmetric, got {matrix.tolist()}", key="inertia")
        return read_only(0.5 * (matrix + matrix.T))  # to the last bit, so that six numbers hold it
    xx, yy, zz, xy, xz, yz = finite_array(value, (6,), what, "inertia").tolist()
    return read_only(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def flaw(inertia: Array) -> tuple[str, bool] | None:
    """What makes this inertia impossible and whether the planar exception can excuse it; None for a sound one."""
    if np.abs(inertia).max() < _NOTHING:
        return None
    low, middle, high = np.linalg.eigvalsh(inertia).tolist()
    moments = f"{low:.6g}, {middle:.6g}, {high:.6g} kg m2"
    if low < -_ROUNDING * max(high, -low):
        return f"inertia must be positive semidefinite, its principal moments are {moments}", False
    if high > low + middle + _ROUNDING * high:
        return (
            f"inertia violates the triangle inequality: of its principal moments {moments} the last exceeds the "
            "sum of the others (a lone moment is accepted only about the one direction a body can turn)",
            True,
        )
    return None


def flaw_cannot_matter(inertia: Array, spin: Spin) -> bool:
    """The planar exception: the body cannot turn, or can turn about `spin` only and has a moment about it only."""
    if spin is None:
        return True
    if isinstance(spin, str):
        return False
    moment = float(spin @ inertia @ spin)
    return bool(np.abs(inertia - moment * np.outer(spin, spin)).max() <= _PARALLEL * moment)


def spins(joints: Iterable[Joint]) -> dict[str, Spin]:
    """How each body can turn; `joints` must come parents first."""
    found: dict[str, Spin] = {}
    for joint in joints:
        spin = found[joint.parent] if joint.parent is not None else None
        if isinstance(spin, np.ndarray):
            spin = joint.before.rotation.T @ spin
        if joint.kind in ("revolute", "continuous"):
            if spin is None:
                spin = joint.axis
            elif isinstance(spin, str) or np.abs(np.cross(spin, joint.axis)).max() > _PARALLEL:
                spin = "many"
        found[joint.name] = joint.after.rotation.T @ spin if isinstance(spin, np.ndarray) else spin
    return found
