"""Inertias that bodies can have, and the exception for planar ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinecast.errors import InputError
from kinecast.mechanism import Joint, Structure, Transform
from kinecast.mechanism.inertia import inertia_matrix


def body(inertia, **other):
    return Joint(**{"name": "body", "mass": 1, "inertia": inertia} | other)


def test_six_numbers_are_moments_then_products():
    expected = [[1, 4, 5], [4, 2, 6], [5, 6, 3]]
    assert inertia_matrix([1, 2, 3, 4, 5, 6], "body").tolist() == expected
    assert inertia_matrix(expected, "body").tolist() == expected


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=3, max_size=12))
def test_every_cloud_of_masses_is_accepted(places):
    places = np.array(places) - np.mean(places, axis=0)
    second = places.T @ places
    Structure("cloud", (body(np.trace(second) * np.eye(3) - second),))


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        ([1, 1, -0.1, 0, 0, 0], "inertia must be positive semidefinite, its principal moments are -0.1, 1, 1 kg m2"),
        ([1, 1, 1, 2, 0, 0], "inertia must be positive semidefinite"),
        ([1, 2, 3.1, 0, 0, 0], "violates the triangle inequality: of its principal moments 1, 2, 3.1 kg m2"),
        ([0, 0, 1, 0, 0, 0], "violates the triangle inequality"),
    ],
)
def test_what_no_body_can_have_is_refused(inertia, message):
    base = Joint("base", axis=[1, 0, 0])
    joints = (base, body(inertia, parent="base"))
    with pytest.raises(InputError, match=f"joint 'body': .*{message}.*allow_unphysical accepts it"):
        Structure("bad", joints)
    assert Structure("bad", joints, allow_unphysical=True).joints[1].inertia.any()


def test_rounding_of_files_is_forgiven():
    Structure("rounded", (body([1, 2, 3 + 2e-6, 0, 0, 0], axis=[1, 0, 0]),))
    Structure("noise", (body([1e-35, -2e-35, 0, 0, 0, 0], axis=[1, 0, 0]),))


def test_a_planar_body_needs_the_moment_about_its_axis_only():
    turned = Transform.from_xyz_rpy(rpy=(0, 0, 0.3))
    joints = (
        body([0, 0, 0.1, 0, 0, 0], name="a"),
        Joint("slide", "prismatic", axis=[1, 1, 1], parent="a", before=turned),
        body([0, 0, 0.1, 0, 0, 0], name="b", parent="slide"),
    )
    assert Structure("planar", joints).planar_bodies == ("a", "b")
    tilted = Joint("tilt", parent="b", axis=[0, 1, 0])
    with pytest.raises(InputError, match="joint 'c': inertia violates the triangle inequality"):
        Structure("spatial", (*joints, tilted, body([0, 0, 0.1, 0, 0, 0], name="c", parent="tilt")))


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        ([1, 2, 3], "inertia must be an array of 6 numbers, got shape .3,."),
        ([[1, 2], [3, 4]], "inertia must be an array of 6 numbers, got shape .2, 2."),
        ([[1, 1, 0], [0, 1, 0], [0, 0, 1]], "inertia must be symmetric"),
        ([np.nan] * 6, "inertia must be finite"),
        ([1, 1, 1, 0, 0, np.inf], "inertia must be finite"),
        (["1"] * 6, "inertia must be an array of 6 numbers"),
        (np.array([1, 1, 1, 0, 0, 0], dtype=object), "inertia must be an array of 6 numbers"),
        ([[1], [2, 3]], "inertia must be an array of"),
    ],
)
def test_what_is_no_inertia_at_all_is_refused(inertia, message):
    with pytest.raises(InputError, match=f"joint 'body': {message}"):
        body(inertia)
