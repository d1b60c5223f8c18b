"""Joints of several coordinates as sequences of one-coordinate joints."""

import numpy as np
import pytest

from kinecast.errors import InputError
from kinecast.mechanism import Limits, Structure, Transform
from kinecast.mechanism.compound import BUILDERS, cylindrical, free, planar, sequence, spherical, universal
from kinecast.mechanism.geometry import rot_x, rot_y, rot_z

ROUNDING = 1e-15

BODY = {"mass": 2.0, "com": [0, 0, -0.2], "inertia": [0.1, 0.1, 0.05, 0, 0, 0]}


def names_and_kinds(joints):
    return [(joint.name, joint.kind, joint.axis.tolist()) for joint in joints]


X, Y, Z = ([1, 0, 0], [0, 1, 0], [0, 0, 1])


@pytest.mark.parametrize(
    ("joints", "expected"),
    [
        (universal("u"), [("u.x", "revolute", X), ("u.y", "revolute", Y)]),
        (spherical("s"), [("s.x", "revolute", X), ("s.y", "revolute", Y), ("s.z", "revolute", Z)]),
        (cylindrical("c"), [("c.z", "prismatic", Z), ("c.rz", "revolute", Z)]),
        (cylindrical("c", "x"), [("c.x", "prismatic", X), ("c.rx", "revolute", X)]),
        (planar("p"), [("p.x", "prismatic", X), ("p.y", "prismatic", Y), ("p.rz", "revolute", Z)]),
        (planar("p", [0, 1, 0]), [("p.z", "prismatic", Z), ("p.x", "prismatic", X), ("p.ry", "revolute", Y)]),
        (
            free("f"),
            [(f"f.{axis}", "prismatic", unit) for axis, unit in zip("xyz", (X, Y, Z), strict=True)]
            + [(f"f.r{axis}", "revolute", unit) for axis, unit in zip("xyz", (X, Y, Z), strict=True)],
        ),
    ],
)
def test_coordinates_names_and_axes(joints, expected):
    assert names_and_kinds(joints) == expected


def test_the_last_joint_carries_the_body_and_the_first_stands_in_the_parent():
    before = Transform.from_xyz_rpy((1, 2, 3), (0.1, 0, 0))
    hip = spherical("hip", coordinates=("flexion", "abduction", "rotation"), parent="pelvis", before=before, **BODY)
    assert [joint.name for joint in hip] == ["hip.flexion", "hip.abduction", "hip.rotation"]
    assert [joint.parent for joint in hip] == ["pelvis", "hip.flexion", "hip.abduction"]
    assert [joint.mass for joint in hip] == [0, 0, 2]
    assert hip[0].before == before
    assert hip[1].before == hip[2].before == Transform.identity()


def test_the_pose_is_the_product_of_the_turns_in_order():
    wrist = spherical("wrist", axes="zyx")
    angles = (0.3, -0.5, 0.7)
    product = np.eye(3)
    for joint, angle in zip(wrist, angles, strict=True):
        product = product @ {"x": rot_x, "y": rot_y, "z": rot_z}[joint.name[-1]](angle)
    expected = Transform.from_xyz_rpy(rpy=angles[::-1]).rotation  # yaw, pitch, roll about moving axes
    np.testing.assert_allclose(product, expected, atol=ROUNDING)


def test_each_coordinate_has_its_own_limits_and_actuator():
    knee = universal("knee", limits=[Limits(q=1), None], actuator_inertia=[0.1, 0.2])
    assert [joint.limits for joint in knee] == [Limits(q=1), Limits()]
    assert [joint.actuator_inertia for joint in knee] == [0.1, 0.2]


def test_a_plane_of_any_normal_gets_a_right_handed_frame():
    x, y, normal = (joint.axis for joint in planar("p", [1, 2, 2], coordinates=("along", "across", "turn")))
    np.testing.assert_allclose(np.cross(x, y), normal, atol=ROUNDING)
    np.testing.assert_allclose(normal, np.array([1, 2, 2]) / 3, atol=ROUNDING)


@pytest.mark.parametrize("kind", BUILDERS)
def test_every_kind_makes_a_structure(kind):
    joints = BUILDERS[kind]("j", **BODY)
    assert Structure(kind, joints).mass == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: universal("u", axes="xyz"), "joint 'u': axes must be 2 directions, got 'xyz'"),
        (lambda: spherical("s", axes="xya"), "joint 's': an axis must be x, y, z or three numbers, got 'a'"),
        (lambda: spherical("s", axes="xxz"), "two axes that follow each other must not be parallel"),
        (lambda: spherical("s", axes="zxz"), "with these axes its 3 coordinates need names; give coordinates"),
        (lambda: cylindrical("c", [1, 1, 0]), "with these axes its 2 coordinates need names"),
        (lambda: cylindrical("c", [0, 0, 0]), "joint 'c': axis must have a direction"),
        (lambda: universal("u", coordinates=("a",)), "coordinates must have one entry for each of its 2 coordinates"),
        (lambda: universal("u", coordinates="ab"), "coordinates must have one entry for each"),
        (lambda: universal("u", limits=[None]), "limits must have one entry for each of its 2 coordinates"),
        (lambda: universal("u", actuator_inertia=[1, 2, 3]), "actuator_inertia must have one entry for each"),
        (lambda: universal("u", mass=-1), "joint 'u.y': mass must be 0 or more, got -1"),
    ],
)
def test_bad_input_is_refused(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_euler_angles_may_repeat_an_axis_if_named():
    assert [j.axis.tolist() for j in spherical("s", "zxz", coordinates=("a", "b", "c"))] == [Z, X, Z]


def test_other_sequences_can_be_built():
    parts = [("prismatic", np.array([1.0, 0, 0]), "in"), ("revolute", np.array([0, 1.0, 0]), "turn")]
    assert [joint.name for joint in sequence("drawer", parts)] == ["drawer.in", "drawer.turn"]
