"""The inertial-parameter regressor: torques are linear in the masses, first moments and inertias of the bodies.

tau = Y(q, v, a) phi + rotors - loads, with ten parameters a body, the bodies in the order of the structure's joints::

    m, m cx, m cy, m cz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz       kg, kg m, kg m2

first and second moments about the origin of the body's frame, in its axes (not about the centre of mass: only these are
linear). Entries of I have the sign of the matrix entry. Cost: O(n) a body.

Example::

    Y = regressor(tree, q, v, a, at_rest(structure))       # (n, 10 * bodies)
    tau = Y @ parameters(structure)
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import cross, skew
from kinecast.dynamics.kinematics import frames
from kinecast.dynamics.spatial.frames import ground_acceleration
from kinecast.dynamics.spatial.inverse import spin_rate
from kinecast.dynamics.surroundings import Expression, Surroundings, constant
from kinecast.dynamics.tree import Tree
from kinecast.mechanism import Structure
from kinecast.mechanism.checks import Array

PARAMETERS = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")


def regressor(tree: Tree, q: Expression, v: Expression, a: Expression, around: Surroundings) -> Expression:
    """Y (n, 10 bodies); columns of a body that no joint moves are zero."""
    pushed = Surroundings(
        around.gravity, around.base_velocity, ca.vertcat(around.base_acceleration[:3], ground_acceleration(around))
    )
    world = frames(tree, q, v, a, pushed)
    Y = ca.SX(tree.n, 10 * len(tree.structure.joints))
    for b, joint in enumerate(tree.structure.joints):
        body = tree.bodies[joint.name]
        if body.link < 0:
            continue
        frame = world[body.link]
        arm = frame.R @ constant(body.pose[:3, 3])
        R, r = frame.R @ constant(body.pose[:3, :3]), frame.r + arm
        acceleration = frame.ud + cross(frame.wd, arm) + cross(frame.w, cross(frame.w, arm))
        n, f = _unit_wrenches(*(R.T @ x for x in (frame.w, frame.wd, acceleration)))
        f = R @ f
        n = R @ n + cross(r, f)  # about the world's origin
        for k in [body.link, *tree.ancestors(body.link)]:
            link, e = tree.links[k], world[k].R[:, 2]
            if link.kind == "revolute":
                Y[link.coordinate, 10 * b : 10 * b + 10] = e.T @ n + cross(world[k].r, e).T @ f
            elif link.kind == "prismatic":
                Y[link.coordinate, 10 * b : 10 * b + 10] = e.T @ f
    return Y


def _unit_wrenches(w: Expression, wd: Expression, a: Expression) -> tuple[Expression, Expression]:
    """(n, f) (3, 10): wrench for one unit of each parameter, about the body's origin in its axes."""
    E = spin_rate(w, wd)
    f = ca.horzcat(a, E, ca.SX(3, 6))
    n = ca.horzcat(ca.SX(3, 1), -skew(a), _inertia_times(wd) + cross(w, _inertia_times(w)))
    return n, f


def _inertia_times(x: Expression) -> Expression:
    """(3, 6): I x = this times (Ixx, Iyy, Izz, Ixy, Ixz, Iyz)."""
    rows = ca.SX(3, 6)
    for row, entries in enumerate((((0, 0), (3, 1), (4, 2)), ((3, 0), (1, 1), (5, 2)), ((4, 0), (5, 1), (2, 2)))):
        for column, k in entries:
            rows[row, column] = x[k]
    return rows


def parameters(structure: Structure) -> Array:
    """phi (10 bodies,) of a structure, in the regressor's order."""
    values: list[float] = []
    for joint in structure.joints:
        c = joint.com
        about_origin = joint.inertia + joint.mass * (c @ c * np.eye(3) - np.outer(c, c))
        values += [joint.mass, *(joint.mass * c), *about_origin[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]]
    return np.array(values)
