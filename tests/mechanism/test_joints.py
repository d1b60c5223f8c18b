"""Joints, limits, points, loops: what they hold and what they refuse."""

import numpy as np
import pytest

from kinecast.errors import InputError, UnknownNameError
from kinecast.mechanism import DH, Joint, Limits, Loop, Place, Point, Transform

ROUNDING = 1e-15


def test_standard_dh_puts_the_body_frame_at_the_far_end():
    joint = Joint.from_dh("j", DH(theta=0.3, d=0.1, a=0.5, alpha=np.pi / 2))
    pose = joint.before @ joint.after
    np.testing.assert_allclose(pose.translation, [0.5 * np.cos(0.3), 0.5 * np.sin(0.3), 0.1], atol=ROUNDING)
    np.testing.assert_allclose(pose.rotation[:, 2], [np.sin(0.3), -np.cos(0.3), 0], atol=ROUNDING)


def test_modified_dh_puts_the_body_frame_at_the_joint():
    joint = Joint.from_dh("j", DH(theta=0.3, d=0.1, a=0.5, alpha=np.pi / 2), "modified")
    np.testing.assert_allclose(joint.before.translation, [0.5, -0.1, 0], atol=ROUNDING)
    np.testing.assert_allclose(joint.before.rotation[:, 2], [0, -1, 0], atol=ROUNDING)
    assert joint.after == Transform.identity()


def test_axes_are_normalised_and_unit_axes_kept_to_the_bit():
    np.testing.assert_allclose(Joint("j", axis=[0, 3, 4]).axis, [0, 0.6, 0.8])
    axis = Joint("j", axis=[1, 2, 3]).axis
    assert Joint("k", axis=axis).axis.tolist() == axis.tolist()


def test_data_cannot_be_changed():
    joint = Joint("j", com=[1, 2, 3])
    with pytest.raises(ValueError, match="read-only"):
        joint.com[0] = 5
    with pytest.raises(AttributeError):
        joint.mass = 3


def test_limits_are_numbers_pairs_or_nothing():
    limits = Limits(q=3, v=[None, 2], tau=(-1, float("inf")))
    assert limits == Limits((-3, 3), (float("-inf"), 2), (-1, float("inf")))
    assert Limits() == Limits(None, None, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mass": -1}, "joint 'j': mass must be 0 or more, got -1"),
        ({"mass": float("nan")}, "joint 'j': mass must be a finite number, got nan"),
        ({"mass": "3"}, "joint 'j': mass must be a finite number, got '3'"),
        ({"mass": True}, "joint 'j': mass must be a finite number, got True"),
        ({"mass": None}, "joint 'j': mass must be a finite number, got None"),
        ({"actuator_inertia": -0.1}, "joint 'j': actuator_inertia must be 0 or more"),
        ({"com": [1, 2]}, "joint 'j': com must be an array of 3 numbers, got shape .2,."),
        ({"com": [0, np.nan, 0]}, "joint 'j': com must be finite"),
        ({"com": np.array([0, 0, 0], dtype=object)}, "joint 'j': com must be an array of 3 numbers"),
        ({"axis": [0, 0, 0]}, "joint 'j': axis must have a direction"),
        ({"axis": [0, 0, 1, 0]}, "joint 'j': axis must be an array of 3 numbers, got shape .4,."),
        ({"name": ""}, "the name of a joint must be printable text without blanks at its ends, got ''"),
        ({"name": " j"}, "the name of a joint must be printable"),
        ({"name": "a\nb"}, "the name of a joint must be printable"),
        ({"name": 3}, "the name of a joint must be printable text without blanks at its ends, got 3"),
        ({"kind": "revolut"}, "unknown type of joint 'j': 'revolut'; did you mean 'revolute'"),
        ({"dh": DH(a=float("inf"))}, "joint 'j': a must be a finite number, got inf"),
    ],
)
def test_bad_joints_are_refused_in_one_line(changes, message):
    with pytest.raises(InputError, match=message) as caught:
        Joint(**{"name": "j"} | changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1, -1), "limits: q must have lower <= upper, got .1, -1."),
        (-2, "limits: q must have lower <= upper"),
        ((1, 2, 3), "limits: q must be a number, .lower, upper. or null, got .1, 2, 3."),
        ("wide", "limits: q must be a number, .lower, upper. or null, got 'wide'"),
        (float("nan"), "limits: q must be a number"),
        ((0, float("nan")), "limits: q must be a number"),
    ],
)
def test_bad_limits_are_refused(value, message):
    with pytest.raises(InputError, match=message):
        Limits(q=value)


def test_bad_points_and_loops_are_refused():
    with pytest.raises(InputError, match="point 'p': at must be an array of 3 numbers"):
        Point("p", "j", [1, 2])
    with pytest.raises(InputError, match="loop 'l': b.at must be finite"):
        Loop("l", Place("j", [0, 0, 0]), Place(None, [0, 0, np.inf]))
    with pytest.raises(UnknownNameError, match="unknown kind of loop 'l': 'welded'; did you mean 'weld'"):
        Loop("l", Place("j", [0, 0, 0]), Place(None, [0, 0, 0]), "welded")
