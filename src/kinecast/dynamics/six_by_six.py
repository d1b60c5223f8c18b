"""Forward dynamics by 6 x 6 elimination: accelerations of the joints and the loads in them, in two passes.

After M. G. Nasser, "Recursive Newton-Euler formulation of manipulator dynamics", 1989 (NASA N90-29862; equation
numbers are its). For every link six equations L_i U_i = F_i hold five components of the reaction and the joint's
acceleration. Inbound, each link's are solved in terms of the motion of the link before, and what this leaves of the
reaction joins that link's own equations; outbound, the motion of the ground given, the accelerations follow one by
one.

| symbol | what | unit |
|---|---|---|
| q_i = (omega'; v') | acceleration of link i and of its origin, the latter less gravity: (2.1.7.5) | rad/s2, m/s2 |
| Z_i | unit vector of the joint's freedom: z turning (2.1.7.2) or z sliding (2.2.7) | 1 |
| sigma*_i | what velocities add to q_i: (2.1.13.2), (2.2.6) | rad/s2, m/s2 |
| A_i, A*_i | 6 x 6 inertia of link i, and with what hangs on it: (2.1.7.4), (2.1.19.3) | kg m2, kg m, kg |
| B_i, B*_i | the same of forces that no acceleration asks for: (2.1.7.6), (2.1.19.5) | N m, N |
| J^a | actuator inertia | kg m2 or kg |
| L_i, G_i | coefficient matrix and its inverse: (2.1.19.1), (2.1.11) | |
| gamma_i | sets the row of the joint's freedom, which is no reaction, to what the drive gives | 1 |
| P_i, R*_i | moves and turns wrenches to the link before: (2.1.13.3), (2.1.18) (`Passage`) | m, 1 |

How it is set up here: vectors are (moment; force), the paper's are (force; moment). The paper's equations of link i
stand in frame i - 1, which does not turn with the joint; these are the same turned by theta_i about the common z,
where link i's A_i is constant. Since L_i differs from 1 in the column and row of Z_i only, it is solved in closed
form: one division a joint. sigma* is added where the reduced A* meets it, gamma G A* sigma*, not before. Fixed
joints, whose six components are all reactions, pass all on.

Cost on a general chain of n > 2 revolute joints, divisions counted as multiplications: accelerations 206 n - 309
multiplications and 201 n - 324 additions; with the loads of all joints 241 n - 276 and 232 n - 299. The paper
states 258 n - 119 and 191 n - 83.

Example::

    structure = kinecast.load("planar2")
    q, v, tau = (casadi.SX.sym(name, structure.n) for name in ("q", "v", "tau"))
    a, loads = forward_dynamics_and_loads(structure, q, v, tau, at_rest(structure))
    casadi.Function("forward", [q, v, tau], [a, loads])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from kinecast.dynamics.screws import (
    Passage,
    along_axis,
    as_joint_loads,
    drive,
    external_wrenches,
    first_moment,
    ground_twist_rate,
    gyroscopic,
    passages,
    quadratic,
    times,
)
from kinecast.dynamics.spatial.articulated import Articulated, Hinge, eliminated, hinge, rigid
from kinecast.dynamics.surroundings import Expression, Surroundings
from kinecast.dynamics.tree import Link, Tree, build
from kinecast.mechanism import Structure


def forward_dynamics(
    structure: Structure, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> Expression:
    """Joint accelerations (n, 1) [rad/s2 or m/s2]."""
    tree, ways = _open_tree(structure, q, keep_fixed=False)
    accelerations, _ = outbound(tree, ways, inbound(tree, ways, v, tau, around), around)
    return accelerations


def forward_dynamics_and_loads(
    structure: Structure, q: Expression, v: Expression, tau: Expression, around: Surroundings
) -> tuple[Expression, Expression]:
    """Joint accelerations (n, 1) and the loads in all joints (6 joints, 1), reactions and drives together.

    Loads are those of the parent on the child at the joint's origin, [moment; force] in child axes, joints in order.
    """
    tree, ways = _open_tree(structure, q, keep_fixed=True)
    links = inbound(tree, ways, v, tau, around)
    accelerations, arriving = outbound(tree, ways, links, around)
    # Reactions: F_i less what the joint's own acceleration takes, in terms of the motion that arrives from the parent.
    loads = [times(link.A_reduced, q_before) + link.B_reduced for link, q_before in zip(links, arriving, strict=True)]
    return accelerations, as_joint_loads(tree, ways, loads)


@dataclass(frozen=True, eq=False)
class LinkEquations:
    """L_i U_i = F_i of one link, in its axes about its origin, and what it hands to the link before."""

    A_star: Articulated
    B: Expression  # B*_i without A*_i sigma*_i
    sigma_star: Expression
    joint: Hinge | None  # A*_i Z_i (`U`), over the pivot (`K`), and 1 / pivot (`inverse`); None: fixed
    drive_rest: Expression  # tau less the part of B along Z_i
    A_reduced: Articulated  # gamma_i G_i A*_i
    B_reduced: Expression  # gamma_i G_i B*_i


def inbound(
    tree: Tree, ways: Sequence[Passage], v: Expression, tau: Expression, around: Surroundings
) -> list[LinkEquations]:
    """The inbound pass (3.1.1, 3.2.1): from the free ends to the ground, branches summed by (2.3.3), (2.3.4)."""
    sigma_star, B = _velocity_terms(tree, ways, v, around)
    external = external_wrenches(tree, list(ways), around)
    A = [rigid(link) for link in tree.links]  # (2.1.7.4)
    found: list[LinkEquations] = []
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if i in external:
            B[i] = B[i] - external[i]
        found.append(_eliminate(link, A[i], B[i], sigma_star[i], tau))
        if link.parent >= 0:
            A[link.parent] += ways[i].inertia(found[-1].A_reduced)  # (2.1.19.4)
            B[link.parent] = B[link.parent] + ways[i].force(found[-1].B_reduced)  # (2.1.19.6), (2.1.19.7)
    return found[::-1]


def _eliminate(
    link: Link, A_star: Articulated, B: Expression, sigma_star: Expression, tau: Expression
) -> LinkEquations:
    """Solves L_i U_i = F_i with L_i = 1 - Z Z^T - A* Z Z^T - Z Z^T J^a, (2.1.7.2), (2.1.19.1).

    L_i is 1 but for the column of Z: -A* Z, on the diagonal -(Z^T A* Z + J^a), the pivot. So G_i F_i, (2.1.12),
    is theta'' = Z^T F / pivot in that row and F + A* Z theta'' in the others.
    """
    if link.kind == "fixed":
        return LinkEquations(A_star, B, sigma_star, None, ca.SX(1, 1), A_star, B + times(A_star, sigma_star))
    k, joint = drive(link), hinge(A_star, link)
    drive_rest = tau[link.coordinate] - B[k]
    reduced = eliminated(A_star, joint)
    kept = B + ca.vertcat(*joint.K) * drive_rest
    if not link.actuator_inertia:
        kept[k] = tau[link.coordinate]  # gamma: along Z acts the drive, and nothing else
    return LinkEquations(A_star, B, sigma_star, joint, drive_rest, reduced, kept + times(reduced, sigma_star))


def outbound(
    tree: Tree, ways: Sequence[Passage], links: Sequence[LinkEquations], around: Surroundings
) -> tuple[Expression, list[Expression]]:
    """The outbound pass (3.1.2): (theta'' (n, 1), for every link the acceleration that arrives from its parent)."""
    theta = ca.SX(tree.n, 1)
    motions: list[Expression] = []
    arriving: list[Expression] = []
    for i, link in enumerate(tree.links):
        before = ground_twist_rate(around) if link.parent < 0 else motions[link.parent]
        arriving.append(ways[i].motion(before))
        motion = arriving[i] + links[i].sigma_star  # (2.1.13) without sigma
        joint = links[i].joint
        if joint is not None:
            # (2.1.20) theta'' = Z^T G F with F = A* (q + sigma*) + B - drive, (2.1.19.2)
            theta[link.coordinate] = joint.inverse * links[i].drive_rest - ca.dot(ca.vertcat(*joint.K), motion)
            motion = motion + along_axis(link, theta[link.coordinate])  # sigma of (2.1.13.1), (2.2.5)
        motions.append(motion)
    return theta, arriving


def _velocity_terms(
    tree: Tree, ways: Sequence[Passage], v: Expression, around: Surroundings
) -> tuple[list[Expression], list[Expression]]:
    """The sigma*_i and the velocities' part of B_i for every link."""
    ground = around.base_velocity[:3]
    omegas: list[Expression] = []
    sigma_star, B = [], []
    for i, link in enumerate(tree.links):
        before = ground if link.parent < 0 else omegas[link.parent]
        pose = ways[i].pose
        omega = pose.to_child(before)
        # omega x (omega x P*): P* is the common normal, fixed to the link before, and a way along z, fixed to this one.
        linear = pose.to_child(quadratic(before) @ pose.offset)
        angular = ca.SX(3, 1)
        if link.kind == "revolute":
            speed = v[link.coordinate]
            angular = ca.vertcat(omega[1] * speed, -omega[0] * speed, ca.SX(1, 1))  # omega_{i-1} x z theta'
            omega = omega + ca.vertcat(ca.SX(2, 1), speed)  # (A.2.5)
        elif link.kind == "prismatic":
            twice = 2 * v[link.coordinate]
            linear = linear + ca.vertcat(omega[1] * twice, -omega[0] * twice, ca.SX(1, 1))  # (2.2.6)
        rate = quadratic(omega)
        omegas.append(omega)
        along = rate[:, 2] + ca.vertcat(angular[1], -angular[0], ca.SX(1, 1))  # per length of the way along z
        sigma_star.append(ca.vertcat(angular, linear + along * pose.slide))
        # (2.1.3.2), (2.1.6.2), (2.2.1), (2.2.2): beta = m omega x (omega x r), and omega x J omega about the joint
        B.append(ca.vertcat(gyroscopic(link, omega), rate @ first_moment(link)))
    return sigma_star, B


def _open_tree(structure: Structure, q: Expression, keep_fixed: bool) -> tuple[Tree, list[Passage]]:
    structure.require_open("the 6 x 6 formulation")
    tree = build(structure, keep_fixed)
    return tree, passages(tree, q)
