"""The algebra that the formulations share."""

import casadi as ca
import numpy as np
import pytest
from random_mechanisms import random_dh, random_pose

from kinecast.dynamics.algebra import (
    children_of,
    column,
    constant,
    coordinate_of,
    cross,
    joint_rotation_translation,
    path_to,
)
from kinecast.engine.program import read
from kinecast.mechanism import Joint, Structure
from kinecast.mechanism.geometry import rot_z
from kinecast.mechanism.joints import DH

# A pose is a few products of numbers of order 1.
TOLERANCE = 1e-14


def pose_at(joint, q):
    symbol = ca.SX.sym("q")
    R, p = joint_rotation_translation(joint, symbol)
    R, p = ca.Function("pose", [symbol], [ca.densify(R), ca.densify(p)])(q)
    return R.full(), p.full().ravel()


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "fixed"])
@pytest.mark.parametrize("convention", ["standard", "modified", None])
def test_the_pose_is_before_times_motion_times_after(kind, convention, rng):
    for _ in range(20):
        if convention:
            joint = Joint.from_dh("j", random_dh(rng, 0.5), convention, kind=kind)
        else:
            joint = Joint("j", kind, before=random_pose(rng, 0.3), axis=rng.normal(size=3), after=random_pose(rng, 0.3))
        q = rng.uniform(-3, 3)
        motion = np.eye(4)
        if joint.turns:
            to_z = np.linalg.qr(np.column_stack([joint.axis, np.eye(3)[:, :2]]))[0][:, ::-1]
            to_z[:, 2] *= np.sign(to_z[:, 2] @ joint.axis)
            to_z[:, 0] *= np.linalg.det(to_z)
            motion[:3, :3] = to_z @ rot_z(q) @ to_z.T
        elif joint.moves:
            motion[:3, 3] = joint.axis * q
        wanted = joint.before.matrix() @ motion @ joint.after.matrix()
        R, p = pose_at(joint, q)
        np.testing.assert_allclose(R, wanted[:3, :3], rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(p, wanted[:3, 3], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("dh", "entries"),
    [
        (DH(), 5),  # a turn about z: two cosines, two sines, one 1
        (DH(theta=np.pi / 2, alpha=np.pi / 2), 5),  # right angles only permute
        (DH(theta=0.3, alpha=-np.pi), 5),
        (DH(alpha=0.4), 8),  # the third row has no part along x
    ],
)
def test_zeros_of_a_rotation_are_structural(dh, entries):
    R, _ = joint_rotation_translation(Joint.from_dh("j", dh), ca.SX.sym("q"))
    assert R.nnz() == entries


@pytest.mark.parametrize(("theta", "additions"), [(0.0, 0), (np.pi / 2, 0), (-np.pi, 0), (0.3, 1)])
def test_a_constant_turn_about_the_axis_costs_an_addition_and_a_right_angle_nothing(theta, additions):
    q = ca.SX.sym("q")
    R, _ = joint_rotation_translation(Joint.from_dh("j", DH(theta=theta)), q)
    counts = read(ca.Function("rotation", [q], [R])).counts
    assert (counts.additions, counts.multiplications, counts.trig) == (additions, 0, 2)


def test_cross_products_take_columns_one_by_one_and_skip_zeros(rng):
    x, Y = rng.normal(size=3), rng.normal(size=(3, 4))
    for computed, wanted in (
        (cross(constant(x), constant(Y)), np.cross(x, Y.T).T),
        (cross(constant(Y), constant(x)), np.cross(Y.T, x).T),
        (cross(constant(x), constant(Y[:, 0])), np.cross(x, Y[:, 0])[:, None]),
    ):
        np.testing.assert_allclose(ca.DM(computed).full(), wanted, atol=TOLERANCE)
    assert cross(constant([0, 0, 1.0]), ca.SX.sym("y", 3)).nnz() == 2
    assert column(ca.SX.sym("y", 3), 1, 5).sparsity().get_col() == [1, 1, 1]


def test_walks_along_the_tree():
    joints = [Joint("leaf", parent="stem"), Joint("root"), Joint("stem", "fixed", "root"), Joint("twig", parent="stem")]
    structure = Structure("plant", tuple(joints))
    assert path_to(structure, 0) == (1, 2, 0)
    assert path_to(structure, -1) == ()
    assert children_of(structure, 2) == (0, 3)
    assert children_of(structure, -1) == (1,)
    assert coordinate_of(structure) == (0, 1, None, 2)
