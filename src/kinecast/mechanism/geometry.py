"""Rigid transforms and the rotations they are built from.

A `Transform` takes coordinates of a point in the child frame to the parent frame: x_parent = rotation @ x_child +
translation. Angles in rad, lengths in m.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, cos, hypot, sin

import numpy as np
from numpy.typing import ArrayLike

from kinecast.errors import InputError
from kinecast.mechanism.checks import Array, finite_array, read_only

# A matrix typed with 9 digits passes; one typed with 4 is refused rather than quietly deforming every length.
_ORTHONORMAL = 1e-8


@dataclass(frozen=True, eq=False)
class Transform:
    """Pose of a child frame in its parent frame; `rpy` keeps the angles it was given by, for writing it back."""

    rotation: Array
    translation: Array
    rpy: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        rotation = finite_array(self.rotation, (3, 3), "transform", "rotation")
        translation = finite_array(self.translation, (3,), "transform", "translation")
        error = np.abs(rotation @ rotation.T - np.eye(3)).max()
        if error > _ORTHONORMAL or np.linalg.det(rotation) < 0:
            raise InputError(
                f"transform: rotation must be orthonormal and right-handed, R R^T differs from 1 by {error:.1e} "
                f"and det R = {np.linalg.det(rotation):.3g}; give rpy angles, or more digits",
                key="rotation",
            )
        object.__setattr__(self, "rotation", rotation)
        object.__setattr__(self, "translation", translation)

    def __matmul__(self, inner: Transform) -> Transform:
        """The product: the pose of inner's child in this one's parent."""
        return Transform(self.rotation @ inner.rotation, self.rotation @ inner.translation + self.translation)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transform):
            return NotImplemented
        return bool(
            np.array_equal(self.rotation, other.rotation) and np.array_equal(self.translation, other.translation)
        )

    def __hash__(self) -> int:
        return hash((*self.rotation.ravel().tolist(), *self.translation.tolist()))

    def inverse(self) -> Transform:
        """Pose of the parent frame in the child frame."""
        return Transform(self.rotation.T, -(self.rotation.T @ self.translation))

    def matrix(self) -> Array:
        """The homogeneous (4, 4) matrix."""
        out = np.eye(4)
        out[:3, :3] = self.rotation
        out[:3, 3] = self.translation
        return out

    @classmethod
    def identity(cls) -> Transform:
        """No motion."""
        return _IDENTITY

    @classmethod
    def from_xyz_rpy(cls, xyz: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike = (0.0, 0.0, 0.0)) -> Transform:
        """Translation `xyz` (m) and roll, pitch, yaw (rad) about fixed x, y, z, as in URDF: R = Rz(y) Ry(p) Rx(r)."""
        angles = finite_array(rpy, (3,), "origin", "rpy")
        roll, pitch, yaw = angles.tolist()
        translation = finite_array(xyz, (3,), "origin", "xyz")
        return cls(rot_z(yaw) @ rot_y(pitch) @ rot_x(roll), translation, (roll, pitch, yaw))


def rot_x(angle: float) -> Array:
    """Rotation by `angle` (rad) about x."""
    c, s = cos(angle), sin(angle)
    return read_only(np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))


def rot_y(angle: float) -> Array:
    """Rotation by `angle` (rad) about y."""
    c, s = cos(angle), sin(angle)
    return read_only(np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]))


def rot_z(angle: float) -> Array:
    """Rotation by `angle` (rad) about z."""
    c, s = cos(angle), sin(angle)
    return read_only(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))


def roll_pitch_yaw(rotation: Array) -> tuple[float, float, float]:
    """Angles (rad) with R = Rz(yaw) Ry(pitch) Rx(roll); at pitch = +-90 degrees the yaw is taken as 0."""
    horizontal = hypot(rotation[0, 0], rotation[1, 0])
    pitch = atan2(-rotation[2, 0], horizontal)
    if horizontal < 1e-12:
        return atan2(-rotation[1, 2], rotation[1, 1]), pitch, 0.0
    return atan2(rotation[2, 1], rotation[2, 2]), pitch, atan2(rotation[1, 0], rotation[0, 0])


_IDENTITY = Transform(np.eye(3), np.zeros(3), (0.0, 0.0, 0.0))
