"""Random mechanisms, states and surroundings for tests: every kind of joint, any order of the joints, odd bodies."""

from dataclasses import replace

import casadi as ca
import numpy as np

from kinecast.dynamics.surroundings import AppliedLoad, Surroundings, at_rest, constant
from kinecast.mechanism import Joint, Structure, Transform, compound
from kinecast.mechanism.joints import DH


def random_structure(
    rng,
    n,
    *,
    tree=False,
    sliding=0.3,
    given_by="origin",
    fixed=0,
    massless=0.0,
    actuators=False,
    right_angles=0.0,
    shuffled=False,
):
    """A mechanism of `n` coordinates and `fixed` joints without one.

    `given_by`: "standard" or "modified" DH constants, "origin" (origin and axis, any axis), or "mixed" (standard DH or
    before, axis and after, all general). `sliding`, `massless` and `right_angles` are shares between 0 and 1;
    `shuffled` lets children stand before their parents.
    """
    total = n + fixed
    held = set(rng.choice(np.arange(1, total), fixed, replace=False).tolist()) if fixed else set()
    joints = []
    for i in range(total):
        parent = None if i == 0 else joints[rng.integers(i)].name if tree else joints[-1].name
        if tree and i and rng.random() < 0.1:
            parent = None
        kind = "fixed" if i in held else "prismatic" if rng.random() < sliding else "revolute"
        other = random_body(rng) if rng.random() >= massless or i == total - 1 else {}
        if actuators and kind != "fixed":
            other["actuator_inertia"] = rng.uniform(0.01, 0.5)
        how = rng.choice(["standard", "general"]) if given_by == "mixed" else given_by
        name = f"body{i}"
        if how in ("standard", "modified"):
            joints.append(Joint.from_dh(name, random_dh(rng, right_angles), how, kind=kind, parent=parent, **other))
        else:
            axis = np.eye(3)[rng.integers(3)] if rng.random() < right_angles else rng.normal(size=3)
            other["after"] = random_pose(rng, right_angles) if how == "general" else Transform.identity()
            joints.append(Joint(name, kind, parent, random_pose(rng, right_angles), axis, **other))
    if shuffled:
        joints = [joints[i] for i in rng.permutation(total)]
    return Structure(
        f"random {n}",
        tuple(joints),
        gravity=rng.normal(size=3) * 6,
        convention="modified" if given_by == "modified" else "standard",
    )


def random_compound_tree(rng):
    """A free body that carries two branches of spherical, universal, planar and cylindrical joints."""
    made = {}
    for name, build, parent in (
        ("trunk", compound.free, None),
        ("hip", compound.spherical, "trunk"),
        ("ankle", compound.universal, "hip"),
        ("shoulder", compound.planar, "trunk"),
        ("hand", compound.cylindrical, "shoulder"),
    ):
        where = {"parent": made[parent][-1].name if parent else None, "before": random_pose(rng)}
        made[name] = build(name, **where, **random_body(rng))
    joints = tuple(joint for sequence in made.values() for joint in sequence)
    return Structure("compound", joints, gravity=rng.normal(size=3) * 6)


def with_heavy_tips(structure, rng):
    """The structure with a body wherever a branch ends without one: its mass matrix is regular."""
    tips = {joint.name for joint in structure.joints if not structure.children(joint.name) and not joint.mass}
    joints = [replace(joint, **random_body(rng)) if joint.name in tips else joint for joint in structure.joints]
    return structure.replace(joints=tuple(joints))


def random_dh(rng, right_angles=0.0):
    """DH constants; a share of the angles are right and of the lengths zero."""
    theta, alpha = (
        rng.choice([-1, 0, 1, 2]) * np.pi / 2 if rng.random() < right_angles else rng.uniform(-3, 3) for _ in range(2)
    )
    d, a = (0.0 if rng.random() < right_angles else rng.uniform(-0.5, 0.5) for _ in range(2))
    return DH(theta, d, a, alpha)


def random_pose(rng, right_angles=0.0):
    """A pose with any translation and rotation, or (a share of them) no rotation."""
    angles = np.zeros(3) if rng.random() < right_angles else rng.uniform(-1.5, 1.5, 3)
    return Transform.from_xyz_rpy(rng.uniform(-0.5, 0.5, 3), angles)


def random_body(rng):
    """mass, com and inertia of a body that could exist."""
    mass = rng.uniform(0.5, 4)
    spread = rng.normal(size=(3, 3)) * 0.2
    second_moment = mass * spread @ spread.T
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    return {"mass": mass, "com": rng.uniform(-0.3, 0.3, 3), "inertia": 0.5 * (inertia + inertia.T)}


def random_state(rng, structure):
    """(q, v, a) as NumPy arrays (n,)."""
    return rng.uniform(-2, 2, structure.n), rng.normal(size=structure.n), rng.normal(size=structure.n) * 2


def random_surroundings(rng, structure, *, loads=0, moving_base=False):
    """The structure's gravity, `loads` forces and moments on bodies picked at random, a base at rest or not."""
    applied = tuple(
        AppliedLoad(
            structure.joints[rng.integers(len(structure.joints))].name,
            rng.uniform(-0.3, 0.3, 3),
            constant(rng.normal(size=3) * 20),
            constant(rng.normal(size=3) * 5),
        )
        for _ in range(loads)
    )
    if not moving_base:
        return at_rest(structure, applied)
    velocity, acceleration = (ca.SX(ca.DM(rng.normal(size=6))) for _ in range(2))
    return Surroundings(constant(structure.gravity), velocity, acceleration, applied)
