"""Recursive Lagrangian dynamics with 4 x 4 transformation matrices, and its sensitivities.

After Y. Xiang, J. S. Arora and K. Abdel-Malek, "Optimization-based motion prediction of mechanical systems: sensitivity
analysis", Structural and Multidisciplinary Optimization 37 (2009) 595-608, section 4; the numbers beside the lines are
its equations. Forward: position, velocity and acceleration matrices A, B, C of every link (12)-(14). Backward: D, E, F,
G, which carry inertia, gravity, external forces and external moments (17)-(20). A branch starts from its parent's A, B,
C and hands its D, E, F, G to it (37). The regular equations of section 3 are in `kinecast.dynamics.lagrange_regular`.

| symbol here | paper | what | unit |
|---|---|---|---|
| T[0] ... T[3] | T_j, dT_j/dq_j, ... | pose of link j in the link before and its derivatives by q_j (4, 4) | 1, m |
| A, B, C | A_j, B_j, C_j | pose of link j in world axes, its rate, the rate of that (4, 4) | 1, m, 1/s ... |
| U | dA_j/dq_j | derivative of the pose by the joint's own coordinate (4, 4) | 1, m |
| I_j | I_j | augmented inertia of link j in its own frame (4, 4) | kg m2, kg m, kg |
| D | D_i | inertia and motion of link i and all beyond it (4, 4) | kg m2/s2 ... |
| pulls[0] = (g, E) | g, E_i | gravity acceleration (world); mass, first moment of link i and beyond | m/s2; kg m |
| pulls[1] ... = (f, F) | f_k, F_i | external force ON link k (world); where it acts, seen from link i | N; m |
| G | G_i | external moments ON link i and beyond, world axes (4, 1) | N m |
| z | A_{i-1} z_0 | axis of a revolute joint in world axes (4, 1), zero for a prismatic one | 1 |
| dA[k], dB[k], dC[k] | dA_i/dq_k, ... | derivatives by the coordinate of joint k on the way to link i | |

Any joint maps as it is: T = before . J(axis, q) . after, for standard DH constants exactly (1). A moving base starts
the recursion with its rates, B_0 = [w x, v] and C_0 = [wd x + w x w x, a], in place of the paper's zeros; fixed joints
have zero derivatives. The paper's (6) prints the loads with the opposite sign, and (23), (26) mean dT/dq (see
docs/theory/lagrange.md). It has no equation for joint loads: Lagrange's equations do not contain them.

Cost on a chain of n general revolute joints: inverse dynamics 303 n - 381 multiplications and 230 n - 310 additions;
with its sensitivities about 320 n^2 and 268 n^2 (docs/theory/lagrange.md has the table).

Example::

    structure = kinecast.load("planar2")
    q, v, a = (casadi.SX.sym(name, structure.n) for name in "qva")
    tau, dtau_dq, dtau_dv, dtau_da = inverse_dynamics_sensitivities(structure, q, v, a, at_rest(structure))
    sensitivities = casadi.Function("sensitivities", [q, v, a], [dtau_dq, dtau_dv, dtau_da])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kinecast.dynamics.algebra import children_of, constant, coordinate_of, joint_pose_terms, skew
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.mechanism import Joint, Structure

Derivatives = dict[int, Expression]  # by the coordinate of a joint, keyed by the joint's index; the others are zero


def inverse_dynamics(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> Expression:
    """Joint torques and forces tau (n, 1) [N m, N] that cause the accelerations `a` (16)."""
    links = kinematics(structure, q, v, a, around)
    return _torques(structure, links, backward(structure, links, around), a)


def inverse_dynamics_sensitivities(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[Expression, Expression, Expression, Expression]:
    """(tau, dtau_dq, dtau_dv, dtau_da), the derivatives (n, n) by the recursions (21)-(35)."""
    links = kinematics(structure, q, v, a, around)
    sums = backward(structure, links, around)
    changes = kinematics_sensitivities(structure, links)
    rates = backward_sensitivities(structure, links, sums, changes)
    return _torques(structure, links, sums, a), *_torque_sensitivities(structure, links, sums, changes, rates)


# ------------------------------------------------------------------------------------------------------- kinematics


@dataclass(frozen=True, eq=False)
class Link:
    """A link and its motion; the symbols are those of the module's table. `rate` is q_j's."""

    T: tuple[Expression, Expression, Expression, Expression]
    rate: Expression
    acceleration: Expression
    before: tuple[Expression, Expression, Expression]
    A: Expression
    B: Expression
    C: Expression
    U: Expression
    z: Expression


def kinematics(
    structure: Structure, q: Expression, v: Expression, a: Expression, around: Surroundings
) -> tuple[Link, ...]:
    """A, B, C of every link (12)-(14), in the order of `structure.joints`."""
    structure.require_open("Lagrangian dynamics")
    coordinates = coordinate_of(structure)
    links: dict[int, Link] = {}
    for j in structure.order:
        joint, k = structure.joints[j], coordinates[j]
        qj, qd, qdd = (x[k] if k is not None else ca.SX(1, 1) for x in (q, v, a))
        T = transforms(joint, qj)
        parent = links.get(structure.parents[j])
        A0, B0, C0 = (parent.A, parent.B, parent.C) if parent else ground(around)  # 37a
        U = A0 @ T[1]
        links[j] = Link(
            T=T,
            rate=qd,
            acceleration=qdd,
            before=(A0, B0, C0),
            A=A0 @ T[0],  # 12
            B=B0 @ T[0] + U * qd,  # 13
            C=C0 @ T[0] + B0 @ (T[1] * (2 * qd)) + A0 @ (T[2] * qd**2 + T[1] * qdd),  # 14
            U=U,  # 21, k = i
            z=A0 @ axis_in_parent(joint),
        )
    return tuple(links[j] for j in range(len(structure.joints)))


def transforms(joint: Joint, q: Expression) -> tuple[Expression, Expression, Expression, Expression]:
    """T_j (1) and its first three derivatives by q_j."""
    terms = joint_pose_terms(joint)
    rest, along, across = constant(terms.rest), constant(terms.along), constant(terms.across)
    nothing = ca.SX(4, 4)
    if not joint.turns:
        return rest + along * q, along, nothing, nothing
    s, c = ca.sin(q + terms.offset), ca.cos(q + terms.offset)
    T = along * s + across * c
    T_q = along * c - across * s
    return rest + T, T_q, -T, -T_q


def ground(around: Surroundings) -> tuple[Expression, Expression, Expression]:
    """A_0, B_0, C_0: the motion of the ground frame, whose axes are the world's at the instant looked at (36)."""
    w, wd = skew(around.base_velocity[:3]), skew(around.base_acceleration[:3])
    last = ca.SX(1, 4)
    B = ca.vertcat(ca.horzcat(w, around.base_velocity[3:]), last)
    C = ca.vertcat(ca.horzcat(wd + w @ w, around.base_acceleration[3:]), last)
    return constant(np.eye(4)), B, C


