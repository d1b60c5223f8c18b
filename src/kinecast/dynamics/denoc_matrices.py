"""The matrices of the decoupled natural orthogonal complement as they are printed, with the bodies' mass centres.

After S. K. Saha, Introduction to Robotics, section 9.1 and 9.2 (equation numbers are its). Here nothing is
recursive in the joints' own frames: all vectors have ground axes, t_i is the twist of the mass centre C_i, and the
6 x 6 blocks stand as in the book. The fast recursions are in `denoc`; this is for reading, checking and small
mechanisms.

| symbol | what, in ground axes | unit |
|---|---|---|
| c_i, o_i, e_i | mass centre, joint's origin (on its axis), axis | m, m, 1 |
| d_i | c_i - o_i | m |
| omega_i, c'_i | angular velocity, velocity of the mass centre | rad/s, m/s |
| B_ij, p_i | twist propagation j to i, joint motion: (9.4d), (9.5b) | |
| M_i, M~_i | inertia about C_i; of the composite body, about C_i: (9.2b), (9.11d) | kg m2, kg |
| W_i, Omega_i | diag(omega x, 0), diag(omega x, omega x) | rad/s |

Cost: O(n^2); the convective matrix of a general chain of 6 revolute joints takes 2053 multiplications and 1908
additions.

Example::

    structure = kinecast.load("planar2")
    q, v = casadi.SX.sym("q", 2), casadi.SX.sym("v", 2)
    N = twist_propagation(structure, q) @ joint_motion(structure, q)     # t = N v, (12, 2)
    C = convective_matrix(structure, q, v)
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kinecast.dynamics.algebra import coordinate_of, cross, joint_rotation_translation, skew
from kinecast.dynamics.surroundings import Expression, constant
from kinecast.mechanism import Structure


def twist_propagation(structure: Structure, q: Expression) -> Expression:
    """The matrix N_l (6 bodies, 6 bodies) of (9.6b), joints in order: B_ij where body j is i or carries it."""
    bodies = bodies_in_motion(structure, q, ca.SX(structure.n, 1))
    count = len(bodies)
    blocks = [[ca.SX(6, 6) for _ in range(count)] for _ in range(count)]
    for i in range(count):
        for j in _carrying(structure, i):
            blocks[i][j] = _propagation(bodies[i], bodies[j])
    return ca.vertcat(*(ca.horzcat(*row) for row in blocks))


def joint_motion(structure: Structure, q: Expression) -> Expression:
    """The matrix N_d (6 bodies, n) of (9.6b): p_i in the rows of its body and the column of its coordinate."""
    bodies = bodies_in_motion(structure, q, ca.SX(structure.n, 1))
    columns = [ca.SX(6 * len(bodies), 1) for _ in range(structure.n)]
    for i, k in enumerate(coordinate_of(structure)):
        if k is not None:
            columns[k][6 * i : 6 * i + 6] = bodies[i].p
    return ca.horzcat(*columns)


def convective_matrix(structure: Structure, q: Expression, v: Expression) -> Expression:
    """The matrix C (n, n) of (9.16k), [N m s or N s], with C theta' = h and d(I)/dt - 2 C skew.

    It is not the matrix of the Christoffel symbols unless every body moves in a plane: both give h, but a body's
    gyroscopic part here is omega x I, which Christoffel's symbols split between the columns otherwise.
    """
    structure.require_open("the DeNOC formulation")
    bodies = bodies_in_motion(structure, q, v)
    count = len(bodies)
    # (9.11d) M~_i, (9.16j) M~'_i, and K_i = B_{i+1,i}^T H~_{i+1,i} of (9.16e), a sum where several bodies follow.
    composite = [body.M for body in bodies]
    gyroscopic = [body.W @ body.M for body in bodies]
    K = [ca.SX(6, 6) for _ in bodies]
    for i in reversed(structure.order):
        parent = structure.parents[i]
        if parent >= 0:
            B, B_rate = _propagation(bodies[i], bodies[parent]), _propagation_rate(bodies[i], bodies[parent])
            composite[parent] += B.T @ composite[i] @ B
            gyroscopic[parent] += B.T @ gyroscopic[i] @ B
            K[parent] += B.T @ (composite[i] @ B_rate + K[i])  # H~_{i,parent}
    C = ca.SX(structure.n, structure.n)
    coordinate = coordinate_of(structure)
    for j in range(count):
        column = coordinate[j]
        if column is None:
            continue
        inner = (K[j] + composite[j] @ bodies[j].Omega + gyroscopic[j]) @ bodies[j].p
        for i in _carrying(structure, j):
            row = coordinate[i]
            if row is None:
                continue
            B = _propagation(bodies[j], bodies[i])
            C[row, column] = ca.dot(bodies[i].p, B.T @ inner)  # (9.16k), i <= j
            if i != j:  # (9.16k), otherwise; with H~_ji = M~_j B'_ji + K_j
                carried = B @ bodies[i].p
                carried_rate = _propagation_rate(bodies[j], bodies[i]) @ bodies[i].p + B @ bodies[i].Omega @ bodies[i].p
                wrench = composite[j] @ carried_rate + K[j] @ bodies[i].p + gyroscopic[j] @ carried
                C[column, row] = ca.dot(bodies[j].p, wrench)
    return C


@dataclass(frozen=True, eq=False)
class Body:
    """One body in ground axes; the symbols are those of the module's docstring."""

    c: Expression
    c_rate: Expression
    omega: Expression
    p: Expression
    M: Expression

    @property
    def W(self) -> Expression:
        """The matrix diag(omega x 1, 0), (9.2b)."""
        return ca.diagcat(skew(self.omega), ca.SX(3, 3))

    @property
    def Omega(self) -> Expression:
        """The matrix diag(omega x 1, omega x 1)."""
        return ca.diagcat(skew(self.omega), skew(self.omega))


