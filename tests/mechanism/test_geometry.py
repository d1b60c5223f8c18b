"""Rigid transforms: products, inverses, angles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinecast.errors import InputError
from kinecast.mechanism import Transform
from kinecast.mechanism.geometry import roll_pitch_yaw, rot_x, rot_y, rot_z

# A few roundings of numbers of size 1, 10 for the translations.
ROUNDING = 1e-14

angles = st.floats(-4, 4)
lengths = st.floats(-10, 10)
transforms = st.builds(Transform.from_xyz_rpy, st.tuples(lengths, lengths, lengths), st.tuples(angles, angles, angles))


def close(a, b):
    return np.abs(a.matrix() - b.matrix()).max() < 100 * ROUNDING


@settings(deadline=None)
@given(transforms, transforms, transforms)
def test_products_are_those_of_the_matrices_and_associative(a, b, c):
    np.testing.assert_allclose((a @ b).matrix(), a.matrix() @ b.matrix(), atol=10 * ROUNDING)
    assert close((a @ b) @ c, a @ (b @ c))


@settings(deadline=None)
@given(transforms)
def test_the_inverse_undoes(a):
    assert close(a @ a.inverse(), Transform.identity())
    assert close(a.inverse() @ a, Transform.identity())


@settings(deadline=None)
@given(transforms)
def test_roll_pitch_yaw_give_the_rotation_back(a):
    again = Transform.from_xyz_rpy(a.translation, roll_pitch_yaw(a.rotation))
    # Next to pitch = +-90 degrees roll and yaw are lost to rounding: the root of it remains.
    np.testing.assert_allclose(again.rotation, a.rotation, atol=1e-7)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_straight_up_the_yaw_is_zero(pitch):
    given_angles = Transform.from_xyz_rpy(rpy=(0.3, pitch, 0.5))
    angles = roll_pitch_yaw(given_angles.rotation)
    assert angles[2] == 0
    np.testing.assert_allclose(Transform.from_xyz_rpy(rpy=angles).rotation, given_angles.rotation, atol=ROUNDING)


def test_rotations_are_right_handed_turns_about_their_axis():
    quarter = np.pi / 2
    np.testing.assert_allclose(rot_x(quarter) @ [0, 1, 0], [0, 0, 1], atol=ROUNDING)
    np.testing.assert_allclose(rot_y(quarter) @ [0, 0, 1], [1, 0, 0], atol=ROUNDING)
    np.testing.assert_allclose(rot_z(quarter) @ [1, 0, 0], [0, 1, 0], atol=ROUNDING)


def test_rpy_turns_about_fixed_axes_roll_first():
    pose = Transform.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3))
    np.testing.assert_allclose(pose.rotation, rot_z(0.3) @ rot_y(0.2) @ rot_x(0.1), atol=ROUNDING)
    assert pose.translation.tolist() == [1, 2, 3]


def test_equal_transforms_have_equal_hashes():
    a, b = (Transform.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)) for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    assert a != Transform.identity()
    assert a != "a"


@pytest.mark.parametrize(
    ("rotation", "message"),
    [
        (np.diag([1, 1, -1]), "orthonormal and right-handed.*det R = -1"),
        (np.diag([1, 1, 1.001]), "R R.T differs from 1 by 2.0e-03.*give rpy angles, or more digits"),
        (np.eye(2), "rotation must be an array of 3 x 3 numbers, got shape .2, 2."),
        (np.full((3, 3), np.nan), "rotation must be finite"),
    ],
)
def test_what_is_no_rotation_is_refused(rotation, message):
    with pytest.raises(InputError, match=message):
        Transform(rotation, np.zeros(3))