def axis_in_parent(joint: Joint) -> Expression:
    """z_0 of a joint in the axes of the link before (4, 1): its axis if it turns, else zero."""
    return direction(constant(joint.before.rotation @ joint.axis)) if joint.turns else ca.SX(4, 1)


def direction(x: Expression) -> Expression:
    """A vector as the paper augments it: [x; 0]."""
    return ca.vertcat(x, ca.SX(1, 1))


def place(x: Expression) -> Expression:
    """A point as the paper augments it (3): [x; 1]."""
    return ca.vertcat(x, ca.SX(1.0))


def augmented_inertia(joint: Joint) -> Expression:
    """I_j (4, 4): second moments of mass about the link's frame, first moments, mass."""
    about_com = 0.5 * np.trace(joint.inertia) * np.eye(3) - joint.inertia
    r = np.append(joint.com, 1.0)
    inertia = joint.mass * np.outer(r, r)
    inertia[:3, :3] += about_com
    return constant(inertia)


def trace(X: Expression, Y: Expression) -> Expression:
    """tr(X Y), of which only the diagonal is formed."""
    return ca.sum2(ca.sum1(X * Y.T))


# --------------------------------------------------------------------------------------------------------- dynamics


@dataclass(frozen=True, eq=False)
class Sums:
    """What a link and all beyond it pass on: D, G, and the pulls (18) and (19), which are one recursion.

    `pulls` maps 0 to (g, E) and m + 1 to (f, F) of external load m, where it acts on this link or beyond.
    """

    D: Expression
    pulls: dict[int, tuple[Expression, Expression]]
    G: Expression