def bodies_in_motion(structure: Structure, q: Expression, v: Expression) -> list[Body]:
    """Poses and velocities of all bodies, parents first, in the structure's order."""
    structure.require_open("the DeNOC formulation")
    coordinate = coordinate_of(structure)
    still = ca.SX(3, 1)
    rotations, origins = {-1: constant(ca.DM.eye(3))}, {-1: still}
    found: dict[int, Body] = {}
    for i in structure.order:
        joint, parent, k = structure.joints[i], structure.parents[i], coordinate[i]
        R, x = joint_rotation_translation(joint, None if k is None else q[k])
        e = rotations[parent] @ constant(joint.before.rotation @ joint.axis)
        o = origins[parent] + rotations[parent] @ constant(joint.before.translation)
        rotations[i] = rotations[parent] @ R
        origins[i] = origins[parent] + rotations[parent] @ x
        c = origins[i] + rotations[i] @ constant(joint.com)
        carrier = found[parent] if parent >= 0 else None
        omega = still if carrier is None else carrier.omega
        c_rate = still if carrier is None else carrier.c_rate + cross(omega, c - carrier.c)  # (9.4b)
        p = ca.SX(6, 1)
        if joint.moves:
            p = ca.vertcat(e, cross(e, c - o)) if joint.turns else ca.vertcat(still, e)  # (9.4d), (9.5b)
            omega, c_rate = omega + p[:3] * v[k], c_rate + p[3:] * v[k]  # (9.4c)
        inertia = rotations[i] @ constant(joint.inertia) @ rotations[i].T
        found[i] = Body(c, c_rate, omega, p, ca.diagcat(inertia, constant(joint.mass * ca.DM.eye(3))))
    return [found[i] for i in range(len(structure.joints))]


def _propagation(to: Body, of: Body) -> Expression:
    """The matrix B_ij of (9.4d): the twist of body j's mass centre as that of body i's, were they one."""
    eye = constant(ca.DM.eye(3))
    return ca.vertcat(ca.horzcat(eye, ca.SX(3, 3)), ca.horzcat(skew(of.c - to.c), eye))


def _propagation_rate(to: Body, of: Body) -> Expression:
    """Its rate B'_ij, (9.16d)."""
    nothing = ca.SX(3, 3)
    return ca.vertcat(ca.horzcat(nothing, nothing), ca.horzcat(skew(of.c_rate - to.c_rate), nothing))


def _carrying(structure: Structure, i: int) -> list[int]:
    """Body i and those that carry it, towards the ground."""
    path = []
    while i >= 0:
        path.append(i)
        i = structure.parents[i]
    return path