def backward(structure: Structure, links: Sequence[Link], around: Surroundings) -> tuple[Sums, ...]:
    """D, E, F, G of every link (17)-(20), in the order of `structure.joints`."""
    found: dict[int, Sums] = {}
    for i in reversed(structure.order):
        joint, link = structure.joints[i], links[i]
        D = augmented_inertia(joint) @ link.C.T  # 17
        pulls = {0: (direction(around.gravity), constant(joint.mass) * place(constant(joint.com)))}  # 18
        G = ca.SX(4, 1)
        for m, load in enumerate(around.loads, start=1):
            if load.joint == joint.name:
                pulls[m] = (direction(load.force), place(constant(load.at)))  # 19
                G += direction(load.moment)  # 20
        for child in children_of(structure, i):  # 37b
            T, beyond = links[child].T[0], found[child]
            D += T @ beyond.D
            for m, (p, r) in beyond.pulls.items():
                pulls[m] = (p, pulls[m][1] + T @ r if m in pulls else T @ r)
            G += beyond.G
        found[i] = Sums(D, pulls, G)
    return tuple(found[i] for i in range(len(links)))


def _torques(structure: Structure, links: Sequence[Link], sums: Sequence[Sums], a: Expression) -> Expression:
    """The torque or force of every joint (16), and what the drive's own inertia needs."""
    tau = ca.SX(structure.n, 1)
    for joint, k, link, beyond in zip(structure.joints, coordinate_of(structure), links, sums, strict=True):
        if k is not None:
            tau[k] = trace(link.U, beyond.D) - beyond.G.T @ link.z  # 16
            for p, r in beyond.pulls.values():
                tau[k] -= (p.T @ link.U) @ r
            tau[k] += joint.actuator_inertia * a[k]
    return tau


# ---------------------------------------------------------------------------------------------------- sensitivities


@dataclass(frozen=True, eq=False)
class LinkSensitivity:
    """Derivatives of a link's A, B, C by q_k for every joint k on the way to it, itself included.

    Those by the rates are the same matrices again: dB/dq'_k = dC/dq''_k = dA/dq_k, as (23) and (26) are (21), and
    dC/dq'_k = 2 dB/dq_k, as (25) is twice (22).
    """

    dA: Derivatives
    dB: Derivatives
    dC: Derivatives


def kinematics_sensitivities(structure: Structure, links: Sequence[Link]) -> tuple[LinkSensitivity, ...]:
    """(21)-(26), in the order of `structure.joints`."""
    found: dict[int, LinkSensitivity] = {}
    for i in structure.order:
        link, parent = links[i], found.get(structure.parents[i])
        T, qd, qdd = link.T, link.rate, link.acceleration
        dA: Derivatives = {}
        dB: Derivatives = {}
        dC: Derivatives = {}
        if parent is not None:  # k < i
            velocity, acceleration = T[1] * qd, T[2] * qd**2 + T[1] * qdd
            for k in parent.dA:
                dA[k] = parent.dA[k] @ T[0]  # 21
                dB[k] = parent.dB[k] @ T[0] + parent.dA[k] @ velocity  # 22
                dC[k] = parent.dC[k] @ T[0] + parent.dB[k] @ (2 * velocity) + parent.dA[k] @ acceleration  # 24
        if structure.joints[i].moves:  # k = i
            A0, B0, C0 = link.before
            velocity, acceleration = T[2] * qd, T[3] * qd**2 + T[2] * qdd
            dA[i] = link.U  # 21
            dB[i] = B0 @ T[1] + A0 @ velocity  # 22
            dC[i] = C0 @ T[1] + B0 @ (2 * velocity) + A0 @ acceleration  # 24
        found[i] = LinkSensitivity(dA, dB, dC)
    return tuple(found[i] for i in range(len(links)))


@dataclass(frozen=True, eq=False)
class SumsSensitivity:
    """Derivatives of a link's D and of the points r of its pulls, by the coordinates of the joints before and beyond.

    `half_D_v` is half of dD/dq'_k: the factor 2 of dC/dq'_k is kept out of the recursion.
    """

    D_q: Derivatives
    half_D_v: Derivatives
    D_a: Derivatives
    r_q: dict[int, Derivatives]


def backward_sensitivities(
    structure: Structure, links: Sequence[Link], sums: Sequence[Sums], changes: Sequence[LinkSensitivity]
) -> tuple[SumsSensitivity, ...]:
    """(27)-(31), in the order of `structure.joints`; G does not depend on q (32)."""
    found: dict[int, SumsSensitivity] = {}
    for i in reversed(structure.order):
        I = augmented_inertia(structure.joints[i])
        D_q = {k: I @ dC.T for k, dC in changes[i].dC.items()}  # 27, k <= i
        half_D_v = {k: I @ dB.T for k, dB in changes[i].dB.items()}  # 28
        D_a = {k: I @ dA.T for k, dA in changes[i].dA.items()}  # 29
        r_q: dict[int, Derivatives] = {m: {} for m in sums[i].pulls}
        for child in children_of(structure, i):
            T, beyond = links[child].T, found[child]
            _add(D_q, T[0], beyond.D_q)  # 27
            _add(half_D_v, T[0], beyond.half_D_v)  # 28
            _add(D_a, T[0], beyond.D_a)  # 29
            for m in beyond.r_q:
                _add(r_q[m], T[0], beyond.r_q[m])  # 30, 31
            if structure.joints[child].moves:  # k = i + 1
                _add(D_q, T[1], {child: sums[child].D})
                for m, (_, r) in sums[child].pulls.items():
                    _add(r_q[m], T[1], {child: r})
        found[i] = SumsSensitivity(D_q, half_D_v, D_a, r_q)
    return tuple(found[i] for i in range(len(links)))


def _add(total: Derivatives, T: Expression, beyond: Derivatives) -> None:
    """Adds T X_k to each derivative of a total, X_k being those of a child."""
    for k, X in beyond.items():
        total[k] = total[k] + T @ X if k in total else T @ X


def _torque_sensitivities(
    structure: Structure,
    links: Sequence[Link],
    sums: Sequence[Sums],
    changes: Sequence[LinkSensitivity],
    rates: Sequence[SumsSensitivity],
) -> tuple[Expression, Expression, Expression]:
    """The derivatives (n, n) of tau with respect to q, v, a (33)-(35)."""
    coordinate = {j: k for j, k in enumerate(coordinate_of(structure)) if k is not None}
    tau_q, tau_v, tau_a = (ca.SX(structure.n, structure.n) for _ in range(3))
    for i, row in coordinate.items():
        joint, link, beyond, rate = structure.joints[i], links[i], sums[i], rates[i]
        for k in rate.D_q:
            tau_q[row, coordinate[k]] = trace(link.U, rate.D_q[k])  # 33
            tau_v[row, coordinate[k]] = 2 * trace(link.U, rate.half_D_v[k])  # 34
            tau_a[row, coordinate[k]] = trace(link.U, rate.D_a[k])  # 35
        for m, (p, _) in beyond.pulls.items():  # 33, k > i
            pU = p.T @ link.U
            for k, r_k in rate.r_q[m].items():
                tau_q[row, coordinate[k]] -= pU @ r_k
        for k in changes[i].dA:  # 33, k <= i
            if k == i:
                U_k = link.before[0] @ link.T[2]  # d2A_i / dq_i dq_k
            else:
                A0_k = changes[structure.parents[i]].dA[k]
                U_k = A0_k @ link.T[1]
                tau_q[row, coordinate[k]] -= beyond.G.T @ (A0_k @ axis_in_parent(joint))
            tau_q[row, coordinate[k]] += trace(U_k, beyond.D)
            for p, r in beyond.pulls.values():
                tau_q[row, coordinate[k]] -= (p.T @ U_k) @ r
        tau_a[row, row] += joint.actuator_inertia
    return tau_q, tau_v, tau_a
